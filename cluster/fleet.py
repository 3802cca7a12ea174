"""A fleet: a pool of equal actors whose dead or hung workers are replaced and their work redone.

Work is done *at least once*: a method may run again on the same items after a worker was lost, so
methods must be idempotent (same items, same result). An exception raised inside a method is the
caller's and is raised as it is; it never counts as a worker's death. A fleet belongs to one thread.
"""

import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import ray
from ray.actor import ActorHandle

from cluster.failures import CONSTRUCTOR_FAILED, FleetError, cause_of, is_worker_lost
from cluster.fleet_calls import Pending, Slot, Stream
from cluster.fleet_health import FleetHealth

log = logging.getLogger(__name__)
T = TypeVar("T")

IN_FLIGHT = 2  # calls per worker that `map` keeps waiting: one runs, one is ready to start
TICK_S = 0.5
LOADING_S = 30.0


class Fleet:
    """`size` actors made by `make(index)`; a lost one is made again, at most `max_restarts` times.

    `on_start(actor)` runs on every started or restarted actor before it gets work (e.g. push the
    current weights); what it waits for, it must bound itself. `start_timeout_s` bounds a start
    (scheduling and constructor), `call_timeout_s` the silence of a worker that owes an answer.
    Raises `FleetError` if a worker cannot be started.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[int], ActorHandle],
        size: int,
        *,
        max_restarts: int = 3,
        start_timeout_s: float = 600.0,
        call_timeout_s: float = 900.0,
        on_start: Callable[[ActorHandle], None] | None = None,
    ) -> None:
        self.name = name
        self.call_timeout_s = call_timeout_s
        self._make, self._on_start, self._start_timeout_s = make, on_start, start_timeout_s
        self._health = FleetHealth(name, size, max_restarts)
        self._next = 0
        # All constructors run side by side; then each is waited for.
        self._slots: list[Slot] = []
        try:
            for index in range(size):
                self._slots.append(Slot(index, make(index)))
            for slot in self._slots:
                self._bring_up(slot)
        except BaseException:
            self.shutdown()
            raise

    def __len__(self) -> int:
        return len(self._slots)

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()

    @property
    def restarts(self) -> int:
        """Restarts so far, all workers together."""
        return self._health.restarts

    def submit(self, method: str, *args: Any) -> Pending:
        """Hands one call to the worker that owes least, without waiting."""
        turns = self._slots[self._next :] + self._slots[: self._next]
        slot = min(turns, key=lambda slot: len(slot.owed))
        self._next = (slot.index + 1) % len(self._slots)
        return Pending(self, slot, method, args)

    def gather(self, calls: Sequence[Pending], *, timeout_s: float | None = None) -> list[Any]:
        """The results of calls, in their order."""
        return [call.result(timeout_s) for call in calls]

    def map(
        self, method: str, items: Sequence[Any], *, timeout_s: float | None = None
    ) -> list[Any]:
        """`method(item)` for every item, spread over the workers, few in flight each; results in
        the order of `items`. A worker that owes an answer and is silent for `timeout_s` (default:
        the fleet's) is replaced."""
        limit = self.call_timeout_s if timeout_s is None else timeout_s
        results: list[Any] = [None] * len(items)
        todo = iter(enumerate(items))
        live: dict[Pending, int] = {}
        silent = [0.0] * len(self)
        exhausted = False
        while True:
            while not exhausted and len(live) < IN_FLIGHT * len(self):
                step = next(todo, None)
                if step is None:
                    exhausted = True
                else:
                    live[self.submit(method, step[1])] = step[0]
            if not live:
                return results
            for call in self._first_done(list(live), silent, method, limit):
                if call.settle():
                    results[live.pop(call)] = call.result()

    def broadcast(self, method: str, *args: Any, timeout_s: float | None = None) -> list[Any]:
        """`method(*args)` on every worker: all answer, or the first error is raised after all were
        heard. A lost worker is replaced, brought up by `on_start`, and called again. Pass large
        arguments as `ray.put` references."""
        calls = [Pending(self, slot, method, args) for slot in self._slots]
        results, errors = [], []
        for call in calls:
            try:
                results.append(call.result(timeout_s))
            except FleetError:
                raise
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return results

    def stream(
        self,
        method: str,
        items: Sequence[T],
        *args: Any,
        key: Callable[[T], str],
        timeout_s: float | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """Splits `items` into one run per worker and calls the generator `method(items, *args)`
        there, which yields `(key, value)` once per item, in any order; passes them on as they come.

        After a loss, the items whose key has not come go to the replacement; a key comes out once.
        A worker from which nothing came for `timeout_s` of waiting is replaced. Raises `ValueError`
        for two items of one key, `FleetError` if a worker ends without answering for all.
        """
        if len({key(item) for item in items}) != len(items):
            raise ValueError(f"fleet {self.name}: two items have the same key")
        limit = self.call_timeout_s if timeout_s is None else timeout_s
        open_streams = [
            Stream(slot, method, args, {key(item): item for item in part})
            for slot, part in zip(self._slots, _split(items, len(self)), strict=True)
            if part
        ]
        try:
            while open_streams:
                started = time.monotonic()
                ready, _ = ray.wait(
                    [s.generator for s in open_streams],
                    num_returns=1,
                    timeout=TICK_S,
                    fetch_local=False,
                )
                waited = time.monotonic() - started
                for stream in list(open_streams):
                    if stream.generator not in ready:
                        stream.silent_s += waited
                        if stream.silent_s > limit:
                            cause = f"nothing from {method} in {limit} s"
                            self.lost(stream.slot, stream.generation, cause)
                            stream.send()
                        continue
                    try:
                        name, value = ray.get(next(stream.generator), timeout=limit)
                    except StopIteration:
                        open_streams.remove(stream)
                        if stream.left:
                            raise FleetError(
                                f"fleet {self.name}: {method} ended without an answer for "
                                f"{len(stream.left)} items, e.g. {next(iter(stream.left))}"
                            ) from None
                    except Exception as error:
                        if not is_worker_lost(error):
                            raise
                        self.lost(stream.slot, stream.generation, cause_of(error))
                        stream.send()
                    else:
                        stream.silent_s = 0.0
                        if stream.left.pop(name, _ABSENT) is not _ABSENT:
                            yield name, value
        finally:
            for stream in open_streams:
                stream.cancel()

    def pids(self) -> list[int]:
        """Process ids of the workers, for fault injection and profiling."""
        return [slot.pid for slot in self._slots]

    def shutdown(self) -> None:
        """Kills all workers. May be called twice."""
        for slot in self._slots:
            _kill(slot.actor)
        self._slots = []

    def lost(self, slot: Slot, generation: int, cause: str) -> None:
        """Replaces the worker if it is still the one of that generation, and hands its unanswered
        calls to the new one. Raises `FleetError` when its restarts are used up."""
        if generation != slot.generation:
            return
        self._restart(slot, cause)
        self._bring_up(slot)
        for call in list(slot.owed):
            try:
                call.fetch(timeout_s=0)  # answered before the loss: kept
            except Exception:
                call.send()

    def _restart(self, slot: Slot, cause: str) -> None:
        delay = self._health.lost(slot.index, cause)
        log.warning("fleet %s: worker %d is replaced: %s", self.name, slot.index, cause)
        _kill(slot.actor)
        if not cause.startswith(CONSTRUCTOR_FAILED):  # waiting does not cure that
            time.sleep(delay)
        slot.generation += 1
        slot.actor = self._make(slot.index)

    def _bring_up(self, slot: Slot) -> None:
        """Waits until the worker is ready, through as many restarts as it may have."""
        while True:
            try:
                slot.pid = self._await_ready(slot)
                if self._on_start is not None:
                    self._on_start(slot.actor)
                break
            except ray.exceptions.GetTimeoutError:
                cause = f"not ready within {self._start_timeout_s} s (no resources, or loading)"
            except Exception as error:
                cause = cause_of(error)
            self._restart(slot, cause)
        self._health.ready(slot.index)

    def _await_ready(self, slot: Slot) -> int:
        """The worker's process id, once its constructor is through. Loading is not death: it is
        said every `LOADING_S`, and bounded by `start_timeout_s` only."""
        # A lambda travels by value: the worker need not be able to import this module.
        ref = slot.actor.__ray_call__.remote(lambda _: os.getpid())
        started = time.monotonic()
        while True:
            left = self._start_timeout_s - (time.monotonic() - started)
            try:
                return int(ray.get(ref, timeout=max(0.0, min(LOADING_S, left))))
            except ray.exceptions.GetTimeoutError:
                if left <= LOADING_S:
                    raise
                log.info("fleet %s: worker %d is still loading", self.name, slot.index)

    def _first_done(
        self, calls: list[Pending], silent: list[float], method: str, limit: float
    ) -> list[Pending]:
        """The calls that have an answer; counts each worker's silence and replaces the hung."""
        started = time.monotonic()
        ready, _ = ray.wait([call.ref for call in calls], timeout=TICK_S)
        waited = time.monotonic() - started
        done = [call for call in calls if call.ref in ready]
        heard = {call.slot.index for call in done}
        for slot in {call.slot for call in calls}:
            silent[slot.index] = 0.0 if slot.index in heard else silent[slot.index] + waited
            if silent[slot.index] > limit:
                self.lost(slot, slot.generation, f"no answer to {method} in {limit} s")
                silent[slot.index] = 0.0
        return done


_ABSENT = object()


def _split(items: Sequence[T], parts: int) -> list[Sequence[T]]:
    """Neighbours stay together: samples of one prompt share a worker's prefix cache."""
    bounds = [len(items) * i // parts for i in range(parts + 1)]
    return [items[a:b] for a, b in itertools.pairwise(bounds)]


def _kill(actor: ActorHandle) -> None:
    try:
        ray.kill(actor, no_restart=True)
    except Exception as error:  # already gone, or Ray is down
        log.debug("kill: %s", error)
