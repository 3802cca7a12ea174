"""What the simulated reasoner writes next: a function of what stands, and of nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.realm.simulation import wording
from pipelines.realm.simulation.ability import choice, normal
from pipelines.realm.simulation.belief import SURE, Claim, Mind, State, put

GAP = "\n\n"
"""Between units."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A passage of thought written in one go. It counts once its first `done_at` characters stand.

    `confidence` is how sure it is of `value`, which stands in the text.
    """

    kind: str  # opening | need | search | claim | correct | check | again | conclude
    text: str
    done_at: int
    hop: int | None = None
    claim: Claim | None = None
    value: str = ""
    confidence: float = 1.0


class Planner:
    """Plans the chain of one question. `style` varies the words and nothing else."""

    def __init__(self, mind: Mind, *, style: int = 0, tags: bool = False) -> None:
        self.mind = mind
        self.tags = tags
        self._key = (*mind.key, style, "words")

    def next(self, state: State) -> Unit:
        """The unit that follows."""
        mind = self.mind
        if not state.opened:
            return self._opening(state)
        if (hop := mind.correctable(state)) is not None:
            return self._correct(hop, state)
        latest = state.latest
        if latest in state.claims and latest not in state.checked and not state.fresh:
            assert latest is not None
            if mind.chance("checks", latest) < mind.ability.checks:
                return self._check(latest, state)
        if (hop := mind.open_hop(state)) is not None:
            return self._work(hop, state)
        if mind.chance("endless") < mind.ability.endless:
            return self._unit("again", self._pick(wording.AGAIN, state, "again"))
        return self._conclude(state)

    def accept(self, unit: Unit, state: State) -> None:
        """Takes a unit that stands into `state`."""
        state.units += 1
        state.fresh = 0
        state.opened = True
        if unit.kind == "conclude":
            state.concluded = True
        if unit.hop is None:
            return
        state.latest = unit.hop
        if unit.kind == "need":
            state.asked.add(unit.hop)
        elif unit.kind == "search":
            state.searched.add(unit.hop)
        elif unit.kind == "check":
            state.checked.add(unit.hop)
        elif unit.claim is not None:
            put(state, unit.hop, unit.claim, self.mind.facts)

    def question_of(self, hop: int, state: State) -> str:
        """The sub-question of a hop as it is seen in `state`."""
        values = {index: claim.value for index, claim in state.claims.items()}
        return wording.sub_question(self.mind.facts.hops[hop], values)

    def _opening(self, state: State) -> Unit:
        text = self.mind.facts.question.text.strip()
        number = str(len(self.mind.facts.hops))
        said = self._pick(wording.OPENING, state, "opening")
        return self._unit("opening", said.replace("{n}", number).replace("{t}", text))

    def _work(self, hop: int, state: State) -> Unit:
        mind = self.mind
        fact = mind.facts.hops[hop]
        sure = mind.confidence(hop) >= SURE
        if not fact.derived and not mind.shown(hop, state):
            if self.tags and not sure and hop not in state.searched:
                return self._search(hop, state)
            chance = mind.ability.asks_sure if sure else mind.ability.asks_unsure
            if not self.tags and hop not in state.asked and mind.chance("asks", hop) < chance:
                return self._need(hop, state)
        return self._claim(hop, state)

    def _lead(self, hop: int, state: State) -> str:
        leads = wording.FIRST if hop == 0 else wording.NEXT
        if hop in state.asked:
            leads = wording.SAME
        lead = self._pick(leads, state, "lead")
        aside = ""
        if state.fresh and not self.mind.shown(hop, state):
            aside = self._pick(wording.IRRELEVANT, state, "aside")
        return aside + lead + wording.inline(self.question_of(hop, state))

    def _need(self, hop: int, state: State) -> Unit:
        felt = self.mind.confidence(hop) + 0.1 * normal(*self._key, hop, "felt")
        doubts = wording.LACK if felt < SURE else wording.RECALL
        text = f"{self._lead(hop, state)} {self._pick(doubts, state, 'doubt').strip()}"
        return self._unit("need", text, hop=hop, confidence=self.mind.confidence(hop))

    def _search(self, hop: int, state: State) -> Unit:
        question = self.question_of(hop, state)
        text = f"{self._pick(wording.LACK, state, 'doubt')}<search>{question}</search>"
        sure = self.mind.confidence(hop)
        return Unit("search", text + GAP, text.index("</search>"), hop, confidence=sure)

    def _claim(self, hop: int, state: State) -> Unit:
        claim = self.mind.claim(hop, state)
        return self.said(hop, claim, state)

    def said(self, hop: int, claim: Claim, state: State) -> Unit:
        """A unit that makes `claim`."""
        if claim.cited:
            said = self._pick(wording.READ, state, "read").replace("{e}", claim.cited)
        else:
            felt = claim.confidence + 0.1 * normal(*self._key, hop, "felt")
            said = self._pick(wording.HEDGES[wording.loudness(felt)], state, "claim")
        said = said.replace("{v}", claim.value)
        text = f"{self._lead(hop, state)} {said}"
        return self._unit(
            "claim", text, hop=hop, claim=claim, value=claim.value, confidence=claim.confidence
        )

    def _correct(self, hop: int, state: State) -> Unit:
        claim = self.mind.claim(hop, state)
        said = self._pick(wording.CORRECT, state, "correct")
        said = said.replace("{q}", self.question_of(hop, state)).replace("{e}", claim.cited)
        said = said.replace("{w}", state.claims[hop].value).replace("{v}", claim.value)
        return self._unit(
            "correct", said, hop=hop, claim=claim, value=claim.value, confidence=claim.confidence
        )

    def _check(self, hop: int, state: State) -> Unit:
        claim = state.claims[hop]
        said = self._pick(wording.CHECK, state, "check")
        said = said.replace("{q}", self.question_of(hop, state)).replace("{v}", claim.value)
        return self._unit("check", said, hop=hop, value=claim.value, confidence=claim.confidence)

    def _conclude(self, state: State) -> Unit:
        mind = self.mind
        if mind.chance("answerless") < mind.ability.answerless:
            return Unit("conclude", wording.GIVE_UP, len(wording.GIVE_UP))
        answer = mind.answer(state)
        text = self._pick(wording.CONCLUDE, state, "conclude").replace("{v}", answer.value)
        value, sure = answer.value, answer.confidence
        return Unit("conclude", text, len(text), value=value, confidence=sure)

    def _unit(
        self,
        kind: str,
        text: str,
        *,
        hop: int | None = None,
        claim: Claim | None = None,
        value: str = "",
        confidence: float = 1.0,
    ) -> Unit:
        return Unit(kind, text + GAP, len(text), hop, claim, value, confidence)

    def _pick(self, options: Sequence[str], state: State, name: str) -> str:
        return choice(options, *self._key, name, state.units)
