"""Baselines that look at no probability: never, once, every k steps, by chance, by RSUS, by tag."""

import re
from collections.abc import Iterable

from pipelines.data.sentences import sentences
from pipelines.realm.reason import OPENING
from pipelines.realm.types import (
    GO_ON,
    Chain,
    Decision,
    Formulation,
    Integration,
    Status,
    StepState,
)
from pipelines.seeds import seed_of

_ASKED = re.compile(r"<search>((?:(?!</?search>).)*)</search>\W*\Z", re.DOTALL | re.IGNORECASE)


class NoRetrieval:
    """The model alone."""

    async def decide(self, state: StepState) -> Decision:
        """Goes on."""
        return GO_ON


class SingleRetrieval:
    """Once, with the question, before the first step: retrieval-augmented generation as in Lewis et
    al. 2020 (arXiv 2005.11401), with whole passages."""

    def __init__(self, integration: Integration = Integration.WHOLE) -> None:
        self._integration = integration

    async def open(self, question: str) -> Decision:
        """Retrieves with the question."""
        return Decision(True, integration=self._integration, query=question)

    async def decide(self, state: StepState) -> Decision:
        """Goes on."""
        return GO_ON


class FixedInterval:
    """After every `k`th step, with that step as the query (in-context RALM with a stride, Ram et
    al. 2023, arXiv 2302.00083, counted in steps instead of tokens)."""

    def __init__(
        self,
        k: int = 1,
        formulation: Formulation = Formulation.STEP,
        integration: Integration = Integration.WHOLE,
    ) -> None:
        if k < 1:
            raise ValueError(f"fixed interval: k is {k}, must be at least 1")
        self._k = k
        self._retrieve = Decision(True, formulation, integration)

    async def decide(self, state: StepState) -> Decision:
        """Retrieves if `k` steps were written since the last time."""
        return GO_ON if state.ended or state.since_last < self._k else self._retrieve


class Ircot:
    """Interleaving retrieval with chain-of-thought (Trivedi et al. 2023, arXiv 2212.10509): first
    with the question, then after every step with its last sentence, until the answer is there.

    `sentences` of the step's last ones are the query, 0 for the whole step: for reasoners whose
    last sentence says little by itself ("It is probably 1969."). Not as theirs: steps are those of
    the segmenter in use (theirs are sentences), and passages are inserted where they were fetched
    (theirs stand before the chain, in a prompt that is made anew each time).
    """

    def __init__(self, sentences: int = 1, integration: Integration = Integration.WHOLE) -> None:
        if sentences < 0:
            raise ValueError(f"IRCoT: sentences of the query is {sentences}, must be at least 0")
        self._sentences, self._integration = sentences, integration

    async def open(self, question: str) -> Decision:
        """Retrieves with the question."""
        return Decision(True, integration=self._integration, query=question)

    async def decide(self, state: StepState) -> Decision:
        """Retrieves with the step's last sentences."""
        if state.ended:
            return GO_ON
        query = last_sentences(state.step.text, self._sentences)
        return Decision(True, integration=self._integration, query=query)


class ThresholdOnly:
    """RSUS over a fixed threshold: ReaLM-Retrieve (arXiv 2604.26649) without its policy."""

    def __init__(
        self,
        threshold: float = 0.65,
        formulation: Formulation = Formulation.STEP,
        integration: Integration = Integration.SENTENCES,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold of RSUS is {threshold}, must be from 0 to 1")
        self.threshold = threshold
        self._retrieve = Decision(True, formulation, integration)

    async def decide(self, state: StepState) -> Decision:
        """Retrieves if the step's RSUS is over the threshold."""
        if state.ended:
            return GO_ON
        found = await state.uncertainty()
        return self._retrieve if found.rsus > self.threshold else GO_ON


class RandomTiming:
    """After each step with probability `rate`: the ablation of ReaLM-Retrieve's timing.

    The draw hangs on seed, question and step index alone, whatever else runs. `matched_rate` gives
    the rate for as many calls as other chains had.
    """

    def __init__(
        self,
        rate: float = 0.5,
        seed: int = 0,
        formulation: Formulation = Formulation.STEP,
        integration: Integration = Integration.SENTENCES,
    ) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"rate of retrievals is {rate}, must be from 0 to 1")
        self._rate, self._seed = rate, seed
        self._retrieve = Decision(True, formulation, integration)

    async def decide(self, state: StepState) -> Decision:
        """Retrieves by chance."""
        if state.ended:
            return GO_ON
        draw = seed_of(self._seed, state.question, state.step.index) / 2**31
        return self._retrieve if draw < self._rate else GO_ON


class SearchTags:
    """The model asks itself, with `<search>query</search>` in its text: Search-R1 (Jin et al. 2025,
    arXiv 2503.09516) without its training. Needs the prompt of style `search_tags`, and a segmenter
    that ends a step after the closing tag, wherever else it ends one."""

    def __init__(self, integration: Integration = Integration.WHOLE) -> None:
        self._integration = integration

    async def decide(self, state: StepState) -> Decision:
        """Retrieves with the query of the tag that ends here."""
        if state.ended or "</search>" not in state.step.text.lower():
            return GO_ON
        asked = _ASKED.search(state.session.text[: state.boundary])
        query = " ".join(asked[1].split()) if asked else ""
        return Decision(True, integration=self._integration, query=query) if query else GO_ON


def last_sentences(text: str, count: int) -> str:
    """The last `count` sentences of `text`; all of it where there are fewer, or `count` is 0."""
    found = sentences(text)[-count:]
    return text[found[0][0] :].strip() if found else text.strip()


def matched_rate(chains: Iterable[Chain]) -> float:
    """Retrievals of `chains` per step at which one could be made: the `rate` of `RandomTiming` that
    makes about as many. 0 for chains without steps."""
    calls = steps = 0
    for chain in chains:
        calls += chain.calls
        steps += sum(record.step.index != OPENING for record in chain.steps)
        steps -= chain.status in (Status.ANSWERED, Status.NO_ANSWER)  # its last step ended it
    return min(1.0, calls / steps) if steps > 0 else 0.0
