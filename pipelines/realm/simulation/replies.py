"""What the simulated reasoner replies to a side question."""

import re

from pipelines.realm.simulation.ability import choice, normal, uniform
from pipelines.realm.simulation.belief import State
from pipelines.realm.simulation.plan import Planner, Unit

CONFIDENCE = re.compile(r"confiden|how (?:sure|certain)|\b0\s*(?:-|–|to)\s*100\b", re.IGNORECASE)
QUERY = re.compile(r"\bquery\b|\bsearch\b", re.IGNORECASE)
ANSWER = re.compile(r"\banswer\b|\\boxed", re.IGNORECASE)

_NUMBERS = ("{c}", "{c}", "{c}", "{c}%", "{c}/100", "I'd say {c}.")
_GARBAGE = ("fairly high", "I don't know", "1000", "", "??", "between low and medium", "-3")


class Replier:
    """Tells what is asked from the words of the suffix: confidence, a query, the answer; anything
    else is a continuation of the text."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.mind = planner.mind

    def reply(self, suffix: str, state: State, *, draw: tuple[object, ...], warm: bool) -> Unit:
        """One reply. `draw` names the sample; samples differ only where `warm` (temperature > 0).

        The unit's value and confidence are of what it says.
        """
        if CONFIDENCE.search(suffix):
            text, value, sure = self._confidence(state, draw, warm)
        elif QUERY.search(suffix):
            text, value, sure = self.planner.question_of(self._hop(state), state), "", 1.0
        elif ANSWER.search(suffix):
            text, value, sure = self._answer(suffix, state)
        else:
            text, value, sure = self._continuation(state, draw, warm)
        if text and suffix and not suffix[-1].isspace():
            text = f" {text}"
        return Unit("reply", text, len(text), value=value, confidence=sure)

    def _hop(self, state: State) -> int:
        if state.latest is not None:
            return state.latest
        return self.mind.open_hop(state) or 0

    def felt(self, state: State) -> float:
        """How sure it is of what it wrote last; before the first hop, of the hops in all."""
        if state.concluded:
            return self.mind.answer(state).confidence
        if state.latest in state.claims:
            assert state.latest is not None
            return state.claims[state.latest].confidence
        if state.latest is not None:
            return self.mind.claim(state.latest, state).confidence
        own = [
            self.mind.confidence(hop)
            for hop, fact in enumerate(self.mind.facts.hops)
            if not fact.derived
        ]
        return sum(own) / len(own)

    def _confidence(
        self, state: State, draw: tuple[object, ...], warm: bool
    ) -> tuple[str, str, float]:
        key = (*self.mind.key, "verbal", state.units, len(state.seen))
        sample = draw if warm else ()
        if uniform(*key, "garbage", *sample) < self.mind.ability.garbage:
            return choice(_GARBAGE, *key, "which", *sample), "", 1.0
        value = self.felt(state) + 0.07 * normal(*key)
        if warm:
            value += 0.03 * normal(*key, *draw)
        percent = str(5 * round(20 * min(max(value, 0.0), 1.0)))
        return choice(_NUMBERS, *key, "form").replace("{c}", percent), percent, 0.8

    def _answer(self, suffix: str, state: State) -> tuple[str, str, float]:
        if self.mind.chance("answerless") < self.mind.ability.answerless:
            return "", "", 1.0
        answer = self.mind.answer(self.mind.settle(state))
        cue = suffix.rstrip()
        if cue.endswith("<answer>"):
            return f"{answer.value}</answer>", answer.value, answer.confidence
        if cue.endswith("{"):
            return f"{answer.value}}}", answer.value, answer.confidence
        if cue.endswith((":", " is")):
            return f"{answer.value}.", answer.value, answer.confidence
        return f"So the answer is: {answer.value}.", answer.value, answer.confidence

    def _continuation(
        self, state: State, draw: tuple[object, ...], warm: bool
    ) -> tuple[str, str, float]:
        hop = self._hop(state)
        claim = state.claims.get(hop) or self.mind.settle(state).claims[hop]
        value = claim.value
        others = [rival for rival in self.mind.facts.rivals[hop] if rival != value]
        agrees = 0.3 + 0.7 * claim.confidence
        if warm and others and uniform(*self.mind.key, "sample", hop, *draw) >= agrees:
            value = choice(others, *self.mind.key, "other", hop, *draw)
        return f"So, {value}.", value, claim.confidence
