"""Bitmaps and scores of single atoms, read from the store once and kept in a bounded cache."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import tantivy

from actors.search.index import RecordIndex
from actors.search.pubmed.translation import MAX_EXPANSIONS, Atom, Hits

MAX_PHRASE_WORDS = 256
"""A phrase of more words counts as absent from every index."""
_OVERHEAD_BYTES = 400  # key, tuple and cache entry


class ByteCache:
    """Least recently used values up to a number of bytes. Safe to share between threads."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, compute: Callable[[], tuple[Any, int]]) -> Any:
        """The value of `key`, computed (with its size in bytes) when it is not held."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return entry[0]
        value, size = compute()
        size += _OVERHEAD_BYTES
        with self._lock:
            if key not in self._entries and size <= self.max_bytes:
                self._entries[key] = value, size
                self.bytes += size
            while self.bytes > self.max_bytes:
                self.bytes -= self._entries.popitem(last=False)[1][1]
        return value


class Postings:
    """The lookup that translation needs, over one index."""

    def __init__(self, index: RecordIndex, cache_bytes: int) -> None:
        self.index = index
        self._cache = ByteCache(cache_bytes)
        # searchsorted wants ascending values: -day ascends, undated (0) comes last.
        self._newest_first = -np.asarray(index.arrays.days)

    def find(self, atom: Atom) -> Hits:
        """The records that hold `atom`."""
        return self._cache.get(atom, lambda: self._read(atom))

    def published(self, start: date, end: date) -> int:
        """The bitmap of records published from `start` to `end`; undated ones are in no range."""
        first = int(np.searchsorted(self._newest_first, np.int32(-end.toordinal()), "left"))
        last = int(np.searchsorted(self._newest_first, np.int32(-start.toordinal()), "right"))
        return (1 << last) - (1 << first) if last > first else 0

    def scores(self, atom: Atom) -> tuple[np.ndarray, np.ndarray]:
        """(ordinals, BM25 scores) of the records that hold `atom`, one entry per store field hit.

        A truncated word scores 1 a field, as in Lucene.
        """
        return self._cache.get(("scores", atom), lambda: self._read_scores(atom))

    def _read(self, atom: Atom) -> tuple[Hits, int]:
        queries, cut = self._queries(atom)
        flags = np.zeros(self.index.size, dtype=bool)
        for query, limit in queries:
            flags[self.index.ordinals(query, limit)] = True
        bits = int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
        return Hits(bits, cut), bits.bit_length() // 8

    def _read_scores(self, atom: Atom) -> tuple[tuple[np.ndarray, np.ndarray], int]:
        found = [self.index.scores(query, limit) for query, limit in self._queries(atom)[0]]
        ordinals = np.concatenate([o for o, _ in found] or [np.empty(0, dtype=np.int64)])
        scores = np.concatenate([s for _, s in found] or [np.empty(0, dtype=np.float32)])
        return (ordinals, scores), ordinals.nbytes + scores.nbytes

    def _queries(self, atom: Atom) -> tuple[list[tuple[tantivy.Query, int]], bool]:
        """One (query, upper bound of its hits) for every store field that can hold `atom`."""
        *head, last = atom.words
        out: list[tuple[tantivy.Query, int]] = []
        if len(head) >= MAX_PHRASE_WORDS:
            return out, False
        if last.endswith("*"):
            variations, cut = self._variations(atom.stores, last[:-1])
        else:
            variations, cut = [last], False
        for store in atom.stores:
            counts = {w: self.index.document_frequency(store, w) for w in {*head, *variations}}
            present = [w for w in variations if counts[w]]
            if not present or not all(counts[w] for w in head):
                continue
            bound = min(self.index.size, sum(counts[w] for w in present))
            bound = min([bound, *(counts[w] for w in head)])
            out.append((self._query(store, head, present, last.endswith("*")), bound))
        return out, cut

    def _query(
        self, store: str, head: list[str], last: list[str], truncated: bool
    ) -> tantivy.Query:
        schema = self.index.schema
        if head:
            phrases = [tantivy.Query.phrase_query(schema, store, [*head, word]) for word in last]
            if len(phrases) == 1:
                return phrases[0]
            return tantivy.Query.boolean_query([(tantivy.Occur.Should, p) for p in phrases])
        if truncated:
            return tantivy.Query.term_set_query(schema, store, last)
        return tantivy.Query.term_query(schema, store, last[0])

    def _variations(self, stores: tuple[str, ...], prefix: str) -> tuple[list[str], bool]:
        found = {term for s in stores for term, _ in self.index.terms_with_prefix(s, prefix)}
        if prefix.endswith(" "):
            found.add(prefix.rstrip())
        return sorted(found)[:MAX_EXPANSIONS], len(found) > MAX_EXPANSIONS
