"""Dense search as an engine: embed the query, ask the vectors."""

import logging
from collections.abc import Sequence

from actors.search.dense.embed import Embedder
from actors.search.dense.index import DenseIndex
from actors.search.ranking.requests import check
from actors.search.ranking.store import PassageStore
from actors.search.types import InfraFailure, SearchOutcome, SearchRequest, SearchResult

_log = logging.getLogger(__name__)


class DenseEngine:
    """Ranks all passages by the inner product of their vectors with the query's."""

    def __init__(self, index: DenseIndex, embedder: Embedder, store: PassageStore) -> None:
        self._index, self._embedder, self._store = index, embedder, store

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError means that the request, not the query, is wrong."""
        return self.search_many([request])[0]

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order; embedded in batches.

        A failure of the model or of FAISS is an InfraFailure of every query that it touched.
        """
        outcomes: list[SearchOutcome | None] = [check(request) for request in requests]
        asked = [place for place, fault in enumerate(outcomes) if fault is None]
        try:
            vectors, cut = self._embedder.embed_queries([requests[place].query for place in asked])
            deepest = max((requests[place].k for place in asked), default=0)
            found = self._index.search(vectors, deepest)
        except (RuntimeError, MemoryError, OSError) as error:
            _log.exception("dense search failed")
            failure = InfraFailure(f"dense search: {type(error).__name__}: {error}")
            return [failure if fault is None else fault for fault in outcomes]
        for place, hits, is_cut in zip(asked, found, cut.tolist(), strict=True):
            k = requests[place].k
            warning = f"OutputMessage: the query was cut to {self._embedder.max_tokens} tokens"
            outcomes[place] = SearchResult(
                ids=hits.ids[:k],
                total=len(self._index),
                warnings=(warning,) if is_cut else (),
                scores=hits.scores[:k],
            )
        return [outcome for outcome in outcomes if outcome is not None]

    def document_frequency(self, word: str) -> int:
        """Number of passages that hold `word`."""
        return self._store.document_frequency(word)

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id. KeyError names an id that the index lacks."""
        return self._store.fetch(ids)
