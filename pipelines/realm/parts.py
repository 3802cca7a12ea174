"""What a chain of reasoning is worked on with, and what it may cost."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pipelines.realm.inserts import words_of
from pipelines.realm.types import Formulator, Integrator, Meter, Retriever, Segmenter

ANSWER_SUFFIX = "\nSo the answer is:"


@runtime_checkable
class Prefetcher(Protocol):
    """A retriever that searches ahead (`evidence.prefetch.SpeculativeCache`)."""

    def has(self, query: str, k: int) -> bool:
        """Whether a search that starts now is answered by a prefetch."""
        ...

    def observe(self, question: str, step: str, k: int, *, complete: bool = False) -> None:
        """Told how far the step in the making is. Never waits."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What works on a chain; shared by many, but for what `segmenter` makes."""

    segmenter: Callable[[], Segmenter]
    formulator: Formulator
    retriever: Retriever
    """A `Prefetcher` is told of each step while it is written."""
    integrator: Integrator
    meter: Meter | None = None
    """May be None where no decider asks for RSUS."""
    count: Callable[[str], int] = words_of
    """Tokens of a text: for the kept share, and for engines that count none."""
    clock: Callable[[], float] = time.perf_counter
    """Seconds, from any start."""
    answer_suffix: str = ANSWER_SUFFIX
    """What is written to have the answer from a chain that gave none."""
    thinking: bool = False
    """The prompt opens `<think>`: what stands before `</think>` is no answer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a chain may cost. Raises ValueError for what makes no chain."""

    max_steps: int = 48
    """Steps, those that are written again included."""
    max_tokens: int = 2048
    """Tokens read from the engine, those that were cut again included."""
    max_calls: int = 16
    """Retrievals; further ones are turned into going on."""
    k: int = 5
    """Passages a retrieval."""
    answer_tokens: int = 48
    """Of an answer that has to be asked for."""
    piece_s: float = 120.0
    """Longest wait for the engine's next piece."""
    search_s: float = 30.0
    """Longest wait for a search."""
    decide_s: float = 300.0
    """Longest wait for a decision, for the making of a query, and for the taking in of evidence."""

    def __post_init__(self) -> None:
        for name in ("max_steps", "max_tokens", "k", "answer_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, must be at least 1")
        if self.max_calls < 0:
            raise ValueError(f"max_calls is {self.max_calls}, must be at least 0")
        for name in ("piece_s", "search_s", "decide_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}, must be above 0 seconds")
