"""Calls that a fleet owes its caller: single ones (`Pending`) and streams (`Stream`)."""

import logging
import weakref
from typing import Any, Protocol

import ray
from ray.actor import ActorHandle

from cluster.failures import cause_of, is_worker_lost

log = logging.getLogger(__name__)


class Slot:
    """A place in the fleet: the actor that fills it now, and the calls it owes. `generation` counts
    the actors that filled it before."""

    def __init__(self, index: int, actor: ActorHandle) -> None:
        self.index = index
        self.actor = actor
        self.generation = 0
        self.pid = 0
        self.owed: weakref.WeakSet[Pending] = weakref.WeakSet()


class Owner(Protocol):
    """The fleet, as its calls see it."""

    call_timeout_s: float

    def lost(self, slot: Slot, generation: int, cause: str) -> None:
        """Replaces the worker if it is still of that generation, and resends what it owed."""
        ...


class Pending:
    """A call that was handed to a worker. Keep it until `result()`; it is redone if the worker is
    lost before that."""

    def __init__(self, fleet: Owner, slot: Slot, method: str, args: tuple[Any, ...]) -> None:
        self._fleet, self.slot, self._method, self._args = fleet, slot, method, args
        self._outcome: tuple[Any, BaseException | None] | None = None
        self.send()

    def send(self) -> None:
        """Hands the call to whatever actor fills the slot now."""
        self.generation = self.slot.generation
        self.ref = getattr(self.slot.actor, self._method).remote(*self._args)
        self.slot.owed.add(self)

    def done(self) -> bool:
        """True if `result()` returns or raises without waiting for the worker's answer."""
        return self._outcome is not None or bool(ray.wait([self.ref], timeout=0)[0])

    def fetch(self, timeout_s: float) -> None:
        """Waits for the answer and keeps it. Raises if the worker was lost (`is_worker_lost`) or
        silent (`GetTimeoutError`); an exception of the method is kept as the answer."""
        if self._outcome is not None:
            return
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = (ray.get(self.ref, timeout=timeout_s), None)
        except ray.exceptions.RayTaskError as error:
            outcome = (None, error)
        except ray.exceptions.GetTimeoutError:
            raise
        except Exception as error:
            if is_worker_lost(error):
                raise
            outcome = (None, error)
        self._outcome = outcome
        self.slot.owed.discard(self)

    def settle(self, timeout_s: float = 0.0) -> bool:
        """True if the answer is here within `timeout_s`. If the worker was lost instead, it is
        replaced and the call redone."""
        generation = self.generation
        try:
            self.fetch(timeout_s)
        except ray.exceptions.GetTimeoutError:
            return False
        except Exception as error:
            self._fleet.lost(self.slot, generation, cause_of(error))
        return self._outcome is not None

    def result(self, timeout_s: float | None = None) -> Any:
        """The answer, from a replaced worker if need be. A worker that is silent for `timeout_s`
        (default: the fleet's) from now on is replaced. Raises what the method raised, or
        `FleetError` when the restarts are used up."""
        limit = self._fleet.call_timeout_s if timeout_s is None else timeout_s
        while self._outcome is None:
            generation = self.generation
            if not self.settle(limit) and generation == self.generation:
                self._fleet.lost(self.slot, generation, f"no answer to {self._method} in {limit} s")
        value, error = self._outcome
        if error is not None:
            raise error
        return value


class Stream:
    """One worker's share of a streamed call: the items it owes by key, and for how many seconds of
    waiting it has been silent."""

    def __init__(
        self, slot: Slot, method: str, args: tuple[Any, ...], left: dict[str, Any]
    ) -> None:
        self.slot, self._method, self._args, self.left = slot, method, args, left
        self.send()

    def send(self) -> None:
        """Starts the generator on whatever actor fills the slot now, for what is left."""
        self.silent_s = 0.0
        self.generation = self.slot.generation
        call = getattr(self.slot.actor, self._method).options(num_returns="streaming")
        self.generator = call.remote(list(self.left.values()), *self._args)

    def cancel(self) -> None:
        """Asks the worker to drop what was not started."""
        try:
            ray.cancel(self.generator)
        except Exception as error:
            log.debug("cancel: %s", error)
