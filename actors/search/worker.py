"""The search workers: an engine, or one shard of one, behind the calls of an actor."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from actors.search.engine import Partial, PubMedEngine, QueryPlan
from actors.search.engines import open_engine
from actors.search.index import open_index
from actors.search.lookup import Statistics
from actors.search.sharding import Facts, Questions, answer
from actors.search.types import InfraFailure, SearchOutcome, SearchRequest

_log = logging.getLogger(__name__)


class SearchWorker:
    """Opens the index at `index_path` and answers batches with `threads` threads."""

    def __init__(self, index_path: str | Path, threads: int = 1, kind: str = "pubmed") -> None:
        self._engine = open_engine(index_path, kind)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def ping(self) -> str:
        """Answers when the worker can: `ok`."""
        return "ok"

    def search(self, requests: list[SearchRequest]) -> list[SearchOutcome]:
        """One outcome a request, in order. Our own failures are InfraFailures, never zero hits."""
        if self._pool is None:
            return self._search_batch(requests)
        return list(self._pool.map(lambda request: self._search_batch([request])[0], requests))

    def document_frequencies(self, words: list[str]) -> list[int]:
        """Number of documents that hold each word in any searchable text field."""
        return [self._engine.document_frequency(word) for word in words]

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id."""
        return self._engine.fetch(ids)

    def _search_batch(self, requests: list[SearchRequest]) -> list[SearchOutcome]:
        try:
            return self._engine.search_many(requests)
        except Exception as error:
            if len(requests) == 1:
                _log.exception("search failed")
                return [InfraFailure(f"{type(error).__name__}: {error}")]
        return [self._search_batch([request])[0] for request in requests]


class ShardWorker:
    """Answers for one shard of an index: facts for planning, and what it holds of plans."""

    def __init__(self, index_path: str | Path, shard: int) -> None:
        self._index = open_index(index_path, shard=shard)
        self._engine = PubMedEngine(self._index)

    def ping(self) -> str:
        """Answers when the worker can: `ok`."""
        return "ok"

    def describe(self) -> tuple[frozenset[str], Statistics]:
        """The columns of the shard, and its statistics."""
        return self._index.stores, self._index.statistics()

    def facts(self, questions: Questions) -> Facts:
        """What this shard knows."""
        return answer(questions, self._index)

    def run(self, plans: Sequence[QueryPlan]) -> list[Partial | InfraFailure]:
        """What this shard holds of each plan, in their order."""
        return [self._run_one(plan) for plan in plans]

    def document_frequencies(self, words: Sequence[str]) -> list[int]:
        """Number of records of the shard that hold each word in any searchable text field."""
        return [self._engine.document_frequency(word) for word in words]

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str] | None]:
        """(title, abstract) of each id; None for those of other shards."""
        there = self._index.ids[list(self._index.ordinals(ids))]
        found = dict(zip(there, self._index.fetch(there), strict=True))
        return [found.get(id_) for id_ in ids]

    def _run_one(self, plan: QueryPlan) -> Partial | InfraFailure:
        try:
            return self._engine.run(plan)
        except Exception as error:
            _log.exception("search failed on a shard")
            return InfraFailure(f"{type(error).__name__}: {error}")
