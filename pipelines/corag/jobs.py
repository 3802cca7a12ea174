"""A search to be run over chunks, and how it ended."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pipelines.corag.types import Search, Selection
from pipelines.data.chunks import Chunk


@dataclass(frozen=True, slots=True, eq=False)
class SearchJob:
    """One search for one query. `chunks` are its candidates, at the positions that the search's
    orders name; `reranker` names whose scores it is sent. `key` is the caller's."""

    key: Hashable
    query: str
    chunks: Sequence[Chunk]
    reranker: str
    search: Search


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """A search that came to its end.

    Of the orders that it asked for, `scored` went to the reranker on its behalf; `cached` were
    known, or on their way for another search; `truncated`, of both kinds, were longer than the
    reranker's window. `seconds` passed from its start to its end, `rerank_s` of them waiting for
    scores (work for other searches that was in front included).
    """

    key: Hashable
    selection: Selection
    scored: int
    cached: int
    truncated: int
    seconds: float
    rerank_s: float


@dataclass(frozen=True, slots=True)
class SearchFailure:
    """A search that raised, or whose orders the reranker could not score."""

    key: Hashable
    error: Exception


class SearchError(RuntimeError):
    """Some searches of a run failed; all others were handed out before. `failures` has each."""

    def __init__(self, failures: Sequence[SearchFailure]) -> None:
        self.failures = tuple(failures)
        first = self.failures[0]
        more = f" (and {len(failures) - 1} others)" if len(failures) > 1 else ""
        super().__init__(
            f"search {first.key!r}{more} failed: {type(first.error).__name__}: {first.error}"
        )
