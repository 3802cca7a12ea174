"""When a worker may be restarted. Pure: no Ray, no clock."""

import enum
from dataclasses import dataclass, field

from cluster.failures import FleetError

DELAYS_S = (0.0, 5.0, 15.0, 30.0)
"""Before the first restart, the second, ... Ray takes some 15 s to notice that a node is dead, and
until then places replacements on it; the waits together outlast that."""


class State(enum.Enum):
    """Where a worker is in its life."""

    LOADING = "loading"
    READY = "ready"
    GIVEN_UP = "given up"


@dataclass
class WorkerHealth:
    """One worker: how often it was restarted, and why it was lost last."""

    state: State = State.LOADING
    restarts: int = 0
    last_cause: str = ""


@dataclass
class FleetHealth:
    """Bounded restarts per worker. loading -> ready -> (lost) loading -> ... -> given up."""

    name: str
    size: int
    max_restarts: int
    workers: list[WorkerHealth] = field(init=False)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"fleet {self.name}: size {self.size} is below 1")
        self.workers = [WorkerHealth() for _ in range(self.size)]

    @property
    def restarts(self) -> int:
        """Restarts of all workers together."""
        return sum(worker.restarts for worker in self.workers)

    def ready(self, index: int) -> None:
        """The worker answers."""
        self.workers[index].state = State.READY

    def lost(self, index: int, cause: str) -> float:
        """The worker is gone. Returns the seconds to wait before its restart; raises `FleetError`
        once the restarts are used up."""
        worker = self.workers[index]
        worker.last_cause = cause
        if worker.state is State.GIVEN_UP or worker.restarts >= self.max_restarts:
            worker.state = State.GIVEN_UP
            raise FleetError(
                f"fleet {self.name}: worker {index} was lost after {worker.restarts} of "
                f"{self.max_restarts} restarts; last cause: {cause}"
            )
        worker.state = State.LOADING
        worker.restarts += 1
        return DELAYS_S[min(worker.restarts, len(DELAYS_S)) - 1]
