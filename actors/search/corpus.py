"""Shards that stand for one index where a plan is made."""

import heapq
from collections.abc import Iterable, Sequence
from itertools import groupby, islice

from actors.search.lookup import Atom, Lookup, Statistics


class ShardedCorpus:
    """The vocabulary and counts of several shards together. The shards hold different records."""

    def __init__(self, shards: Sequence[Lookup]) -> None:
        if not shards:
            raise ValueError("a corpus needs at least one shard")
        self._shards = tuple(shards)

    @property
    def stores(self) -> frozenset[str]:
        """The columns that exist."""
        return frozenset().union(*(shard.stores for shard in self._shards))

    def count(self, atom: Atom) -> int:
        """Number of records that hold `atom`."""
        return sum(shard.count(atom) for shard in self._shards)

    def variations(self, stores: Sequence[str], prefix: str, limit: int) -> list[str]:
        """The first `limit` words or values that start with `prefix`, in code point order."""
        return first_words((s.variations(stores, prefix, limit) for s in self._shards), limit)

    def frequencies(self, atom: Atom) -> tuple[int, ...]:
        """Number of records that hold `atom` in each of its stores."""
        return sums(shard.frequencies(atom) for shard in self._shards)

    def statistics(self) -> Statistics:
        """Records, and words of each text column."""
        return total(shard.statistics() for shard in self._shards)


def first_words(found: Iterable[Sequence[str]], limit: int) -> list[str]:
    """The first `limit` of all shards' words, each list of which is in order, without repeats."""
    return list(islice((word for word, _ in groupby(heapq.merge(*found))), limit))


def sums(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """What all shards count together, place by place."""
    return tuple(map(sum, zip(*rows, strict=True)))


def total(statistics: Iterable[Statistics]) -> Statistics:
    """The statistics of all shards together."""
    records, lengths = 0, dict[str, int]()
    for part in statistics:
        records += part.records
        for name, length in part.lengths.items():
            lengths[name] = lengths.get(name, 0) + length
    return Statistics(records, lengths)
