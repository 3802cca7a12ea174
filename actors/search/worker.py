"""The search worker: an engine behind the calls of an actor, which callers make of it."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from actors.search.engine import PubMedEngine
from actors.search.index import open_index
from actors.search.types import InfraFailure, SearchOutcome, SearchRequest

_log = logging.getLogger(__name__)


class SearchWorker:
    """Opens the index at `index_path` and answers batches with `threads` threads."""

    def __init__(self, index_path: str | Path, threads: int = 1) -> None:
        self._engine = PubMedEngine(open_index(index_path))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def ping(self) -> str:
        """Answers when the worker can: `ok`."""
        return "ok"

    def search(self, requests: list[SearchRequest]) -> list[SearchOutcome]:
        """One outcome a request, in order. Our own failures are InfraFailures, never zero hits."""
        run = map if self._pool is None else self._pool.map
        return list(run(self._search_one, requests))

    def document_frequencies(self, words: list[str]) -> list[int]:
        """Number of records that hold each word in any searchable text field."""
        return [self._engine.document_frequency(word) for word in words]

    def _search_one(self, request: SearchRequest) -> SearchOutcome:
        try:
            return self._engine.search(request)
        except Exception as error:
            _log.exception("search failed")
            return InfraFailure(f"{type(error).__name__}: {error}")
