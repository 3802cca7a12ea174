"""Steps of a chain while it lasts: what becomes a `StepRecord`, and RSUS when it is asked for."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.realm.types import (
    GO_ON,
    Decision,
    Evidence,
    Meter,
    Step,
    StepRecord,
    StepState,
    Uncertainty,
)


@dataclass(slots=True)
class Draft:
    """A `StepRecord` in the making; times are the clock's."""

    step: Step
    start: int  # of the step, in characters of session.text
    state: StepState
    started: float
    written: float
    decision: Decision = GO_ON
    uncertainty: Uncertainty | None = None
    evidence: Evidence | None = None
    decided: float | None = None
    inserted: float | None = None
    resumed: float | None = None

    def record(self, origin: float) -> StepRecord:
        """The record; `origin` is when the chain started."""
        resumed = self.inserted is not None and self.resumed is not None
        return StepRecord(
            self.step,
            self.decision,
            self.uncertainty,
            self.evidence,
            started_s=self.started - origin,
            write_s=self.written - self.started,
            decide_s=0.0 if self.decided is None else self.decided - self.written,
            resume_s=(self.resumed or 0.0) - (self.inserted or 0.0) if resumed else 0.0,
        )


class Measured:
    """RSUS of a step, worked out once however often and by how many it is asked for; `tell` hears
    of it. Raises ValueError where there is no meter."""

    def __init__(
        self, draft: Draft, meter: Meter | None, tell: Callable[[Uncertainty], None]
    ) -> None:
        self._draft, self._meter, self._tell = draft, meter, tell
        self._lock = asyncio.Lock()

    async def __call__(self) -> Uncertainty:
        """RSUS of the step."""
        if self._meter is None:
            raise ValueError("this decider asks for RSUS: give the chain's Parts a meter")
        async with self._lock:
            if self._draft.uncertainty is None:
                self._draft.uncertainty = await self._meter.measure(self._draft.state)
                self._tell(self._draft.uncertainty)
            return self._draft.uncertainty


async def unmeasured() -> Uncertainty:
    """In the place of `Measured` where there is no step. Raises ValueError."""
    raise ValueError("there is no step yet whose RSUS could be worked out")
