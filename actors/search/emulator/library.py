"""What the emulator asks of an engine, and sets of hits taken from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from actors.search.emulator.history import Entry
from actors.search.emulator.parameters import (
    SERVED,
    SORT_KEYS,
    ParameterError,
    Window,
    sorted_records,
)
from actors.search.types import (
    InfraFailure,
    QueryError,
    Record,
    SearchOutcome,
    SearchRequest,
    SearchResult,
)

SORTED = 20_000  # hits that are put in order of author, journal or title


class Library(Protocol):
    """A searchable collection of records. Used from many threads at once."""

    @property
    def size(self) -> int:
        """Number of records."""

    def search(self, request: SearchRequest) -> SearchOutcome:
        """The outcome of one query."""

    def record(self, uid: str, /) -> Record:
        """The record of an id. KeyError if there is none."""


@dataclass(frozen=True, slots=True)
class EngineLibrary:
    """A library made of an engine and of what gives records by id, mostly its index."""

    engine: "Searcher"
    records: Callable[[str], Record]
    size: int

    def search(self, request: SearchRequest) -> SearchOutcome:
        """The engine's outcome; whatever it raises is an `InfraFailure`."""
        try:
            return self.engine.search(request)
        except Exception as error:
            return InfraFailure(f"{type(error).__name__}: {error}")

    def record(self, uid: str, /) -> Record:
        """The record of `uid`. KeyError if there is none."""
        return self.records(uid)


class Searcher(Protocol):
    """An engine."""

    def search(self, request: SearchRequest) -> SearchOutcome:
        """The outcome of one query."""


def find(
    library: Library,
    query: str,
    order: str,
    window: Window,
    history: tuple[str, ...],
    today: date,
) -> SearchResult | QueryError | InfraFailure:
    """The hits of `query` in `window` only, in `order` (`recent`, `relevance`, a sort key)."""
    by_key = order in SORT_KEYS
    request = SearchRequest(
        query=query,
        k=(SORTED if by_key else window.start + window.count) if window.count else 0,
        order="recent" if by_key else order,
        today=today,
        history=history,
    )
    outcome = library.search(request)
    if not isinstance(outcome, SearchResult):
        return outcome
    ids, warnings = outcome.ids, outcome.warnings
    if by_key and ids:
        ids = tuple(r.id for r in sorted_records(order, [library.record(uid) for uid in ids]))
        if outcome.total > SORTED:
            warnings += (f"OutputMessage: only the latest {SORTED} records are sorted by {order}",)
    return replace(outcome, ids=ids[window.start : window.start + window.count], warnings=warnings)


def members(
    library: Library, entries: tuple[Entry, ...], key: int, window: Window, today: date
) -> tuple[str, ...] | QueryError | InfraFailure:
    """The ids of the kept set number `key` in `window`. ParameterError past what PubMed serves."""
    entry = entries[key - 1]
    if entry.ids is not None:
        return entry.ids[window.start : window.start + window.count]
    if window.start >= SERVED:
        raise ParameterError(f"'retstart' cannot be larger than {SERVED - 1}")
    served = Window(window.start, min(window.count, SERVED - window.start))
    earlier = tuple(kept.query for kept in entries[: key - 1])
    found = find(library, entry.query, entry.order, served, earlier, today)
    return found.ids if isinstance(found, SearchResult) else found
