"""A search on its way."""

import time
from collections.abc import Sequence

from actors.expansion.types import OrderScore
from pipelines.corag.jobs import SearchJob, SearchOutcome
from pipelines.corag.score_cache import OrderKeys
from pipelines.corag.types import Order, Selection


class Running:
    """What one search asked for, what of it is still missing, and what it cost so far."""

    def __init__(self, job: SearchJob, fingerprint: str) -> None:
        self.job = job
        self.keys = OrderKeys(fingerprint, job.query, job.chunks)
        self.missing = self.scored = self.cached = self.truncated = 0
        self.closed = False
        self._rewards: list[float] | None = None
        self._selection: Selection | None = None
        self._started = time.monotonic()
        self._asked_at = self._started
        self._waited = 0.0

    def next_orders(self) -> Sequence[Order] | None:
        """Sends the rewards and takes what the search asks for next; None if it has ended. Raises
        what the search raises, and `ValueError` for an order of chunks that there are not."""
        try:
            if self._rewards is None:
                orders = next(self.job.search)
            else:
                self._waited += time.monotonic() - self._asked_at
                orders = self.job.search.send(self._rewards)
        except StopIteration as stop:
            self._selection = stop.value
            return None
        self._asked_at = time.monotonic()
        count = len(self.job.chunks)
        for order in orders:
            if not all(0 <= position < count for position in order):
                raise ValueError(f"the search asked for order {order} of {count} chunks")
        return orders

    def expect(self, count: int) -> None:
        """So many scores are missing now."""
        self._rewards = [0.0] * count
        self.missing = count

    def take(self, place: int, score: OrderScore) -> None:
        """The score of the order that was asked for in that place."""
        assert self._rewards is not None
        self._rewards[place] = score.value
        self.missing -= 1
        self.truncated += score.truncated

    def take_nothing(self, place: int) -> None:
        """No chunk has no utility; no reranker is asked for that."""
        self.missing -= 1

    def outcome(self) -> SearchOutcome:
        """How the search ended."""
        assert self._selection is not None
        return SearchOutcome(
            key=self.job.key,
            selection=self._selection,
            scored=self.scored,
            cached=self.cached,
            truncated=self.truncated,
            seconds=time.monotonic() - self._started,
            rerank_s=self._waited,
        )

    def close(self) -> None:
        """Ends the search, wherever it is."""
        self.closed = True
        self.job.search.close()
