"""The search fleet: every shard of an index on one or more actors, spread over the nodes.

The fleet's answers are those of one index over the same records: the same ids in the same order,
totals, warnings and scores. A query is planned once, from what all shards together know, and runs
on one replica of each shard. An index of one shard is searched by its replicas directly, each with
a part of the batch.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import ray

from actors.search.corpus import total
from actors.search.engine import Partial, QueryPlan, merge
from actors.search.engines import MESH_FILE
from actors.search.index import Manifest
from actors.search.mesh import load_mesh
from actors.search.result_cache import ResultCache
from actors.search.sharding import (
    Facts,
    GatheredCorpus,
    Questions,
    ShardPlanner,
    combine,
)
from actors.search.types import InfraFailure, QueryError, SearchOutcome, SearchRequest
from actors.search.worker import SearchWorker, ShardWorker
from cluster.failures import FleetError
from cluster.fleet import Fleet

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class FleetOptions:
    """How a fleet is staffed and when a worker counts as lost."""

    replicas: int = 1
    cpus: float = 1.0
    max_restarts: int = 3
    start_timeout_s: float = 600.0
    call_timeout_s: float = 60.0
    cache_entries: int = 10_000


class Answered:
    """A result that `submit` hands out, for callers of `cluster.fleet.Fleet.submit`."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run

    def result(self, timeout_s: float | None = None) -> Any:
        """The outcome; the workers' own time-out bounds it."""
        del timeout_s
        return self._run()


class SearchFleet:
    """Searches the index at `folder`, which every node must be able to read. Use it with `with`.

    Raises FileNotFoundError or IndexMismatchError for an index that cannot be used, `FleetError`
    when workers cannot be started. It belongs to one thread.
    """

    def __init__(self, folder: Path | str, options: FleetOptions | None = None) -> None:
        self.folder = Path(folder)
        self.options = options or FleetOptions()
        self.manifest = Manifest.load(self.folder)
        self.cache = ResultCache(self.manifest.content_hash, self.options.cache_entries)
        self._exit = ExitStack()
        try:
            self._start()
        except BaseException:
            self.shutdown()
            raise

    def _start(self) -> None:
        shards = range(len(self.manifest.shards))
        if len(shards) == 1:
            actor = ray.remote(SearchWorker)
            self.workers = [self._fleet("search", actor, str(self.folder))]
            return
        actor = ray.remote(ShardWorker)
        self.workers = [
            self._fleet(f"shard-{shard}", actor, str(self.folder), shard) for shard in shards
        ]
        described = [fleet.submit("describe").result() for fleet in self.workers]
        corpus = GatheredCorpus(
            frozenset().union(*(stores for stores, _ in described)),
            total(statistics for _, statistics in described),
        )
        mesh = self.folder / MESH_FILE
        self._planner = ShardPlanner(corpus, self._ask, load_mesh(mesh) if mesh.is_file() else None)

    def _fleet(self, name: str, actor: Any, *arguments: Any) -> Fleet:
        options = self.options
        return self._exit.enter_context(
            Fleet(
                name,
                lambda _: actor.options(num_cpus=options.cpus, scheduling_strategy="SPREAD").remote(
                    *arguments
                ),
                options.replicas,
                max_restarts=options.max_restarts,
                start_timeout_s=options.start_timeout_s,
                call_timeout_s=options.call_timeout_s,
            )
        )

    def __enter__(self) -> "SearchFleet":
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """Ends all workers."""
        self._exit.close()

    @property
    def restarts(self) -> int:
        """Restarts so far, all workers together."""
        return sum(fleet.restarts for fleet in self.workers)

    def submit(self, method: str, *args: Any) -> Answered:
        """`search` or `document_frequencies`, run when its result is asked for."""
        return Answered(lambda: getattr(self, method)(*args))

    def search(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """One outcome a request, in order; equal requests run once.

        Whatever fails that is not the query's fault, a shard that cannot be searched or a request
        that no worker can run, is an InfraFailure of its own request and is not kept.
        """
        outcomes: dict[SearchRequest, SearchOutcome] = {}
        keys = [_hashable(request) for request in requests]
        for request in dict.fromkeys(keys):
            kept = self.cache.get(request)
            if kept is not None:
                outcomes[request] = kept
        missing = [request for request in dict.fromkeys(keys) if request not in outcomes]
        found = self._search_or_fail(missing) if missing else []
        for request, outcome in zip(missing, found, strict=True):
            outcomes[request] = outcome
            self.cache.put(request, outcome)
        return [outcomes[request] for request in keys]

    def document_frequencies(self, words: Sequence[str]) -> list[int]:
        """Number of records that hold each word in any searchable text field."""
        counts = self._everywhere("document_frequencies", list(words))
        return [sum(column) for column in zip(*counts, strict=True)]

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id. KeyError names an id that the index lacks."""
        found = self._everywhere("fetch", list(ids))
        out = []
        for id_, answers in zip(ids, zip(*found, strict=True), strict=True):
            known = next((answer for answer in answers if answer is not None), None)
            if known is None:
                raise KeyError(f"no record {id_!r} in the index of {self.manifest.corpus!r}")
            out.append(known)
        return out

    def _search_or_fail(self, requests: list[SearchRequest]) -> list[SearchOutcome]:
        try:
            return self._search(requests)
        except FleetError as error:
            return [InfraFailure(str(error))] * len(requests)
        except Exception as error:
            if len(requests) == 1:
                _log.exception("search failed")
                return [InfraFailure(f"{type(error).__name__}: {error}")]
        return [self._search_or_fail([request])[0] for request in requests]

    def _search(self, requests: list[SearchRequest]) -> list[SearchOutcome]:
        if len(self.workers) == 1:
            return self._split(self.workers[0], "search", requests)
        plans = self._planner.plan(requests)
        runnable = [plan for plan in plans if isinstance(plan, QueryPlan)]
        by_plan = zip(*self._replicated("run", runnable), strict=True)
        merged = iter([_merged(plan, parts) for plan, parts in zip(runnable, by_plan, strict=True)])
        return [plan if isinstance(plan, QueryError) else next(merged) for plan in plans]

    def _ask(self, questions: Questions) -> Facts:
        return combine(questions, self._everywhere("facts", questions))

    def _everywhere(self, method: str, *args: Any) -> list[Any]:
        """One call to each shard, all at once."""
        calls = [fleet.submit(method, *args) for fleet in self.workers]
        return [call.result() for call in calls]

    def _replicated(self, method: str, items: list[T]) -> list[list[Any]]:
        """All items on every shard, each replica with its part of them."""
        parts = _parts(items, self.options.replicas)
        calls = [[fleet.submit(method, part) for part in parts] for fleet in self.workers]
        return [[row for call in of_shard for row in call.result()] for of_shard in calls]

    def _split(self, fleet: Fleet, method: str, items: list[T]) -> list[Any]:
        calls = [fleet.submit(method, part) for part in _parts(items, self.options.replicas)]
        return [row for call in calls for row in call.result()]


def _merged(plan: QueryPlan, parts: Sequence[Partial | InfraFailure]) -> SearchOutcome:
    failed = next((part for part in parts if isinstance(part, InfraFailure)), None)
    return failed or merge(plan, [part for part in parts if isinstance(part, Partial)])


def _hashable(request: SearchRequest) -> SearchRequest:
    if request.fields is None or isinstance(request.fields, tuple):
        return request
    return replace(request, fields=tuple(request.fields))


def _parts(items: list[T], count: int) -> list[list[T]]:
    bounds = [len(items) * i // count for i in range(count + 1)]
    parts = [items[a:b] for a, b in pairwise(bounds)]
    return [part for part in parts if part]
