"""BM25 over the passages' text column.

Robertson and Zaragoza (2009), with Lucene's idf. A query is a bag of words: a word given twice
counts twice. All passages with one word of it or more are hits.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from actors.search.index.shard import Ids
from actors.search.lookup import Atom
from actors.search.ranking.requests import check
from actors.search.ranking.store import CONTENTS, PassageStore
from actors.search.types import QueryError, SearchOutcome, SearchRequest, SearchResult


@dataclass(frozen=True, slots=True)
class Bm25:
    """Saturation `k1` and length normalisation `b`."""

    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if not self.k1 >= 0:
            raise ValueError(f"k1 is {self.k1}, below 0")
        if not 0 <= self.b <= 1:
            raise ValueError(f"b is {self.b}, not from 0 to 1")


class Bm25Engine:
    """Ranks the passages of `store`, whose analysis also makes the words of queries."""

    def __init__(self, store: PassageStore, parameters: Bm25 | None = None) -> None:
        self._store = store
        self._lookup = store.lookup
        self._analysis = store.analysis
        self._parameters = parameters or Bm25()
        self._statistics = store.lookup.statistics()

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError means that the request, not the query, is wrong."""
        fault = check(request)
        if fault is not None:
            return fault
        counts = Counter(self._analysis.words(request.query))
        if not counts:
            why = "only stop words" if self._analysis.stop_words else "no word"
            return QueryError(f"the query has {why}: nothing to look for", request.query, 0)
        totals = self._totals(counts)
        hits = np.flatnonzero(totals)
        ranked = best(hits, totals[hits], self._lookup.ids, request.k)
        return SearchResult(
            ids=tuple(id for id, _ in ranked),
            total=len(hits),
            translation=" ".join(counts),
            scores=tuple(score for _, score in ranked),
        )

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""
        return [self.search(request) for request in requests]

    def document_frequency(self, word: str) -> int:
        """Number of passages that hold `word`."""
        return self._store.document_frequency(word)

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id. KeyError names an id that the index lacks."""
        return self._store.fetch(ids)

    def _totals(self, counts: Counter[str]) -> np.ndarray:
        """The sum of the words' scores, by ordinal, float32."""
        totals = np.zeros(self._lookup.size, dtype=np.float64)
        for word, count in counts.items():
            atom = Atom((CONTENTS,), (word,))
            frequencies = self._lookup.frequencies(atom)
            if not frequencies[0]:
                continue
            ordinals, scores = self._lookup.scores(
                atom, frequencies, self._statistics, self._parameters.k1, self._parameters.b
            )
            totals[ordinals] += count * scores.astype(np.float64)
        return totals.astype(np.float32)


def best(
    ordinals: np.ndarray, scores: np.ndarray, ids: Ids | np.ndarray, k: int
) -> list[tuple[str, float]]:
    """The exact first `k` as trec_eval orders a run: score descending, then id descending."""
    if k == 0:
        return []
    if k < len(scores):
        kth = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = scores >= kth
        ordinals, scores = ordinals[kept], scores[kept]
    pairs = zip(scores.tolist(), ids[ordinals].tolist(), strict=True)
    return [(id, score) for score, id in sorted(pairs, reverse=True)[:k]]
