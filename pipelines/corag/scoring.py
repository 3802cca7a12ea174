"""Scoring on Ray: a fleet of expansion workers per reranker, started when it is first used."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import ray

from actors.expansion.types import QueryOrders, RerankerError
from cluster.failures import FleetError, cause_of
from cluster.fleet import Fleet
from cluster.fleet_calls import Pending
from pipelines.corag.local_scoring import LocalScoring, ScoreCall, Scores, known
from pipelines.corag.score_cache import ScoreCache

__all__ = ["LocalScoring", "ScoringFleets", "ScoringOptions"]

CHECK_S = 60.0


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """Size and limits of each reranker's fleet. `cpus` and `gpus` are per worker."""

    workers: int = 2
    cpus: float = 1.0
    gpus: float = 0.0
    call_orders: int = 64
    """The most orders of a call: enough to fill the reranker's batches."""
    least_orders: int = 8
    """Fewer waiting orders than this are not split to keep more workers busy."""
    max_restarts: int = 3
    start_timeout_s: float = 600.0
    call_timeout_s: float = 900.0
    """A worker that owes scores and gives none for so long is replaced."""

    def __post_init__(self) -> None:
        faults = [
            f"{name} is {value}, must be at least {least}"
            for name, value, least in (
                ("workers", self.workers, 1),
                ("cpus", self.cpus, 0),
                ("gpus", self.gpus, 0),
                ("least_orders", self.least_orders, 1),
                ("call_orders", self.call_orders, self.least_orders),
                ("max_restarts", self.max_restarts, 0),
            )
            if not value >= least
        ]
        if faults:
            raise ValueError("scoring: " + "; ".join(faults))


class ScoringFleets:
    """Rerankers by name, each on `options.workers` workers spread over the nodes.

    `specs` says what each worker is made from (a `RerankerSpec` or a name of the catalog),
    `reranker_options` what else its reranker is given.
    `worker` is the actor's class, made as `worker(spec, options)`. Lost and hung workers are
    replaced and their calls redone; once the restarts are used up `FleetError` is raised. A
    replacement whose reranker has another fingerprint (files that changed meanwhile) is not taken.
    Used from one thread.
    """

    def __init__(
        self,
        specs: Mapping[str, Any],
        options: ScoringOptions | None = None,
        *,
        reranker_options: Mapping[str, Mapping[str, Any]] | None = None,
        cache: ScoreCache | None = None,
        worker: type | None = None,
    ) -> None:
        self.options = options or ScoringOptions()
        self.cache = ScoreCache() if cache is None else cache
        self.call_orders, self.least_orders = self.options.call_orders, self.options.least_orders
        self.fleets: dict[str, Fleet] = {}
        self._specs, self._reranker_options = dict(specs), dict(reranker_options or {})
        self._worker = worker
        self._fingerprints: dict[str, str] = {}
        self._silent: dict[tuple[str, int], float] = {}
        self._exit = ExitStack()

    def __enter__(self) -> "ScoringFleets":
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """Ends all workers. May be called twice."""
        self._exit.close()
        self.fleets.clear()

    @property
    def restarts(self) -> int:
        """Restarts so far, of all workers of all rerankers."""
        return sum(fleet.restarts for fleet in self.fleets.values())

    def start(self, *rerankers: str) -> None:
        """Starts the fleets of these rerankers now instead of at their first use."""
        for name in rerankers:
            self._fleet(name)

    def fingerprint(self, reranker: str) -> str:
        """See `Scoring`."""
        self._fleet(reranker)
        return self._fingerprints[reranker]

    def workers(self, reranker: str) -> int:
        """See `Scoring`."""
        return len(self._fleet(reranker))

    def submit(self, reranker: str, batch: Sequence[QueryOrders]) -> "FleetCall":
        """Hands the batch to the worker that owes least."""
        return FleetCall(reranker, self._fleet(reranker).submit("score", list(batch)))

    def wait(self, calls: Sequence[ScoreCall], timeout_s: float) -> list[ScoreCall]:
        """See `Scoring`. Replaces the workers that it finds lost, and those that are silent for
        too long; waits for their replacements."""
        sent = [call for call in calls if isinstance(call, FleetCall)]
        if not sent:
            return []
        refs = [call.pending.ref for call in sent]
        started = time.monotonic()
        ready, _ = ray.wait(refs, timeout=timeout_s)
        waited = time.monotonic() - started
        if ready:
            ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
        done = [call for call, ref in zip(sent, refs, strict=True) if ref in ready]
        self._replace_hung(sent, {call.place for call in done}, waited)
        return [call for call in done if call.pending.settle()]

    def _replace_hung(
        self, sent: Sequence["FleetCall"], heard: set[tuple[str, int]], waited: float
    ) -> None:
        limit, silent = self.options.call_timeout_s, {}
        for place, call in {call.place: call for call in sent}.items():
            silent[place] = 0.0 if place in heard else self._silent.get(place, 0.0) + waited
            if silent[place] > limit:
                slot = call.pending.slot
                cause = f"no scores in {limit} s"
                self.fleets[call.reranker].lost(slot, slot.generation, cause)
                silent[place] = 0.0
        self._silent = silent

    def _fleet(self, name: str) -> Fleet:
        fleet = self.fleets.get(name)
        if fleet is None:
            fleet = self.fleets[name] = self._exit.enter_context(self._start(name))
        return fleet

    def _start(self, name: str) -> Fleet:
        spec, options = known(self._specs, name), self.options
        actor = ray.remote(self._worker or _expansion_worker()).options(
            num_cpus=options.cpus, num_gpus=options.gpus, scheduling_strategy="SPREAD"
        )
        extra = dict(self._reranker_options.get(name, {}))

        def check(worker: Any) -> None:
            found = _fingerprint(ray.get(worker.facts.remote(), timeout=CHECK_S))
            expected = self._fingerprints.setdefault(name, found)
            if found != expected:
                raise RerankerError(
                    f"the reranker {name} changed under the run: its fingerprint was {expected} "
                    f"and is {found}; are its files the same on all nodes?"
                )

        return Fleet(
            f"expansion-{name}",
            lambda _: actor.remote(spec, extra),
            options.workers,
            max_restarts=options.max_restarts,
            start_timeout_s=options.start_timeout_s,
            call_timeout_s=options.call_timeout_s,
            on_start=check,
        )


class FleetCall:
    """A batch at a worker of a fleet."""

    def __init__(self, reranker: str, pending: Pending) -> None:
        self.reranker, self.pending = reranker, pending

    @property
    def place(self) -> tuple[str, int]:
        """The reranker, and which of its workers."""
        return self.reranker, self.pending.slot.index

    def result(self) -> Scores:
        """See `ScoreCall`."""
        try:
            scores: Scores = self.pending.result()
        except FleetError:
            raise
        except Exception as error:
            raise RerankerError(f"{self.reranker}: {cause_of(error)}") from error
        return scores


def _expansion_worker() -> type:
    from actors.expansion.worker import ExpansionWorker

    return ExpansionWorker


def _fingerprint(facts: Any) -> str:
    return str(facts["fingerprint"] if isinstance(facts, Mapping) else facts.fingerprint)
