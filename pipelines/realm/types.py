"""The parts of a chain of reasoning, and the protocols of what works on it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from actors.rollout.sessions.types import Session, Usage
from actors.search.types import InfraFailure
from pipelines.data.hop_question import Hop as Hop
from pipelines.data.hop_question import HopQuestion as HopQuestion


class Formulation(StrEnum):
    """How a query is made from a step."""

    STEP = "step"  # the step as it stands
    ENTITY = "entity"  # a question of the step's entity and relation
    GAP = "gap"  # the question and what the step lacks
    REWRITER = "rewriter"  # the trained DeepRetrieval model


class Integration(StrEnum):
    """How evidence is taken in."""

    SENTENCES = "sentences"  # sentences over the relevance threshold
    WHOLE = "whole"  # passages whole
    CORAG = "corag"  # ordered chunks under a token budget


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do after a step. `query`, where given, is used instead of a formulation's."""

    retrieve: bool
    formulation: Formulation = Formulation.STEP
    integration: Integration = Integration.SENTENCES
    query: str | None = None
    discard_step: bool = False
    """Write the step again after the evidence (FLARE, DRAGIN) instead of keeping it."""


GO_ON = Decision(retrieve=False)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """RSUS and its parts, each in [0, 1]; a part that was not worked out is None."""

    rsus: float
    verb: float | None = None
    ent: float | None = None
    cons: float | None = None
    seconds: float = 0.0
    tokens: int = 0
    """Tokens written to work it out."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A step of reasoning: `text` from one boundary to the next."""

    index: int
    text: str
    tokens: int = 0
    logprobs: tuple[float, ...] = ()
    entropies: tuple[float, ...] = ()
    words: tuple[str, ...] = ()
    """Text of each token, where the engine has tokens (same length as `logprobs`)."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that retrieval returned."""

    id: str
    title: str
    text: str
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one retrieval brought. `text` is what is inserted, without its tags.

    `failure` says why there is none although it was asked for.
    """

    query: str
    passages: tuple[Passage, ...] = ()
    text: str = ""
    kept_ids: tuple[str, ...] = ()
    """Ids of the passages that `text` has something of."""
    fetched_tokens: int = 0
    kept_tokens: int = 0
    search_s: float = 0.0
    integrate_s: float = 0.0
    prefetched: bool = False
    failure: str = ""


@dataclass(slots=True)
class StepState:
    """What is known when the decision after a step is due.

    `uncertainty()` works RSUS out, once; who does not call it does not pay for it.
    """

    question: str
    steps: tuple[Step, ...]
    """All steps so far; the last one is the one to decide on."""
    evidence: tuple[Evidence, ...]
    since_last: int
    """Steps since the last retrieval; the number of steps where there was none."""
    uncertainty: Callable[[], Awaitable[Uncertainty]]
    session: Session
    boundary: int
    """Characters of `session.text` up to and with this step."""
    ended: bool = False
    """The chain gave its answer or stopped with this step."""
    history: tuple[Uncertainty, ...] = ()
    """RSUS of earlier steps where it was worked out."""

    @property
    def step(self) -> Step:
        """The step to decide on."""
        return self.steps[-1]

    @property
    def calls(self) -> int:
        """Retrievals so far."""
        return len(self.evidence)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step as it was decided on."""

    step: Step
    decision: Decision
    uncertainty: Uncertainty | None = None
    evidence: Evidence | None = None
    started_s: float = 0.0
    """Since the chain's start."""
    write_s: float = 0.0
    decide_s: float = 0.0
    resume_s: float = 0.0
    """From evidence at hand to the first token after it."""


class Status(StrEnum):
    """How a chain ended."""

    ANSWERED = "answered"
    NO_ANSWER = "no_answer"
    STEP_LIMIT = "step_limit"
    TOKEN_LIMIT = "token_limit"
    ENGINE_FAILURE = "engine_failure"
    ERROR = "error"  # a mistake in a program: the chain's warnings name it


@dataclass(frozen=True, slots=True)
class Chain:
    """A finished chain. One that met a limit is asked for its answer all the same."""

    question_id: str
    question: str
    answer: str
    status: Status
    steps: tuple[StepRecord, ...]
    text: str
    usage: Usage
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All that was retrieved, in order."""
        return tuple(record.evidence for record in self.steps if record.evidence is not None)

    @property
    def calls(self) -> int:
        """Retrievals, failed ones too."""
        return len(self.evidence)


class Segmenter(Protocol):
    """Cuts a growing text into steps. Offsets are characters of all that was fed since `reset`."""

    def reset(self) -> None:
        """Forgets the text: the next `feed` starts a new one."""
        ...

    def feed(self, text: str) -> list[int]:
        """Takes more text; gives boundaries that are now certain (offset after a step's end)."""
        ...

    def finish(self) -> list[int]:
        """The text ends here: the boundaries that waited for more."""
        ...


class Decider(Protocol):
    """Decides after each step: the policy, or a baseline."""

    async def decide(self, state: StepState) -> Decision:
        """What to do now."""
        ...


class Meter(Protocol):
    """Works RSUS out."""

    async def measure(self, state: StepState) -> Uncertainty:
        """RSUS of `state.step`; a part that cannot be had leaves a warning, never an exception."""
        ...


class Formulator(Protocol):
    """Makes queries."""

    async def query(self, state: StepState, formulation: Formulation) -> str:
        """A query for `state.step`, never empty."""
        ...


class Retriever(Protocol):
    """Searches the pooled passages."""

    async def search(self, query: str, k: int) -> "tuple[Passage, ...] | InfraFailure":
        """The best `k`, best first. A query of no words brings nothing."""
        ...


class Integrator(Protocol):
    """Turns passages into text to insert."""

    async def take_in(
        self, question: str, query: str, passages: Sequence[Passage], integration: Integration
    ) -> tuple[str, tuple[str, ...]]:
        """(text, ids of the passages it has something of). No passages: empty text."""
        ...
