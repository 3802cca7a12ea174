"""One shard of an index, opened: answers atoms with bitmaps over its ordinals."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from pyroaring import BitMap

from actors.search.index.arrays import load
from actors.search.index.blocks import unblocked
from actors.search.index.cache import ByteCache
from actors.search.index.column import Column, Range
from actors.search.index.merge import id_key
from actors.search.index.postings import bitmap, numbers_of
from actors.search.index.schema import Schema
from actors.search.index.terms import Terms
from actors.search.lookup import Atom, Near, Statistics

CACHE_BYTES = 128 * 2**20
ID = "id"
"""The column of ids, which every index has."""


class ShardIndex:
    """A `Lookup` over one shard's folder. Safe to share between threads.

    `cache_bytes` bounds what is kept of answers to atoms.
    """

    def __init__(self, folder: Path, schema: Schema, cache_bytes: int = CACHE_BYTES) -> None:
        self.folder = folder
        self.schema = schema
        arrays = load(folder / "documents")
        self._ids = Ids(arrays)
        self._by_id = arrays["by_id"]
        self._id_terms = Terms(arrays, "by_id")
        self._scalars = {c: arrays[f"scalar.{c}"] for c in (*schema.days, *schema.numbers)}
        self._columns = {c: Column(folder / f"{c}.column") for c in sorted(schema.stores)}
        self._store = load(folder / "store")
        self._cache = ByteCache(cache_bytes)
        self._held = self._cache.held
        self._blocks = ByteCache(8 * 2**20)
        # searchsorted wants ascending values: -day ascends, undated (0) comes last.
        self._newest_first = -self._scalars[schema.order]

    # Vocabulary

    @property
    def stores(self) -> frozenset[str]:
        """The columns that exist."""
        return self.schema.stores | {ID}

    def count(self, atom: Atom) -> int:
        """Number of records that hold `atom`."""
        if len(atom.words) == len(atom.stores) == 1 and not atom.words[0].endswith("*"):
            column = self._columns.get(atom.stores[0])
            if column is not None:
                rank = column.rank(atom.words[0])
                return int(column.documents.counts[rank]) if rank >= 0 else 0
        return len(self.find(atom))

    def variations(self, stores: Sequence[str], prefix: str, limit: int) -> list[str]:
        """The first `limit` words or values that start with `prefix`, in code point order."""
        found: set[bytes] = set()
        for name in stores:
            column = self._columns.get(name)
            if column is None:
                continue
            for first, last in column.ranges(prefix + "*"):
                found.update(column.terms.slice(first, min(last, first + limit + 1)))
        found.discard(b"")
        return [term.decode() for term in sorted(found)[:limit]]

    # Lookup

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self._by_id)

    def find(self, atom: Atom) -> BitMap:
        """The records that hold `atom`. A word "" is the edge of a value."""
        found: BitMap | None = self._held(atom)
        return self._cached(atom, lambda: self._find(atom)) if found is None else found

    def near(self, near: Near) -> BitMap:
        """The records that hold `near`."""
        return self._cached(near, lambda: self._near(near))

    def dated(self, column: str, first: date, last: date) -> BitMap:
        """The records whose day in `column` lies from `first` to `last`; undated in none."""
        low, high = max(1, first.toordinal()), last.toordinal()
        if column == self.schema.order:
            start = int(np.searchsorted(self._newest_first, np.int32(-high), "left"))
            end = int(np.searchsorted(self._newest_first, np.int32(-low), "right"))
            return BitMap(range(start, end)) if start < end else BitMap()
        return self._cached((column, low, high), lambda: self._within(column, low, high))

    def between(self, column: str, low: float, high: float) -> BitMap:
        """The records whose number in `column` lies from `low` to `high`; those without in none."""
        return self._cached((column, low, high), lambda: self._within(column, low, high))

    def statistics(self) -> Statistics:
        """Records and words of each text column."""
        lengths = {name: self._columns[name].words for name in self.schema.text}
        return Statistics(self.size, lengths)

    def frequencies(self, atom: Atom) -> tuple[int, ...]:
        """Number of records that hold `atom` in each of its stores."""
        return tuple(self.count(atom._replace(stores=(store,))) for store in atom.stores)

    def scores(
        self,
        atom: Atom,
        frequencies: Sequence[int],
        statistics: Statistics,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> tuple[np.ndarray, np.ndarray]:
        """BM25 of `atom`: (ordinals uint32, scores float32), one entry per record and store.

        idf * tf / (tf + k1 * (1 - b + b * length / mean length)), idf = ln(1 + (N - df + 0.5) /
        (df + 0.5)). A phrase counts as a word of its own. A truncated atom scores 1 a store; a
        whole value has no length. tf is cut at 255.
        """
        ordinals = [np.empty(0, dtype=np.uint32)]
        scores = [np.empty(0, dtype=np.float32)]
        for store, frequency in zip(atom.stores, frequencies, strict=True):
            documents, times = self._times(atom._replace(stores=(store,)))
            ordinals.append(documents)
            if times is None:
                scores.append(np.ones(len(documents), dtype=np.float32))
                continue
            total = statistics.records
            idf = np.log1p((total - frequency + 0.5) / (frequency + 0.5))
            column = self._columns.get(store)
            norm: Any = 1.0
            if column is not None and column.text and total:
                mean = max(statistics.lengths[store] / total, 1e-9)
                norm = 1 - b + np.float32(b / mean) * column.lengths[documents]
            scores.append((np.float32(idf) * times / (times + k1 * norm)).astype(np.float32))
        return np.concatenate(ordinals), np.concatenate(scores)

    # Records

    def everything(self) -> BitMap:
        """All records."""
        return BitMap(range(self.size))

    @property
    def ids(self) -> "Ids":
        """The ids by ordinal: `ids[3]`, `ids[array]`."""
        return self._ids

    def first(self, bits: BitMap, k: int) -> list[str]:
        """Ids of the `k` lowest ordinals of `bits`."""
        return list(self._ids[list(islice(bits, max(k, 0)))])

    def ordinals(self, ids: Iterable[str]) -> BitMap:
        """The records of those `ids` that are there."""
        found = (self._ordinal(id_) for id_ in ids)
        return BitMap([ordinal for ordinal in found if ordinal >= 0])

    def keys(self, ordinals: Iterable[int]) -> list[tuple[int, tuple[int, int, str, str]]]:
        """What shards are merged by, in descending order: (order day, `id_key` of the id)."""
        ordinals = list(ordinals)
        days = self._scalars[self.schema.order]
        return [
            (int(days[i]), id_key(id_))
            for i, id_ in zip(ordinals, self._ids[ordinals], strict=True)
        ]

    def scalar(self, column: str) -> np.ndarray:
        """A day column (int32 day numbers, 0 = none) or number column (float64, NaN = none)."""
        return self._scalars[column]

    def stored(self, id_: str) -> bytes:
        """What was stored with the document `id_`. KeyError when it is not there."""
        ordinal = self._ordinal(id_)
        if ordinal < 0:
            raise KeyError(f"no record {id_!r} in the index at {self.folder}")
        block = int(self._store["block_of"][ordinal])
        return self._blocks.get(block, lambda: self._block(block))[
            int(self._store["slot_of"][ordinal])
        ]

    # Inside

    def _cached(self, key: object, compute: Callable[[], BitMap]) -> BitMap:
        def computed() -> tuple[BitMap, int]:
            bits = compute()
            return bits, min(2 * len(bits), self.size // 8 + 8192)

        return self._cache.get(key, computed)

    def _find(self, atom: Atom) -> BitMap:
        found = []
        plain = len(atom.words) == 1 and not atom.words[0].endswith("*")
        for store in atom.stores:
            if store == ID:
                found.append(self.ordinals(atom.words if len(atom.words) == 1 else ()))
                continue
            column = self._columns.get(store)
            if column is None:
                continue
            if plain:
                rank = column.rank(atom.words[0])
                if rank >= 0:
                    found.append(column.documents.of(rank))
                continue
            groups = _groups(column, atom)
            if all(groups):
                found.append(_holding(column, groups, atom.slop))
        return _union(found)

    def _near(self, near: Near) -> BitMap:
        found = []
        for store in near.stores:
            column = self._columns.get(store)
            if column is None:
                continue
            groups = [_merged([r for word in g for r in column.ranges(word)]) for g in near.groups]
            if all(groups):
                found.append(_holding(column, groups, near.slop))
        return _union(found)

    def _times(self, atom: Atom) -> tuple[np.ndarray, np.ndarray | None]:
        """Documents of an atom of one store and how often each holds it; None: it is truncated."""
        if any(word.endswith("*") for word in atom.words):
            return numbers_of(self.find(atom)), None
        column = self._columns.get(atom.stores[0])
        if column is None or not column.text:
            documents = numbers_of(self.find(atom))
            return documents, np.ones(len(documents), dtype=np.float32)
        if len(atom.words) == 1:
            ranges = column.ranges(atom.words[0])
            if not ranges:
                return np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.float32)
            times = column.times(ranges[0][0]).astype(np.float32)
            return numbers_of(self.find(atom)), times
        at = column.occurrences(_groups(column, atom), atom.slop)
        documents, counts = np.unique(column.documents_at(at), return_counts=True)
        return documents, (counts if atom.slop is None else counts.clip(max=1)).astype(np.float32)

    def _within(self, column: str, low: float, high: float) -> BitMap:
        values = self._scalars[column]
        return bitmap(np.flatnonzero((values >= low) & (values <= high)).astype(np.uint32))

    def _ordinal(self, id_: str) -> int:
        rank = self._id_terms.rank(id_.encode("utf-8", "replace"))
        return int(self._by_id[rank]) if rank >= 0 else -1

    def _block(self, number: int) -> tuple[list[bytes], int]:
        start, end = self._store["starts"][number : number + 2].tolist()
        pieces = unblocked(bytes(self._store["blob"][start:end]))
        return pieces, sum(map(len, pieces))


class Ids(Sequence[str]):
    """Ids by ordinal, on disk."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._blob = arrays["ids"].data
        self._starts = arrays["ids.starts"]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, at: Any) -> Any:
        """The id of one ordinal, or an array of objects for a slice, list or array of ordinals."""
        if isinstance(at, slice):
            return self[np.arange(len(self))[at]]
        if isinstance(at, int | np.integer):
            if not -len(self) <= at < len(self):
                raise IndexError(f"ordinal {at} of {len(self)} records")
            return str(self[[at % len(self)]][0])
        wanted = np.asarray(at, dtype=np.int64)
        out = np.empty(len(wanted), dtype=object)
        bounds = zip(self._starts[wanted].tolist(), self._starts[wanted + 1].tolist(), strict=True)
        out[:] = [str(self._blob[start:end], "utf-8") for start, end in bounds]
        return out


def _groups(column: Column, atom: Atom) -> list[list[Range]]:
    last = len(atom.words) - 1
    out = []
    for i, word in enumerate(atom.words):
        out.append(column.ranges(word, atom.until if i == last else ""))
        if not out[-1]:
            break  # nothing holds it
    return out


def _holding(column: Column, groups: Sequence[Sequence[Range]], slop: int | None) -> BitMap:
    """The documents of a column that hold one word, or a phrase or window of several."""
    if len(groups) == 1:
        return column.holding(groups[0])
    documents = column.documents_at(column.occurrences(groups, slop))
    first = np.ones(len(documents), dtype=bool)
    np.not_equal(documents[1:], documents[:-1], out=first[1:])
    return bitmap(documents[first])


def _union(found: Sequence[BitMap]) -> BitMap:
    if len(found) == 1:
        return found[0]
    return BitMap.union(*found) if found else BitMap()


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """The same ranks without repetition."""
    out: list[Range] = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1]:
            out[-1] = out[-1][0], max(last, out[-1][1])
        else:
            out.append((first, last))
    return out
