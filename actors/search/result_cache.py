"""Outcomes of searches, kept by everything that decides them."""

from collections import OrderedDict
from datetime import date

from actors.search.types import InfraFailure, SearchOutcome, SearchRequest

Key = tuple[object, ...]


class ResultCache:
    """The last `max_entries` outcomes of one index. Failures of ours are never kept."""

    def __init__(self, index_hash: str, max_entries: int = 10_000) -> None:
        self.index_hash = index_hash
        self.max_entries = max_entries
        self.hits = self.misses = 0
        self._entries: OrderedDict[Key, SearchOutcome] = OrderedDict()

    def key(self, request: SearchRequest) -> Key:
        """Index, query without needless blanks, dates, K, and how it is read and ordered."""
        return (
            self.index_hash,
            " ".join(request.query.split()) if "\n" not in request.query else request.query,
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
        """What was kept of an equal request."""
        key = self.key(request)
        found = self._entries.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return found

    def put(self, request: SearchRequest, outcome: SearchOutcome) -> None:
        """Keep an outcome that would come again."""
        if isinstance(outcome, InfraFailure) or not self.max_entries:
            return
        self._entries[self.key(request)] = outcome
        while len(self._entries) > self.max_entries:
            self._entries.popitem(last=False)
