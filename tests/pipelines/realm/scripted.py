"""A session engine of known text, and parts that do one plain thing each, for tests of the loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from actors.rollout.sessions.types import EngineError, Piece, Usage
from actors.rollout.types import Sampling
from actors.search.types import InfraFailure
from pipelines.realm.parts import Parts
from pipelines.realm.types import (
    Decision,
    Formulation,
    Integration,
    Passage,
    StepState,
    Uncertainty,
)

Script = Callable[[str], str]
"""All that is still to be written after a text."""


def after(*pairs: tuple[str, str], start: str = "") -> Script:
    """Writes what goes with the last key found in the text (nothing is written twice)."""

    def rest(text: str) -> str:
        key, story, at = "", start, 0
        for marker, follows in pairs:
            found = text.rfind(marker)
            if found >= 0 and found + len(marker) >= at:
                key, story, at = marker, follows, found + len(marker)
        written = text[at:] if key else text
        assert story.startswith(written), f"the script has no way on from {text!r}"
        return story[len(written) :]

    return rest


class ScriptedSession:
    """Writes its script, `size` characters a piece, each of them a token. `fail_after` characters
    it raises `EngineError`, `hang_after` it writes no more."""

    def __init__(
        self,
        script: Script,
        *,
        size: int = 3,
        tokens: bool = True,
        logprob: float = -0.1,
        most: int = 10_000,
        replies: Sequence[str] = ("Nobody",),
        fail_after: int | None = None,
        hang_after: int | None = None,
        ask_fails: bool = False,
    ) -> None:
        self.usage = Usage()
        self.closed = 0
        self.asked: list[tuple[str, Sampling, int | None]] = []
        self.writing = False
        self._script, self._size, self._tokens, self._most = script, size, tokens, most
        self._replies, self._ask_fails = replies, ask_fails
        self._fail, self._hang, self._logprob = fail_after, hang_after, logprob
        self._text = ""

    @property
    def text(self) -> str:
        return self._text

    async def write(self) -> AsyncIterator[Piece]:
        assert not self.writing
        assert not self.closed
        self.writing = True
        self.usage.requests += 1
        written = 0
        try:
            rest = self._script(self._text)
            while True:
                await asyncio.sleep(0)
                if self._fail is not None and len(self._text) >= self._fail:
                    raise EngineError("the cable was cut")
                if self._hang is not None and len(self._text) >= self._hang:
                    await asyncio.Event().wait()
                text = rest[: min(self._size, self._most - written)]
                rest = rest[len(text) :]
                written += len(text)
                self._text += text
                self.usage.written_tokens += len(text)
                finish = "stop" if not rest else "length" if written >= self._most else ""
                ids = tuple(map(ord, text)) if self._tokens else ()
                many = len(ids)
                yield Piece(
                    text, ids, (self._logprob,) * many, (0.2,) * many, finish, tuple(text[:many])
                )
                if finish:
                    return
        finally:
            self.writing = False

    def cut(self, characters: int) -> None:
        assert not self.writing
        self._text = self._text[:characters]

    def append(self, text: str) -> None:
        assert not self.writing
        self._text += text

    async def ask(
        self, suffix: str, sampling: Sampling, *, n: int = 1, seed: int = 0, at: int | None = None
    ) -> list[Piece]:
        if self._ask_fails:
            raise EngineError("no reply")
        self.asked.append((suffix, sampling, at))
        return [Piece(reply, finish="stop") for reply in self._replies]

    async def close(self) -> None:
        self.closed += 1


class EveryFullStop:
    """Ends a step behind each full stop, known `late` characters later."""

    def __init__(self, late: int = 2) -> None:
        self._late = late
        self.reset()

    def reset(self) -> None:
        self._seen = 0
        self._open: list[int] = []

    def feed(self, text: str) -> list[int]:
        self._open += [self._seen + i + 1 for i, c in enumerate(text) if c == "."]
        self._seen += len(text)
        known = [end for end in self._open if end + self._late <= self._seen]
        self._open = self._open[len(known) :]
        return known

    def finish(self) -> list[int]:
        return self._open


FRANCE = Passage("p1", "France", "Paris is the capital.", 2.0)
SPAIN = Passage("p2", "Spain", "Madrid is the capital.", 1.0)


class Shelf:
    """Always brings the same passages, or what `outcome` says. `gate` holds searches back."""

    def __init__(
        self,
        outcome: tuple[Passage, ...] | InfraFailure | Exception = (FRANCE, SPAIN),
        gate: asyncio.Event | None = None,
    ) -> None:
        self.outcome, self.gate = outcome, gate
        self.queries: list[tuple[str, int]] = []

    async def search(self, query: str, k: int) -> tuple[Passage, ...] | InfraFailure:
        self.queries.append((query, k))
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class FirstOnly:
    """Takes in the first passage's text."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def take_in(
        self, question: str, query: str, passages: Sequence[Passage], integration: Integration
    ) -> tuple[str, tuple[str, ...]]:
        if self.error is not None:
            raise self.error
        return passages[0].text, (passages[0].id,)


class StepItself:
    """The query is the step."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def query(self, state: StepState, formulation: Formulation) -> str:
        if self.error is not None:
            raise self.error
        return f"{formulation}: {state.step.text.strip()}"


class CountingMeter:
    """RSUS is a tenth of the calls so far; `warnings` go with each."""

    def __init__(self, warnings: tuple[str, ...] = ()) -> None:
        self.calls, self.warnings = 0, warnings

    async def measure(self, state: StepState) -> Uncertainty:
        self.calls += 1
        await asyncio.sleep(0)
        return Uncertainty(self.calls / 10, verb=0.25, warnings=self.warnings)


class Ticking:
    """A clock that is a second later each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Planned:
    """Decides what is planned for each decision, then goes on."""

    def __init__(self, *decisions: Decision) -> None:
        self._decisions = list(decisions)
        self.states: list[StepState] = []

    async def decide(self, state: StepState) -> Decision:
        self.states.append(state)
        return self._decisions.pop(0) if self._decisions else Decision(retrieve=False)


def parts_of(
    *,
    shelf: Shelf | None = None,
    formulator: StepItself | None = None,
    integrator: FirstOnly | None = None,
    meter: CountingMeter | None = None,
    late: int = 2,
    clock: Callable[[], float] | None = None,
) -> Parts:
    more = {} if clock is None else {"clock": clock}
    return Parts(
        lambda: EveryFullStop(late),
        formulator or StepItself(),
        shelf or Shelf(),
        integrator or FirstOnly(),
        meter or CountingMeter(),
        **more,
    )
