"""Rewards of orders, asked for like a function."""

from collections.abc import Sequence

from pipelines.corag.driver import run_searches
from pipelines.corag.jobs import SearchJob
from pipelines.corag.local_scoring import Scoring
from pipelines.corag.types import Order, Search, Selection
from pipelines.data.chunks import Chunk


class AskingScorer:
    """`scorer(orders)` gives the reranker's rewards for one query's chunks, in order; each order is
    scored once. For callers that have one query and wait for it."""

    def __init__(
        self, scoring: Scoring, reranker: str, query: str, chunks: Sequence[Chunk]
    ) -> None:
        self._scoring, self._reranker = scoring, reranker
        self._query, self._chunks = query, chunks
        self.scored = 0
        """Orders that were sent to the reranker so far."""

    def __call__(self, orders: Sequence[Order]) -> list[float]:
        """The rewards, in the order of `orders`. Raises `SearchError` if they cannot be had."""
        rewards: list[float] = []

        def ask() -> Search:
            rewards.extend((yield orders))
            return Selection((), 0, 0.0)

        job = SearchJob("ask", self._query, self._chunks, self._reranker, ask())
        for outcome in run_searches([job], self._scoring, concurrency=1):
            self.scored += outcome.scored
        return rewards
