"""Searches of the pooled passages on Ray actors, lost ones replaced."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import ray

from actors.search.engines import PASSAGES
from actors.search.ranking.failures import PassagesError
from actors.search.ranking.folder import read_passages_manifest
from actors.search.types import SearchOutcome, SearchRequest
from actors.search.worker import SearchWorker
from cluster.fleet import Fleet
from pipelines.realm.retrieval import MAX_BATCH, TIMEOUT_S, SearchingRetriever


class FleetEngine:
    """A search engine on `workers` actors, each with the whole index, which every node must be able
    to read. Serves one thread at a time.

    Raises `PassagesError` for a folder without an index, `FleetError` where workers cannot start.
    """

    def __init__(
        self,
        folder: str | Path,
        kind: str = "bm25",
        workers: int = 1,
        *,
        cpus: float = 1.0,
        max_restarts: int = 3,
        start_timeout_s: float = 600.0,
        call_timeout_s: float = TIMEOUT_S,
    ) -> None:
        if kind not in PASSAGES:
            raise PassagesError(f"engine {kind!r} is none of {', '.join(PASSAGES)}")
        read_passages_manifest(folder)
        where = str(Path(folder).absolute())
        actor: Any = ray.remote(SearchWorker)
        self.fleet = Fleet(
            "passages",
            lambda _: actor.options(num_cpus=cpus).remote(where, 1, kind),
            workers,
            max_restarts=max_restarts,
            start_timeout_s=start_timeout_s,
            call_timeout_s=call_timeout_s,
        )

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order, each worker with a part of them. Raises
        `FleetError` once a worker's restarts are used up."""
        size = len(self.fleet)
        bounds = [len(requests) * n // size for n in range(size + 1)]
        parts = [list(requests[a:b]) for a, b in pairwise(bounds) if a < b]
        calls = [self.fleet.submit("search", part) for part in parts]
        return [outcome for part in self.fleet.gather(calls) for outcome in part]

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id."""
        found: list[tuple[str, str]] = self.fleet.submit("fetch", list(ids)).result()
        return found

    def close(self) -> None:
        """Ends the workers. May be called twice."""
        self.fleet.shutdown()


def open_retriever_on_ray(
    folder: str | Path,
    kind: str = "bm25",
    *,
    workers: int = 1,
    cpus: float = 1.0,
    max_batch: int = MAX_BATCH,
    timeout_s: float = TIMEOUT_S,
) -> SearchingRetriever:
    """Like `pipelines.realm.retrieval.open_retriever`, on Ray, with the index's own settings.
    `close` ends the workers."""
    engine = FleetEngine(folder, kind, workers, cpus=cpus, call_timeout_s=timeout_s)
    return SearchingRetriever(
        engine, max_batch=max_batch, timeout_s=timeout_s, again=False, on_close=engine.close
    )
