"""Outcomes of searches, kept by everything that decides them."""

from collections import OrderedDict
from datetime import date

from actors.search.types import (
    InfraFailure,
    QueryError,
    SearchOutcome,
    SearchRequest,
    SearchResult,
)

Key = tuple[object, ...]


class ResultCache:
    """The last `max_entries` outcomes of one index, with `max_ids` hits together at most.

    A hit takes some 70 bytes. Failures of ours are never kept.
    """

    def __init__(
        self, index_hash: str, max_entries: int = 10_000, max_ids: int = 5_000_000
    ) -> None:
        self.index_hash = index_hash
        self.max_entries, self.max_ids = max_entries, max_ids
        self.hits = self.misses = 0
        self._ids = 0
        self._entries: OrderedDict[Key, SearchOutcome] = OrderedDict()

    def key(self, request: SearchRequest) -> Key:
        """Index, query without needless blanks, dates, K, and how it is read and ordered."""
        return (
            self.index_hash,
            _spaced(request.query),
            request.k,
            request.date_to,
            request.order,
            None if request.fields is None else tuple(request.fields),
            request.syntax,
            request.mapping,
            request.today or date.today(),
            request.history,
        )

    def get(self, request: SearchRequest) -> SearchOutcome | None:
        """What was kept of an equal request. An error's place holds for its own spelling only."""
        key = self.key(request)
        found = self._entries.get(key)
        if found is None or (isinstance(found, QueryError) and found.query != request.query):
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return found

    def put(self, request: SearchRequest, outcome: SearchOutcome) -> None:
        """Keep an outcome that would come again."""
        if isinstance(outcome, InfraFailure) or not self.max_entries:
            return
        key = self.key(request)
        self._ids += _ids(outcome) - _ids(self._entries.pop(key, None))
        self._entries[key] = outcome
        while len(self._entries) > self.max_entries or self._ids > self.max_ids:
            _, gone = self._entries.popitem(last=False)
            self._ids -= _ids(gone)


def _spaced(query: str) -> str:
    """`query` without needless blanks; one of several lines as it is, for lines mean something."""
    return query if len(query.splitlines()) > 1 else " ".join(query.split())


def _ids(outcome: SearchOutcome | None) -> int:
    return len(outcome.ids) if isinstance(outcome, SearchResult) else 0
