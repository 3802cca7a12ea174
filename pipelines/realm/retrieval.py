"""Searches of many chains at once, in batches, on a thread of their own."""

import asyncio
import logging
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from actors.search.ranking.folder import open_engine
from actors.search.types import (
    InfraFailure,
    QueryError,
    SearchOutcome,
    SearchRequest,
    SearchResult,
)
from pipelines.realm.types import Passage

if TYPE_CHECKING:
    from actors.search.dense.embed import Embedder
    from actors.search.ranking.bm25 import Bm25

_log = logging.getLogger(__name__)

MAX_BATCH = 64
TIMEOUT_S = 30.0
_KEPT_PASSAGES = 50_000

Found = tuple[Passage, ...] | InfraFailure


class SearchEngine(Protocol):
    """What runs queries over passages."""

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""
        ...

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id."""
        ...


@dataclass(slots=True)
class RetrieverCounts:
    """What a retriever did. `seconds` are those the engine worked."""

    searches: int = 0
    batches: int = 0
    failures: int = 0
    seconds: float = 0.0


class SearchingRetriever:
    """A `Retriever` over an engine that blocks.

    Searches that come while one batch runs make the next one, of at most `max_batch`; they may
    come from any event loop. Whatever fails is an `InfraFailure` of the searches that it touched,
    also an engine that does not answer in `timeout_s`: it is then left alone on its thread, and
    later searches try it again on a new one if `again` allows (an engine that serves one thread
    only must not). Dense engines may give scores that differ in their last digits with what else
    is in the batch. `on_close` is called once the last search is through.
    """

    def __init__(
        self,
        engine: SearchEngine,
        *,
        max_batch: int = MAX_BATCH,
        timeout_s: float = TIMEOUT_S,
        again: bool = True,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        if max_batch < 1:
            raise ValueError(f"max_batch is {max_batch}, below 1")
        if not timeout_s > 0:
            raise ValueError(f"timeout_s is {timeout_s}, not above 0")
        self.counts = RetrieverCounts()
        self._engine, self._max_batch = engine, max_batch
        self._timeout_s, self._again = timeout_s, again
        self._on_close = on_close
        self._passages: dict[str, tuple[str, str]] = {}
        self._waiting: queue.SimpleQueue[_Search | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._generation = 0
        self._running: list[_Search] = []
        self._began = 0.0
        self._hung = self._started = self._closed = False

    async def search(self, query: str, k: int) -> Found:
        """The best `k` passages, best first. A query that has no words, or that the engine cannot
        read, brings nothing."""
        if k < 1 or not query.strip():
            return ()
        loop = asyncio.get_running_loop()
        search = _Search(SearchRequest(query, k, order="relevance"), loop, loop.create_future())
        with self._lock:
            if self._closed:
                return InfraFailure("the index is closed")
            self.counts.searches += 1
            self._ensure_thread()
            self._waiting.put(search)
        try:
            return await asyncio.wait_for(search.future, self._timeout_s)
        except TimeoutError:
            with self._lock:
                self.counts.failures += 1
                self._hung = self._hung or search in self._running
            return InfraFailure(f"the index gave no answer in {self._timeout_s:g} s")
        finally:
            search.left = True

    def __enter__(self) -> "SearchingRetriever":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the thread once it has answered what waits; later searches are InfraFailures.
        May be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._started:
                self._waiting.put(None)
                return
        if self._on_close is not None:
            self._on_close()

    def _ensure_thread(self) -> None:
        """A thread that works; called with the lock held."""
        late = bool(self._running) and time.monotonic() - self._began > self._timeout_s
        hung = self._hung or late
        if self._started and not (hung and self._again):
            return
        if hung:
            _log.warning("search: no answer in %s s; a new thread tries on", self._timeout_s)
            self._waiting, old = queue.SimpleQueue(), self._waiting
            with suppress(queue.Empty):
                while True:
                    self._waiting.put(old.get_nowait())
        self._generation += 1
        self._running, self._hung, self._started = [], False, True
        thread = threading.Thread(
            target=self._work,
            args=(self._waiting, self._generation),
            name="search",
            daemon=True,  # a search that hangs must not keep the process
        )
        thread.start()

    def _work(self, waiting: "queue.SimpleQueue[_Search | None]", generation: int) -> None:
        while True:
            batch, ends = _next_batch(waiting, self._max_batch)
            batch = [search for search in batch if not search.left]
            if batch:
                began = time.monotonic()
                with self._lock:
                    if generation == self._generation:
                        self._running, self._began = batch, began
                found = self._run([search.request for search in batch])
                with self._lock:
                    if generation == self._generation:
                        self._running, self._hung = [], False
                    self.counts.batches += 1
                    self.counts.seconds += time.monotonic() - began
                    self.counts.failures += sum(isinstance(each, InfraFailure) for each in found)
                _deliver(batch, found)
            if ends and self._on_close is not None:
                self._on_close()
            if ends or generation != self._generation:
                return

    def _run(self, requests: list[SearchRequest]) -> list[Found]:
        """One answer a request; a failing batch is tried again request by request."""
        unique = list(dict.fromkeys(requests))
        try:
            outcomes = self._engine.search_many(unique)
            self._keep(
                [id for each in outcomes if isinstance(each, SearchResult) for id in each.ids]
            )
            answers = {
                request: self._passages_of(outcome)
                for request, outcome in zip(unique, outcomes, strict=True)
            }
        except Exception as error:
            if len(unique) == 1:
                _log.exception("search failed")
                return [InfraFailure(f"{type(error).__name__}: {error}")] * len(requests)
            answers = {request: self._run([request])[0] for request in unique}
        return [answers[request] for request in requests]

    def _keep(self, ids: Sequence[str]) -> None:
        missing = [id for id in dict.fromkeys(ids) if id not in self._passages]
        if not missing:
            return
        if len(self._passages) + len(missing) > _KEPT_PASSAGES:
            self._passages = {}
            missing = list(dict.fromkeys(ids))
        self._passages |= dict(zip(missing, self._engine.fetch(missing), strict=True))

    def _passages_of(self, outcome: SearchOutcome) -> Found:
        if isinstance(outcome, InfraFailure):
            return outcome
        if isinstance(outcome, QueryError):
            return ()
        scores = outcome.scores or (0.0,) * len(outcome.ids)
        return tuple(
            Passage(id, *self._passages[id], score)
            for id, score in zip(outcome.ids, scores, strict=True)
        )


@dataclass(slots=True, eq=False)
class _Search:
    request: SearchRequest
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Found]"
    left: bool = False
    """Nobody waits for it any more."""


def _next_batch(
    waiting: "queue.SimpleQueue[_Search | None]", most: int
) -> tuple[list[_Search], bool]:
    """What waits, at least one and at most `most`; whether it is the last."""
    batch: list[_Search] = []
    while len(batch) < most:
        try:
            search = waiting.get(block=not batch)
        except queue.Empty:
            break
        if search is None:
            return batch, True
        batch.append(search)
    return batch, False


def _deliver(batch: Sequence[_Search], found: Sequence[Found]) -> None:
    """Sets the futures, each in its own loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Search, Found]]] = defaultdict(list)
    for search, answer in zip(batch, found, strict=True):
        by_loop[search.loop].append((search, answer))
    for loop, pairs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_set, pairs)
        except RuntimeError:  # the loop was closed meanwhile: nobody waits
            _log.debug("search: %d answers for a closed loop", len(pairs))


def _set(pairs: Sequence[tuple[_Search, Found]]) -> None:
    for search, answer in pairs:
        if not search.future.done():
            search.future.set_result(answer)


def open_retriever(
    folder: str | Path,
    kind: str = "bm25",
    *,
    corpus_hash: str | None = None,
    bm25: "Bm25 | None" = None,
    embedder: "Embedder | None" = None,
    model: str | Path | None = None,
    index: str = "flat",
    weights: Sequence[float] | None = None,
    max_batch: int = MAX_BATCH,
    timeout_s: float = TIMEOUT_S,
) -> SearchingRetriever:
    """A retriever over the index in `folder`; `kind` is bm25, dense or hybrid.

    Dense search embeds queries with `embedder`, or loads `model` (default: where the index says
    its vectors came from). Raises `PassagesError` or `DenseError` for an index that is missing, of
    another kind or corpus, or has no vectors.
    """
    engine: Any = open_engine(
        folder,
        kind,
        corpus_hash=corpus_hash,
        bm25=bm25,
        embedder=embedder,
        model=model,
        index=index,
        weights=weights,
    )
    return SearchingRetriever(engine, max_batch=max_batch, timeout_s=timeout_s)
