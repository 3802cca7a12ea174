"""Shards that stand for one index where a plan is made."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
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
        found = (shard.variations(stores, prefix, limit) for shard in self._shards)
        merged: Iterator[str] = (word for word, _ in groupby(heapq.merge(*found)))
        return list(islice(merged, limit))

    def frequencies(self, atom: Atom) -> tuple[int, ...]:
        """Number of records that hold `atom` in each of its stores."""
        rows = (shard.frequencies(atom) for shard in self._shards)
        return tuple(map(sum, zip(*rows, strict=True)))

    def statistics(self) -> Statistics:
        """Records, and words of each text column."""
        parts = [shard.statistics() for shard in self._shards]
        names: Mapping[str, None] = dict.fromkeys(name for p in parts for name in p.lengths)
        lengths = {name: sum(p.lengths.get(name, 0) for p in parts) for name in names}
        return Statistics(sum(p.records for p in parts), lengths)
