"""Baselines that look at the probabilities of tokens; for engines that tell them."""

import math
import re
from dataclasses import dataclass

from actors.search.ranking.analysis import STOP_WORDS
from pipelines.realm.inserts import without_evidence
from pipelines.realm.types import GO_ON, Decision, Integration, Step, StepState

_WORD = re.compile(r"\w+(?:['’.-]\w+)*")
# Pronouns and helping verbs: words of no content beyond Lucene's list.
_EMPTY_WORDS = STOP_WORDS | frozenset(
    "i you he she we us me him her them his its our your my who whom whose which what when where "
    "why how has have had do does did can could would should may might must been being were am so "
    "also than too very just only about from after before over under between both each more most "
    "some any all one let need find know think first next now".split()
)


@dataclass(frozen=True, slots=True)
class WordOdds:
    """A word of a step and its least sure token; `start` and `end` in the step's text."""

    text: str
    start: int
    end: int
    probability: float
    entropy: float

    @property
    def is_empty(self) -> bool:
        """It carries no content."""
        return self.text.lower() in _EMPTY_WORDS


def word_odds(step: Step) -> list[WordOdds]:
    """The words of a step. Raises ValueError for an engine that gave no log-probabilities."""
    if not step.logprobs:
        raise ValueError(
            "this decider needs the log-probabilities of tokens, and the engine gives none: "
            "use an engine that does (not a completion server), or another decider"
        )
    text = "".join(step.words)
    found, starts, at = [], [], 0
    for word in step.words:
        starts.append(at)
        at += len(word)
    first = 0
    for match in _WORD.finditer(text):
        while first < len(starts) and starts[first] + len(step.words[first]) <= match.start():
            first += 1
        last = first
        probability, entropy = 1.0, 0.0
        while last < len(starts) and starts[last] < match.end():
            if step.words[last]:
                probability = min(probability, math.exp(min(0.0, step.logprobs[last])))
                entropy = max(entropy, step.entropies[last] if step.entropies else 0.0)
            last += 1
        found.append(WordOdds(match[0], match.start(), match.end(), probability, entropy))
    return found


def newly_informed(state: StepState) -> bool:
    """The step was written right after evidence: it is kept as it is, as FLARE and DRAGIN do."""
    return state.since_last == 1 and bool(state.evidence) and bool(state.evidence[-1].text)


class FlareLike:
    """FLARE-direct with masked queries (Jiang et al. 2023, arXiv 2305.06983): a step with a word
    less likely than `threshold` is thrown away, its words over `mask` are the query, and the step
    is written again after the evidence. The step that was written again stays.

    Not as theirs: steps of the segmenter in use (theirs are sentences), passages inserted at the
    boundary (theirs replace those at the head of the prompt), words masked whole.
    """

    def __init__(
        self,
        threshold: float = 0.4,
        mask: float = 0.4,
        integration: Integration = Integration.WHOLE,
    ) -> None:
        for name, value in (("threshold", threshold), ("mask", mask)):
            if not 0 <= value <= 1:
                raise ValueError(f"FLARE: {name} is {value}, must be a probability from 0 to 1")
        self._threshold, self._mask, self._integration = threshold, mask, integration

    async def decide(self, state: StepState) -> Decision:
        """Retrieves and has the step written again where it has an unlikely word."""
        if newly_informed(state):
            return GO_ON
        words = word_odds(state.step)
        if all(word.probability >= self._threshold for word in words):
            return GO_ON
        likely = [word.text for word in words if word.probability >= self._mask]
        query = " ".join(likely) if any(w.lower() not in _EMPTY_WORDS for w in likely) else ""
        return Decision(
            True,
            integration=self._integration,
            query=query or state.question,
            discard_step=True,
        )


class DraginLike:
    """DRAGIN (Su et al. 2024, arXiv 2403.10081) as far as it can be had without attention weights,
    which no engine here gives out.

    As theirs: a word's need is its entropy, times its attention, times 0 for stop words; a need
    over `threshold` triggers; the query is made of the words that matter most to the first such
    word. Approximated: the attention that a word gets from later ones, relative to the step's
    highest, is taken as (1 + mentions later in the step) / (1 + the most of any word); the words
    it attends to most are taken as the question's content words and the `length` content words
    before it. Theirs writes on from the word; here the whole step is written again.
    """

    def __init__(
        self,
        threshold: float = 1.0,
        length: int = 16,
        integration: Integration = Integration.WHOLE,
    ) -> None:
        if threshold < 0 or length < 0:
            raise ValueError(
                f"DRAGIN: threshold is {threshold} nats, length {length}; both must be >= 0"
            )
        self._threshold, self._length, self._integration = threshold, length, integration

    async def decide(self, state: StepState) -> Decision:
        """Retrieves and has the step written again where a word is in need."""
        if newly_informed(state):
            return GO_ON
        words = word_odds(state.step)
        needy = self._needy(words)
        if needy is None:
            return GO_ON
        return Decision(
            True,
            integration=self._integration,
            query=self._query(state, words[:needy]) or state.question,
            discard_step=True,
        )

    def _needy(self, words: list[WordOdds]) -> int | None:
        content = [word.text.lower() for word in words]
        later = [content[i + 1 :].count(word) for i, word in enumerate(content)]
        most = max((n for n, w in zip(later, words, strict=True) if not w.is_empty), default=0)
        for i, word in enumerate(words):
            attention = (1 + later[i]) / (1 + most)
            if not word.is_empty and word.entropy * attention > self._threshold:
                return i
        return None

    def _query(self, state: StepState, before: list[WordOdds]) -> str:
        step_start = state.boundary - len(state.step.text)
        standing = without_evidence(state.session.text[:step_start])
        context = _WORD.findall(standing[-2000:]) + [word.text for word in before]
        nearest = [word for word in context if word.lower() not in _EMPTY_WORDS]
        nearest = nearest[max(0, len(nearest) - self._length) :]
        question = [w for w in _WORD.findall(state.question) if w.lower() not in _EMPTY_WORDS]
        return " ".join(dict.fromkeys(question + nearest))
