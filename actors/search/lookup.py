"""What a search language asks of an index: the only seam between the two.

A language turns a query into atoms (words, phrases, whole values), asks a `Vocabulary` which of
them exist, and writes a plan. A `Lookup`, one index or one shard, then answers the atoms with
bitmaps over its ordinals. A vocabulary may span many shards, so a plan means the same on each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

import numpy as np
from pyroaring import BitMap


class Atom(NamedTuple):
    """A word, whole value or phrase, looked for in each of `stores` (columns of the index).

    A last word that ends in `*` stands for all words that start so; `smith *` stands for `smith`
    and all values that start with `smith `. `until` bounds these variations in code point order
    ("" = no bound). `slop` None: the words stand side by side in this order; N: in any order within
    one value, with at most N other words between.
    """

    stores: tuple[str, ...]
    words: tuple[str, ...]
    slop: int | None = None
    until: str = ""


class Near(NamedTuple):
    """Groups of alternative words, one of each group near the others, in each of `stores`.

    A word that ends in `*` stands for all words that start so, unbounded. `slop` as an `Atom`'s.
    One word that is in two groups does not serve for both.
    """

    stores: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    slop: int | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 needs of a whole corpus: records, and words of each text column."""

    records: int
    lengths: Mapping[str, int]


class Vocabulary(Protocol):
    """What translation asks before it writes a plan, of one index or of all shards together."""

    @property
    def stores(self) -> frozenset[str]:
        """The columns that exist."""

    def count(self, atom: Atom) -> int:
        """Number of records that hold `atom`."""

    def variations(self, stores: Sequence[str], prefix: str, limit: int) -> list[str]:
        """The first `limit` words or values that start with `prefix`, in code point order."""


class Lookup(Vocabulary, Protocol):
    """One index or shard. Bitmaps hold ordinals and belong to the lookup: callers copy to change.

    Ordinal 0 is the latest record: order is by the schema's order day descending, then by id
    descending (numbers as numbers), undated last.
    """

    @property
    def size(self) -> int:
        """Number of records; ordinals run from 0 to `size` - 1."""

    def find(self, atom: Atom) -> BitMap:
        """The records that hold `atom`."""

    def near(self, near: Near) -> BitMap:
        """The records that hold `near`."""

    def dated(self, column: str, first: date, last: date) -> BitMap:
        """The records whose day in `column` lies from `first` to `last`; undated in none."""

    def between(self, column: str, low: float, high: float) -> BitMap:
        """The records whose number in `column` lies from `low` to `high`; those without in none."""

    def statistics(self) -> Statistics:
        """Of this index alone; shards' are summed."""

    def frequencies(self, atom: Atom) -> tuple[int, ...]:
        """Number of records that hold `atom` in each of its stores; summed over shards."""

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
        (df + 0.5)), as Lucene has it; lengths are exact.
        """
