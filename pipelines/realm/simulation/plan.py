"""What the simulated reasoner writes next: a function of what stands, and of nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipelines.realm.simulation import wording
from pipelines.realm.simulation.ability import choice, normal
from pipelines.realm.simulation.belief import SURE, WHOLE, Claim, Mark, Mind, State, put

T = TypeVar("T")
GAP = "\n\n"
"""Between units."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A passage of thought written in one go. It counts once its first `done_at` characters stand;
    `marks` are what its single sentences say, each with the characters that it takes.

    `confidence` is how sure it is of `value`, which stands in the text.
    """

    kind: str  # opening | need | search | claim | correct | check | again | conclude | reply
    text: str
    done_at: int
    hop: int = WHOLE
    claim: Claim | None = None
    value: str = ""
    confidence: float = 1.0
    marks: tuple[tuple[int, Mark], ...] = ()


class _Draft:
    """Sentences with what they say."""

    def __init__(self, state: State, hop: int) -> None:
        self.state, self.hop = state, hop
        self.text = ""
        self.marks: list[tuple[int, Mark]] = []

    def say(self, sentence: str, name: str = "") -> None:
        """Adds a sentence; one that has a `name` only if it was not said before and then cut off
        from the rest, and nothing of the kind was cut in two."""
        mark = (name, self.hop)
        if name and {mark, ("tried", self.hop)} & self.state.marks:
            return
        self.text += f" {sentence}" if self.text else sentence
        if name:
            self.marks.append((len(self.text), mark))

    def unit(
        self, kind: str, *, claim: Claim | None = None, value: str = "", confidence: float = 1.0
    ) -> Unit:
        text, marks = self.text, tuple(self.marks)
        return Unit(kind, text + GAP, len(text), self.hop, claim, value, confidence, marks)


class Planner:
    """Plans the chain of one question. `style` varies the words and nothing else."""

    def __init__(self, mind: Mind, *, style: int = 0, tags: bool = False) -> None:
        self.mind = mind
        self.tags = tags
        self._key = (*mind.key, style, "words")

    def next(self, state: State) -> Unit:
        """The unit that follows."""
        mind = self.mind
        if ("opened", WHOLE) not in state.marks:
            return self._opening(state)
        if (hop := mind.correctable(state)) is not None:
            return self._correct(hop, state)
        latest = state.latest
        if latest in state.claims and not state.fresh:
            assert latest is not None
            again = ("checked", latest) in state.marks
            if not again and mind.chance("checks", latest) < mind.ability.checks:
                return self._check(latest, state)
        if (hop := mind.open_hop(state)) is not None:
            return self._work(hop, state)
        if mind.chance("endless") < mind.ability.endless:
            draft = _Draft(state, WHOLE)
            draft.say(self._pick(wording.AGAIN, state, "again"))
            return draft.unit("again")
        return self._conclude(state)

    def accept(self, unit: Unit, shown: int, state: State) -> None:
        """Takes what the first `shown` characters of a unit say into `state`."""
        if not shown:
            return
        said = [mark for end, mark in unit.marks if end <= shown]
        if shown < unit.done_at and not said:
            said = [("tried", unit.hop)]
        if unit.kind == "opening":
            said = [("opened", WHOLE)]
        state.marks.update(said)
        state.units += 1
        state.fresh = 0
        if unit.hop != WHOLE:
            state.latest = unit.hop
        if shown < unit.done_at:
            return
        state.concluded = unit.kind == "conclude"
        if unit.claim is not None:
            put(state, unit.hop, unit.claim, self.mind.facts)

    def question_of(self, hop: int, state: State) -> str:
        """The sub-question of a hop as it is seen in `state`."""
        values = {index: claim.value for index, claim in state.claims.items()}
        return wording.sub_question(self.mind.facts.hops[hop], values)

    def _opening(self, state: State) -> Unit:
        draft = _Draft(state, WHOLE)
        asked, rest = self._pick(wording.OPENING, state, "opening")
        draft.say(asked.replace("{t}", self.mind.facts.question.text.strip()))
        draft.say(rest.replace("{n}", str(len(self.mind.facts.hops))))
        return draft.unit("opening")

    def _work(self, hop: int, state: State) -> Unit:
        mind = self.mind
        sure = mind.confidence(hop) >= SURE
        if not mind.facts.hops[hop].derived and not mind.shown(hop, state):
            if self.tags:
                if not sure and ("searched", hop) not in state.marks:
                    return self._search(hop, state)
                return self._claim(hop, state)
            chance = mind.ability.asks_sure if sure else mind.ability.asks_unsure
            before = ("asked", hop) in state.marks or ("posed", hop) in state.marks
            if not before and mind.chance("asks", hop) < chance:
                return self._need(hop, state)
        return self._claim(hop, state)

    def _lead(self, draft: _Draft, state: State) -> None:
        """What goes before work on a hop: that the evidence is of no use, and the sub-question."""
        hop = draft.hop
        if state.fresh and not self.mind.shown(hop, state):
            draft.say(self._pick(wording.IRRELEVANT, state, "aside"), "noted")
        leads = wording.FIRST if hop == 0 else wording.NEXT
        if ("asked", hop) in state.marks:
            leads = wording.SAME
        lead = self._pick(leads, state, "lead")
        draft.say(lead + wording.inline(self.question_of(hop, state)), "posed")

    def _need(self, hop: int, state: State) -> Unit:
        draft = _Draft(state, hop)
        self._lead(draft, state)
        sure = self.mind.confidence(hop)
        felt = sure + 0.1 * normal(*self._key, hop, "felt")
        doubts = wording.LACK if felt < SURE else wording.RECALL
        draft.say(self._pick(doubts, state, "doubt"))
        # The whole step asks; the claim that follows it says the question again.
        draft.marks = [(end, mark) for end, mark in draft.marks if mark[0] != "posed"]
        asked = draft.text.index("?") + 1 if "?" in draft.text else len(draft.text)
        draft.marks.append((asked, ("asked", hop)))
        return draft.unit("need", confidence=sure)

    def _search(self, hop: int, state: State) -> Unit:
        doubt = self._pick(wording.LACK, state, "doubt")
        text = f"{doubt} <search>{self.question_of(hop, state)}</search>"
        end = text.index("</search>")
        marks = ((end, ("searched", hop)), (end, ("posed", hop)))
        sure = self.mind.confidence(hop)
        return Unit("search", text + GAP, end, hop, confidence=sure, marks=marks)

    def _claim(self, hop: int, state: State) -> Unit:
        claim = self.mind.claim(hop, state)
        draft = _Draft(state, hop)
        self._lead(draft, state)
        if claim.cited:
            quote = self._pick(wording.QUOTE, state, "quote")
            draft.say(quote.replace("{e}", claim.cited), "quoted")
            said = self._pick(wording.READ, state, "read")
        else:
            felt = claim.confidence + 0.1 * normal(*self._key, hop, "felt")
            said = self._pick(wording.HEDGES[wording.loudness(felt)], state, "claim")
        draft.say(said.replace("{v}", claim.value))
        return draft.unit("claim", claim=claim, value=claim.value, confidence=claim.confidence)

    def _correct(self, hop: int, state: State) -> Unit:
        claim = self.mind.claim(hop, state)
        draft = _Draft(state, hop)
        quote = self._pick(wording.REVISE, state, "revise")
        draft.say(quote.replace("{e}", claim.cited), "corrected")
        said = self._pick(wording.REVISED, state, "revised")
        said = said.replace("{q}", self.question_of(hop, state))
        draft.say(said.replace("{w}", state.claims[hop].value).replace("{v}", claim.value))
        return draft.unit("correct", claim=claim, value=claim.value, confidence=claim.confidence)

    def _check(self, hop: int, state: State) -> Unit:
        claim = state.claims[hop]
        draft = _Draft(state, hop)
        first, rest = self._pick(wording.CHECK, state, "check")
        draft.say(first.replace("{v}", claim.value), "checked")
        draft.say(rest.replace("{q}", self.question_of(hop, state)).replace("{v}", claim.value))
        return draft.unit("check", value=claim.value, confidence=claim.confidence)

    def _conclude(self, state: State) -> Unit:
        mind = self.mind
        if mind.chance("answerless") < mind.ability.answerless:
            return Unit("conclude", wording.GIVE_UP, len(wording.GIVE_UP))
        answer = mind.answer(state)
        text = self._pick(wording.CONCLUDE, state, "conclude").replace("{v}", answer.value)
        value, sure = answer.value, answer.confidence
        return Unit("conclude", text, len(text), value=value, confidence=sure)

    def _pick(self, options: Sequence[T], state: State, name: str) -> T:
        return choice(options, *self._key, name, state.units)
