"""What the simulated reasoner holds true of each hop, and why: no words here."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.realm.simulation.ability import Ability, choice, normal, uniform
from pipelines.realm.simulation.facts import Fact, Facts

SURE = 0.6
"""A confidence from here on feels sure."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer to a hop. `cited` is the retrieved sentence that it was read from."""

    value: str
    right: bool
    confidence: float
    cited: str = ""


Mark = tuple[str, int]
"""Something said, of a hop (-1: of the whole chain). `asked`, `searched`, `checked`, and what need
not be said twice before the hop's next claim (`POSING`); `tried`: a sentence was cut in two."""
WHOLE = -1
POSING = ("noted", "posed", "quoted", "corrected", "tried")


@dataclass(slots=True)
class State:
    """What a text amounts to: the claims that stand, what else was said, and what was retrieved."""

    claims: dict[int, Claim] = field(default_factory=dict)
    marks: set[Mark] = field(default_factory=set)
    concluded: bool = False
    seen: list[str] = field(default_factory=list)
    """Retrieved texts, flattened."""
    fresh: int = 0
    """Texts retrieved since the last written unit."""
    units: int = 0
    latest: int | None = None
    """The hop that was worked on last."""

    def copy(self) -> "State":
        """One that can be gone on from, apart from this one."""
        return State(
            dict(self.claims), set(self.marks), self.concluded, list(self.seen), self.fresh,
            self.units, self.latest,
        )  # fmt: skip


class Mind:
    """The knowledge of one reasoner about one question. All of it hangs on `seed`, the question
    and the hop; nothing on the order or number of calls."""

    def __init__(self, facts: Facts, ability: Ability, seed: int) -> None:
        self.facts = facts
        self.ability = ability
        self.key = (seed, facts.question.id)
        self._known: dict[int, bool] = {}
        self._confidence: dict[int, float] = {}

    def chance(self, name: str, hop: int | str = "") -> float:
        """The draw `name` of a hop."""
        return uniform(*self.key, hop, name)

    def knows(self, hop: int) -> bool:
        """Whether the hop's answer is known without reading."""
        if hop not in self._known:
            self._known[hop] = self.chance("knows", hop) < self.ability.knows
        return self._known[hop]

    def confidence(self, hop: int) -> float:
        """How sure it feels of the hop without reading: mostly, not always, with good reason."""
        if hop not in self._confidence:
            sure = self.knows(hop) != (self.chance("misplaced", hop) < self.ability.misplaced)
            level = self.chance("level", hop)
            value = 0.70 + 0.28 * level if sure else 0.02 + 0.30 * level
            value += 0.05 * normal(*self.key, hop, "blur")
            self._confidence[hop] = min(max(value, 0.02), 0.98)
        return self._confidence[hop]

    def shown(self, hop: int, state: State) -> bool:
        """Whether the text has the hop's gold sentence."""
        fact = self.facts.hops[hop]
        return bool(fact.flat) and any(fact.shown_in(text) for text in state.seen)

    def _reads(self, hop: int) -> bool:
        return self.chance("reads", hop) < self.ability.reads

    def claim(self, hop: int, state: State) -> Claim:
        """What it says of a hop now. The hops that it needs have been claimed."""
        fact = self.facts.hops[hop]
        premises = [state.claims[need] for need in sorted(fact.needs) if need in state.claims]
        ground = min((premise.confidence for premise in premises), default=1.0)
        own = ground if fact.derived else self.confidence(hop) * (0.5 + 0.5 * ground)
        if not all(premise.right for premise in premises):
            return self._mistake(hop, state, own)
        if fact.derived:
            return Claim(fact.hop.answer, True, own)
        if self.shown(hop, state):
            if self._reads(hop):
                sure = 0.86 + 0.12 * self.chance("read level", hop)
                return Claim(fact.hop.answer, True, sure, self._cited(fact, state))
        elif state.fresh and self.chance("distracted", hop) < self.ability.distracted:
            return self._mistake(hop, state, own)
        if self.knows(hop):
            return Claim(fact.hop.answer, True, own)
        return self._mistake(hop, state, own)

    def _mistake(self, hop: int, state: State, confidence: float) -> Claim:
        rivals = self.facts.rivals[hop]
        before = [state.claims[need].value for need in sorted(self.facts.hops[hop].needs)]
        value = choice(rivals[:2], *self.key, hop, "guess", *before)
        return Claim(value, False, confidence)

    def _cited(self, fact: Fact, state: State) -> str:
        for sentence, flat in zip(fact.evidence, fact.flat, strict=True):
            if any(f" {flat} " in text for text in state.seen):
                return sentence
        return ""

    def correctable(self, state: State) -> int | None:
        """The first hop whose wrong claim the text now shows to be wrong, and that it gives up."""
        for hop, claim in sorted(state.claims.items()):
            fact = self.facts.hops[hop]
            if claim.right or not all(state.claims[n].right for n in fact.needs):
                continue
            kept = claim.confidence > SURE and self.chance("stubborn", hop) < self.ability.stubborn
            if not kept and self._reads(hop) and self.shown(hop, state):
                return hop
        return None

    def open_hop(self, state: State) -> int | None:
        """The first hop without a claim."""
        return next((hop for hop in range(len(self.facts.hops)) if hop not in state.claims), None)

    def settle(self, state: State) -> State:
        """The state after thinking to the end without a word, with what the text shows now."""
        state = state.copy()
        while (hop := self.correctable(state)) is not None:
            put(state, hop, self.claim(hop, state), self.facts)
        while (hop := self.open_hop(state)) is not None:
            put(state, hop, self.claim(hop, state), self.facts)
        return state

    def answer(self, state: State) -> Claim:
        """The final answer of a settled state: right only where every hop is."""
        last = state.claims[len(self.facts.hops) - 1]
        sure = min(claim.confidence for claim in state.claims.values())
        if all(claim.right for claim in state.claims.values()):
            return Claim(self.facts.answer, True, sure)
        if not last.right:
            return Claim(last.value, False, sure)
        return Claim(self.facts.rivals[-1][0], False, sure)


def put(state: State, hop: int, claim: Claim, facts: Facts) -> None:
    """Makes a claim in `state`; those that were built on an earlier one of the hop fall."""
    if hop in state.claims:
        fallen = set(dependents(hop, facts))
        for other in fallen:
            state.claims.pop(other, None)
        state.marks = {mark for mark in state.marks if mark[1] not in fallen}
    state.marks -= {(name, hop) for name in POSING}
    state.claims[hop] = claim
    state.latest = hop


def dependents(hop: int, facts: Facts) -> Iterable[int]:
    """The later hops that need `hop`, directly or through others."""
    fallen = {hop}
    for index, fact in enumerate(facts.hops):
        if index > hop and fact.needs & fallen:
            fallen.add(index)
    return sorted(fallen - {hop})
