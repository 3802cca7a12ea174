"""Several engines as one, by reciprocal rank fusion."""

from collections.abc import Sequence
from dataclasses import replace

from actors.search.engines import Engine
from actors.search.ranking.fusion import RRF_K, reciprocal_rank_fusion
from actors.search.types import SearchOutcome, SearchRequest, SearchResult

DEPTH = 1000
"""Hits of each engine that are fused at least: ranks beyond change little."""


class HybridEngine:
    """Fuses the rankings of `engines` over the same passages.

    `total` counts the fused hits. The first engine that fails or finds fault with the query speaks
    for all: a fusion of half the engines would be another ranking in silence.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        *,
        rrf_k: int = RRF_K,
        weights: Sequence[float] | None = None,
        depth: int = DEPTH,
    ) -> None:
        if not engines:
            raise ValueError("a hybrid engine needs engines to fuse")
        if weights is not None and len(weights) != len(engines):
            raise ValueError(f"{len(weights)} weights for {len(engines)} engines")
        self._engines = list(engines)
        self._rrf_k, self._weights, self._depth = rrf_k, weights, depth

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query."""
        return self.search_many([request])[0]

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""
        deep = [replace(request, k=max(request.k, self._depth)) for request in requests]
        rows = [engine.search_many(deep) for engine in self._engines]
        return [
            self._fuse(outcomes, request.k)
            for request, *outcomes in zip(requests, *rows, strict=True)
        ]

    def document_frequency(self, word: str) -> int:
        """Number of passages that hold `word`."""
        return self._engines[0].document_frequency(word)

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id. KeyError names an id that the index lacks."""
        return self._engines[0].fetch(ids)

    def _fuse(self, outcomes: Sequence[SearchOutcome], k: int) -> SearchOutcome:
        rankings = []
        for outcome in outcomes:
            if not isinstance(outcome, SearchResult):
                return outcome
            rankings.append(outcome.ids)
        fused = reciprocal_rank_fusion(rankings, self._rrf_k, self._weights)
        return SearchResult(
            ids=tuple(id for id, _ in fused[:k]),
            total=len(fused),
            warnings=tuple(w for o in outcomes if isinstance(o, SearchResult) for w in o.warnings),
            scores=tuple(score for _, score in fused[:k]),
        )
