"""The engine of the PubMed language: parse, translate, combine bitmaps, order.

Each word, phrase or truncation is read from the store once and kept as a bitmap in recency order,
so that a boolean query costs a few machine-word operations per 64 records, its total is a bit
count, and its first K hits by date are its K lowest bits. No query result is cached.
"""

from collections.abc import Sequence
from datetime import date

import numpy as np

from actors.search.index import RecordIndex
from actors.search.postings import Postings
from actors.search.pubmed.fields import ALL
from actors.search.pubmed.parser import parse
from actors.search.pubmed.translation import Atom, Step, matches, ranking_atoms, translate
from actors.search.text import words
from actors.search.types import QueryError, SearchOutcome, SearchRequest, SearchResult

MAX_QUERY_CHARACTERS = 200_000


class PubMedEngine:
    """Runs PubMed queries over one index. `cache_bytes` bounds what is kept of terms."""

    def __init__(self, index: RecordIndex, cache_bytes: int = 256 * 2**20) -> None:
        self.index = index
        self._postings = Postings(index, cache_bytes)
        self._everything = (1 << index.size) - 1
        self._ids = np.asarray(index.arrays.ids).astype(object)

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError means that the request, not the query, is wrong."""
        fields = self._check(request)
        query = request.query
        if len(query) > MAX_QUERY_CHARACTERS:
            return QueryError(
                f"the query has {len(query)} characters, at most {MAX_QUERY_CHARACTERS} are read",
                query,
                MAX_QUERY_CHARACTERS,
            )
        tree = parse(query)
        if isinstance(tree, QueryError):
            return tree
        translation = translate(tree, self._postings, fields)
        bits = matches(translation.steps, self._everything)
        if request.date_to is not None:
            bits &= self._postings.published(date.min, request.date_to)
        if request.order == "recent":
            first = lowest_bits(bits, request.k)
        else:
            first = self._most_relevant(bits, translation.steps, request.k)
        return SearchResult(
            ids=tuple(self._ids[first].tolist()),
            total=bits.bit_count(),
            warnings=tuple(translation.warnings),
            translation=str(translation),
        )

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""
        return [self.search(request) for request in requests]

    def document_frequency(self, word: str) -> int:
        """Number of records with `word` (or that phrase) in any searchable text field."""
        found = tuple(words(word))
        stores = tuple(name for name in ALL.stores if name in self.index.fields)
        return self._postings.find(Atom(stores, found)).bits.bit_count() if found else 0

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id. KeyError names an id that the index lacks."""
        return self.index.fetch(ids)

    def _check(self, request: SearchRequest) -> Sequence[str]:
        if request.order not in ("recent", "relevance"):
            raise ValueError(f"order {request.order!r} is neither 'recent' nor 'relevance'")
        if request.k < 0:
            raise ValueError(f"k is {request.k}, below 0")
        if request.fields is None:
            return self.index.fields
        missing = [name for name in request.fields if name not in self.index.fields]
        if missing:
            raise ValueError(
                f"fields {missing} are not in the index of {self.index.manifest.corpus!r}, "
                f"which has {', '.join(self.index.fields)}"
            )
        return request.fields

    def _most_relevant(self, bits: int, steps: Sequence[Step], k: int) -> np.ndarray:
        """Ordinals of the best `k` by BM25 summed over the terms that a record holds."""
        totals = np.zeros(self.index.size, dtype=np.float32)
        for atom in ranking_atoms(steps):
            ordinals, scores = self._postings.scores(atom)
            np.add.at(totals, ordinals, scores)
        found = lowest_bits(bits, self.index.size)
        totals = totals[found]
        if 0 < k < len(found):
            kth = np.partition(totals, len(totals) - k)[len(totals) - k]
            found, totals = found[totals >= kth], totals[totals >= kth]
        order = np.lexsort((self.index.arrays.id_ranks[found], -totals))
        return found[order[:k]]


def lowest_bits(bits: int, k: int) -> np.ndarray:
    """The positions of the `k` lowest set bits, ascending; fewer when there are fewer."""
    data = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), dtype=np.uint8)
    filled = (data != 0).nonzero()[0][:k]  # every one of these bytes holds a hit or more
    unpacked = np.unpackbits(data[filled, None], axis=1, bitorder="little")
    rows, columns = unpacked.view(bool).nonzero()
    return (filled[rows] * 8 + columns)[:k]
