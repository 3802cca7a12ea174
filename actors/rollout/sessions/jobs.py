"""What sessions ask of the thread that computes, and what comes back."""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from actors.rollout.types import Sampling


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was drawn; see `Piece`."""

    id: int
    logprob: float
    entropy: float


@dataclass(frozen=True, slots=True)
class Started:
    """A prompt was computed: `cached` of its `prompt` tokens were there already."""

    prompt: int
    cached: int


@dataclass(frozen=True, slots=True)
class Ended:
    """No more tokens: "stop" (the model's own end, whose token is not given) or "length"."""

    finish: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The reader is far behind: the job was given up and can be taken up from its last token."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine could not."""

    reason: str


Event = Token | Started | Ended | Paused | Failed


class Inbox:
    """Events of one job, put by any thread, read by one task of the loop that made it.

    `low` is called by the reader when it has taken what was there but `low_at` events.
    """

    def __init__(self, low: Callable[[], None] | None = None, low_at: int = 0) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: deque[tuple[int, Event]] = deque()
        self._filled = asyncio.Event()
        self._low, self._low_at = low, low_at
        self.first_token: float | None = None
        """When the first token came, on `time.perf_counter`."""

    def __len__(self) -> int:
        return len(self._events)

    def put(self, copy: int, event: Event) -> None:
        """Adds an event of the job's copy number `copy`."""
        if self.first_token is None and isinstance(event, Token):
            self.first_token = time.perf_counter()
        self._events.append((copy, event))
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._filled.set)
            except RuntimeError:  # closed just now: nobody reads any more
                return

    async def get(self) -> tuple[int, Event]:
        """The next event, when there is one."""
        while not self._events:
            self._filled.clear()
            if not self._events:
                await self._filled.wait()
        event = self._events.popleft()
        if self._low is not None and len(self._events) == self._low_at:
            self._low()
        return event

    def drain(self) -> list[Event]:
        """All events that are there."""
        events = [event for _, event in self._events]
        self._events.clear()
        return events


_numbers = itertools.count()


@dataclass(eq=False, slots=True)
class Job:
    """`copies` continuations of `ids`. Job and session are known by their numbers."""

    session: int
    ids: list[int]
    sampling: Sampling
    """`max_new_tokens` bounds each copy."""
    inbox: Inbox
    seed: int = 0
    copies: int = 1
    side: bool = False
    """A side question: the session's own text goes on elsewhere."""
    keep_prefix: bool = True
    """Whether keys and values from before may be used."""
    number: int = field(default_factory=lambda: next(_numbers))


class Worker(Protocol):
    """What runs in an engine's thread. All calls come from that thread."""

    def busy(self) -> bool:
        """Whether `step` has something to do."""
        ...

    def step(self) -> None:
        """Some computing, and its events. An exception ends the engine."""
        ...

    def start(self, job: Job) -> None:
        """Takes a job on."""
        ...

    def stop(self, job: Job, copies: tuple[int, ...]) -> None:
        """Ends copies of a job early; unknown ones are fine."""
        ...

    def forget(self, session: int) -> None:
        """Frees what is kept for a session."""
        ...

    def fail(self, reason: str) -> None:
        """Tells all jobs that there is no more engine."""
        ...

    def end(self) -> None:
        """Frees everything."""
        ...
