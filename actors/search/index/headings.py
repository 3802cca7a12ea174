"""MeSH headings as columns: strings are looked up once each, the rest is arithmetic."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count, islice
from operator import attrgetter, itemgetter

import numpy as np

from actors.search.index.schema import Coded
from actors.search.types import Record

_MOST = 500_000  # strings that are remembered
_mesh = attrgetter("mesh")
_descriptor = attrgetter("descriptor")
_major = attrgetter("major")
_qualifiers = attrgetter("qualifiers")


class Headings:
    """Batches of records as the columns of `columns`. Remembers strings between batches."""

    def __init__(self) -> None:
        self._forget()

    def columns(self, records: Sequence[Record]) -> tuple[Coded, ...]:
        """Words, headings (with each qualifier too), major ones, qualifiers, major qualifiers."""
        if len(self._places) > _MOST:
            self._forget()
        of_records = list(map(_mesh, records))
        headings = list(chain.from_iterable(of_records))
        of_headings = list(map(_qualifiers, headings))
        qualified = list(chain.from_iterable(of_headings))
        name = self._numbers(map(_descriptor, headings), len(headings))
        qualifier = self._numbers(map(itemgetter(0), qualified), len(qualified))
        flag = np.fromiter(map(itemgetter(1), qualified), bool, len(qualified))
        counts = np.fromiter(map(len, of_headings), np.int64, len(headings))
        owner = np.repeat(np.arange(len(headings)), counts)
        pair = self._pairs(name[owner], qualifier)
        is_major = np.fromiter(map(_major, headings), bool, len(headings))
        is_major[owner[flag]] = True

        heads = _sums(np.fromiter(map(len, of_records), np.int64, len(records)))
        pairs = _sums(counts)
        both = heads + pairs[heads]
        of_pair = np.arange(len(pair)) + owner
        before = np.arange(len(headings)) + pairs[:-1]  # places of headings, qualifiers after
        after = np.arange(len(headings)) + pairs[1:]  # places of headings, qualifiers before
        words, whole, major, kept = (np.empty(len(name) + len(pair), np.int64) for _ in range(4))
        words[before], words[of_pair + 1] = name, qualifier
        whole[before], whole[of_pair + 1] = name, pair
        major[after], major[of_pair] = name, pair
        kept[after], kept[of_pair] = is_major, flag
        every = np.ones(len(kept), bool)
        self._values.extend(islice(self._places, len(self._values), None))
        return tuple(
            Coded(self._values, numbers[mask], np.diff(_sums(mask)[ends]))
            for numbers, mask, ends in (
                (words, every, both),
                (whole, every, both),
                (major, kept.astype(bool), both),
                (qualifier, every[: len(pair)], pairs[heads]),
                (qualifier, flag, pairs[heads]),
            )
        )

    def _forget(self) -> None:
        self._places: defaultdict[str, int] = defaultdict(count().__next__)
        self._values: list[str] = []
        self._of_pair: dict[int, int] = {}

    def _numbers(self, strings: "map[str]", size: int) -> np.ndarray:
        return np.fromiter(map(self._places.__getitem__, strings), np.int64, size)

    def _pairs(self, name: np.ndarray, qualifier: np.ndarray) -> np.ndarray:
        """Numbers of `"name qualifier"`."""
        distinct, which = np.unique(name << 32 | qualifier, return_inverse=True)
        codes = distinct.tolist()
        if new := [code for code in codes if code not in self._of_pair]:
            strings = list(self._places)
            for code in new:
                both = f"{strings[code >> 32]} {strings[code & 0xFFFFFFFF]}"
                self._of_pair[code] = self._places[both]
        return np.array([self._of_pair[code] for code in codes], np.int64)[which]


def _sums(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
