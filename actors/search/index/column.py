"""One column of an index: which records hold a word, a value, a phrase."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pyroaring import BitMap

from actors.search.index.arrays import load
from actors.search.index.phrases import adjacent, nearby
from actors.search.index.postings import Postings, bitmap, numbers_of
from actors.search.index.terms import Terms

_MAX_AROUND = 2_000_000

Range = tuple[int, int]
"""Ranks of terms, from and to (excluded)."""


class Column:
    """Read-only. `text` columns know positions, others only whole values."""

    def __init__(self, path: Path) -> None:
        arrays = load(path)
        self.terms = Terms(arrays)
        self.documents = Postings("docs", arrays)
        self.text = "positions.counts" in arrays
        if self.text:
            self.positions = Postings("positions", arrays)
            self.starts = arrays["starts"]  # (documents + 1,) position of the mark before each
            self.lengths = arrays["lengths"]  # (documents,) words
            self._times = arrays["times"]
            self._times_starts = arrays["times.starts"]

    @property
    def words(self) -> int:
        """Words of all documents together, 0 for a column of values."""
        return int(self.lengths.sum(dtype=np.int64)) if self.text else 0

    def rank(self, word: str) -> int:
        """The term that `word` is, -1 when it is not there."""
        return self.terms.rank(word.encode("utf-8", "replace"))

    def ranges(self, word: str, until: str = "") -> list[Range]:
        """The terms that `word` stands for: itself, or with `*` at its end all that start so."""
        encoded = word.encode("utf-8", "replace")
        if not word.endswith("*"):
            rank = self.terms.rank(encoded)
            return [(rank, rank + 1)] if rank >= 0 else []
        prefix, bound = encoded[:-1], until.encode("utf-8", "replace")
        found = [self.terms.prefixed(prefix, bound)]
        if prefix.endswith(b" ") and (not bound or prefix.rstrip() <= bound):
            rank = self.terms.rank(prefix.rstrip())
            found.append((rank, rank + 1) if rank >= 0 else (0, 0))
        return [(first, last) for first, last in found if first < last]

    def holding(self, ranges: Sequence[Range]) -> BitMap:
        """The documents of all terms in `ranges`."""
        return _union([self.documents.union(first, last) for first, last in ranges])

    def occurrences(self, groups: Sequence[Sequence[Range]], slop: int | None) -> np.ndarray:
        """Positions at which a phrase or a window of one of each group starts, ascending."""
        if not self.text or not all(groups):
            return np.empty(0, dtype=np.uint32)
        if slop is None:
            return numbers_of(adjacent([_Lazy(self.positions, group) for group in groups]))
        sets = sorted((_Lazy(self.positions, group) for group in groups), key=lambda s: s.count)
        anchors = sets[0]()
        around = _around(numbers_of(anchors), len(groups) + slop)
        found = [anchors, *((s() if around is None else s() & around) for s in sets[1:])]
        marks = self.positions.union(0, 1)
        if around is not None:
            marks &= around
        return nearby([numbers_of(bits) for bits in found], slop, numbers_of(marks))

    def documents_at(self, positions: np.ndarray) -> np.ndarray:
        """The document of each of `positions`, uint32."""
        return (np.searchsorted(self.starts, positions, "right") - 1).astype(np.uint32)

    def times(self, rank: int) -> np.ndarray:
        """How often each document that holds a term does, at most 255, in document order."""
        start, end = self._times_starts[rank : rank + 2].tolist()
        return self._times[start:end]


def _around(positions: np.ndarray, width: int) -> BitMap | None:
    """All positions less than `width` away from any of `positions`; None when that is too many."""
    if len(positions) * width > _MAX_AROUND:
        return None
    steps = np.arange(1 - width, width)
    near = (positions.astype(np.int64)[:, None] + steps).ravel()
    return bitmap(np.unique(near[(near >= 0) & (near < 2**32)]))


class _Lazy:
    """A group's positions, read when they are wanted."""

    def __init__(self, positions: Postings, ranges: Sequence[Range]) -> None:
        self._positions = positions
        self._ranges = ranges
        self.count = sum(
            int(positions.counts[first:last].sum(dtype=np.int64)) for first, last in ranges
        )

    def __call__(self) -> BitMap:
        return _union([self._positions.union(*r) for r in self._ranges])


def _union(found: Sequence[BitMap]) -> BitMap:
    if len(found) == 1:
        return found[0]
    return BitMap.union(*found) if found else bitmap(np.empty(0, dtype=np.uint32))
