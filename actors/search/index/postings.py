"""Rows of ascending numbers, one a term: rare terms as plain arrays, frequent ones as bitmaps."""

from array import array
from bisect import bisect_left

import numpy as np
from pyroaring import BitMap


def bitmap(numbers: np.ndarray) -> BitMap:
    """The set of `numbers` (uint32, best ascending)."""
    values = array("I")
    values.frombytes(np.ascontiguousarray(numbers, dtype=np.uint32).tobytes())
    return BitMap(values)


def numbers_of(bits: BitMap) -> np.ndarray:
    """The members of `bits`, ascending, uint32."""
    return np.frombuffer(bits.to_array(), dtype=np.uint32)


def packed(
    prefix: str, counts: np.ndarray, numbers: np.ndarray, span: int
) -> dict[str, np.ndarray]:
    """The arrays of `Postings`. `numbers` holds `counts` numbers below `span` a term, in a row."""
    limit = max(128, 4 * (span >> 16))
    frequent = np.flatnonzero(counts >= limit)
    ends = np.cumsum(counts, dtype=np.uint64)
    bitmaps: list[bytes] = []
    rare: list[np.ndarray] = []
    done = 0
    for term in frequent.tolist():
        end = int(ends[term])
        start = end - int(counts[term])
        rare.append(numbers[done:start])
        bitmaps.append(bitmap(numbers[start:end]).serialize())
        done = end
    rare.append(numbers[done:])
    starts = np.zeros(len(counts) + 1, dtype=np.uint64)
    np.cumsum(np.where(counts >= limit, 0, counts), out=starts[1:])
    return {
        f"{prefix}.counts": counts.astype(np.uint32),
        f"{prefix}.starts": starts,
        f"{prefix}.rare": np.concatenate(rare),
        f"{prefix}.frequent": frequent.astype(np.uint32),
        f"{prefix}.bitmaps": np.frombuffer(b"".join(bitmaps), dtype=np.uint8),
        f"{prefix}.bitmap_starts": np.cumsum([0, *map(len, bitmaps)], dtype=np.uint64),
    }


class Postings:
    """The numbers of each term, by the term's rank."""

    def __init__(self, prefix: str, arrays: dict[str, np.ndarray]) -> None:
        self.counts = arrays[f"{prefix}.counts"]
        self._rare = arrays[f"{prefix}.rare"]
        # Memory views give Python numbers, one at a time, faster than arrays.
        self._starts = arrays[f"{prefix}.starts"].data
        self._frequent = arrays[f"{prefix}.frequent"].data
        self._bitmaps = arrays[f"{prefix}.bitmaps"].data
        self._bitmap_starts = arrays[f"{prefix}.bitmap_starts"].data

    def of(self, rank: int) -> BitMap:
        """The numbers of one term."""
        start, end = self._starts[rank], self._starts[rank + 1]
        if start < end:
            return bitmap(self._rare[start:end])
        number = bisect_left(self._frequent, rank)
        there = number < len(self._frequent) and self._frequent[number] == rank
        return self._bitmap(number) if there else BitMap()

    def union(self, first: int, last: int) -> BitMap:
        """The numbers of the terms of ranks `first` to `last` - 1."""
        if last - first == 1:
            return self.of(first)
        rare = self._rare[self._starts[first] : self._starts[last]]
        from_ = bisect_left(self._frequent, first)
        to = bisect_left(self._frequent, last, from_)
        if from_ == to:
            return bitmap(np.sort(rare))
        found = [self._bitmap(number) for number in range(from_, to)]
        if len(rare):
            found.append(bitmap(np.sort(rare)))
        return found[0] if len(found) == 1 else BitMap.union(*found)

    def _bitmap(self, number: int) -> BitMap:
        start, end = self._bitmap_starts[number], self._bitmap_starts[number + 1]
        return BitMap.deserialize(bytes(self._bitmaps[start:end]))
