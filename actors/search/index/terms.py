"""A sorted table of strings in memory-mapped arrays: look up, ranges by prefix."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

_BLOCK = 64
_SEPARATOR = b"\n"


def packed(terms: Sequence[bytes], prefix: str = "terms") -> dict[str, np.ndarray]:
    """The arrays of a `Terms` over `terms`: sorted, distinct, without line feeds."""
    blocks = [
        _SEPARATOR + _SEPARATOR.join(terms[i : i + _BLOCK]) + _SEPARATOR
        for i in range(0, len(terms), _BLOCK)
    ]
    starts = np.zeros(len(blocks) + 1, dtype=np.uint64)
    np.cumsum([len(block) for block in blocks], out=starts[1:])
    return {
        f"{prefix}.blob": np.frombuffer(b"".join(blocks), dtype=np.uint8),
        f"{prefix}.starts": starts,
        f"{prefix}.count": np.array([len(terms)], dtype=np.uint64),
    }


class Terms:
    """Terms by rank. Only the first term of every 64 is held in memory."""

    def __init__(self, arrays: dict[str, np.ndarray], prefix: str = "terms") -> None:
        self._blob = arrays[f"{prefix}.blob"].data
        self._starts = arrays[f"{prefix}.starts"].tolist()
        self._count = int(arrays[f"{prefix}.count"][0])
        self._heads = [self._head(number) for number in range(len(self._starts) - 1)]

    def __len__(self) -> int:
        return self._count

    def rank(self, term: bytes) -> int:
        """The rank of `term`, -1 when it is not there."""
        number = bisect_right(self._heads, term) - 1
        if number < 0:
            return -1
        block = self._block(number)
        found = block.find(_SEPARATOR + term + _SEPARATOR)
        return -1 if found < 0 else number * _BLOCK + block.count(_SEPARATOR, 0, found)

    def lower_bound(self, term: bytes) -> int:
        """The number of terms below `term`."""
        number = bisect_right(self._heads, term) - 1
        return 0 if number < 0 else number * _BLOCK + bisect_left(self._terms(number), term)

    def prefixed(self, prefix: bytes, until: bytes = b"") -> tuple[int, int]:
        """The ranks (from, to) of the terms that start with `prefix`, none above `until`."""
        end = prefix + b"\xff"
        number = max(bisect_right(self._heads, prefix) - 1, 0)
        if number + 1 >= len(self._heads) or self._heads[number + 1] >= end:  # all in one block
            terms = self._terms(number) if self._heads else []
            skip = number * _BLOCK
            first, last = skip + bisect_left(terms, prefix), skip + bisect_left(terms, end)
        else:
            first, last = self.lower_bound(prefix), self.lower_bound(end)
        if until:
            last = max(first, min(last, self.lower_bound(until + b"\x00")))
        return first, last

    def slice(self, first: int, last: int) -> list[bytes]:
        """The terms of ranks `first` to `last` - 1."""
        if last <= first:
            return []
        numbers = range(first // _BLOCK, (last - 1) // _BLOCK + 1)
        out = [term for number in numbers for term in self._terms(number)]
        skip = numbers[0] * _BLOCK
        return out[first - skip : last - skip]

    def _terms(self, number: int) -> list[bytes]:
        return self._block(number)[1:-1].split(_SEPARATOR)

    def _block(self, number: int) -> bytes:
        return bytes(self._blob[self._starts[number] : self._starts[number + 1]])

    def _head(self, number: int) -> bytes:
        start, end = self._starts[number] + 1, self._starts[number + 1]
        head, found, _ = bytes(self._blob[start : min(end, start + 256)]).partition(_SEPARATOR)
        return head if found else bytes(self._blob[start:end]).partition(_SEPARATOR)[0]
