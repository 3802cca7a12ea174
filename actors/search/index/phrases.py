"""Phrases and proximity, over sets of positions."""

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
from pyroaring import BitMap

_EXACT_GROUPS = 8


class Positions(Protocol):
    """A set of positions that is read when it is wanted; `count` is known before."""

    count: int

    def __call__(self) -> BitMap:
        """The positions."""


def adjacent(words: Sequence[Positions]) -> BitMap:
    """Positions of the first word of a phrase: rarest word first, read no further than needed."""
    order = sorted(range(len(words)), key=lambda i: words[i].count)
    at = order[0]
    found = words[at]()
    for i in order[1:]:
        if not found:
            break
        found = found.shift(i - at) if i != at else found
        at = i
        found &= words[i]()
    return found.shift(-at) if at and found else found


def nearby(groups: Sequence[np.ndarray], slop: int, marks: np.ndarray) -> np.ndarray:
    """Starts of windows with one position of each group and at most `slop` others in between.

    All arrays ascend. A position serves one group only: exact for groups that share none or are
    equal, and for up to eight that share some (Hall's theorem); of more, pairs and all together are
    checked. A window holds none of `marks`. Positions are below 2 ** 32 - 1.
    """
    width = len(groups) + slop
    arrays = sorted((np.asarray(g, dtype=np.int64) for g in groups), key=len)
    if not len(arrays[0]):
        return np.empty(0, dtype=np.uint32)
    anchors = arrays[0]
    for other in arrays[1:]:
        low = np.searchsorted(other, anchors - (width - 1))
        high = np.searchsorted(other, anchors + (width - 1), "right")
        anchors = anchors[high > low]
    starts = [_within(array, anchors - (width - 1), anchors) for array in arrays]
    start = np.unique(np.concatenate(starts))
    marks = np.append(np.asarray(marks, dtype=np.int64), 2**32)
    wall = marks[np.searchsorted(marks, start)]
    end = np.minimum(start + (width - 1), wall - 1)
    good = wall != start
    for wanted, array in _needed(arrays):
        low = np.searchsorted(array, start)
        good &= np.searchsorted(array, end, "right") - low >= wanted
    return start[good].astype(np.uint32)


def _within(array: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Members of `array` that lie in any of the ranges `low` to `high`."""
    first = np.searchsorted(array, low)
    count = np.searchsorted(array, high, "right") - first
    begin = np.cumsum(count) - count
    return array[np.repeat(first - begin, count) + np.arange(int(count.sum()))]


def _needed(arrays: Sequence[np.ndarray]) -> list[tuple[int, np.ndarray]]:
    """(at least so many positions, among these) that a window must hold."""
    distinct: list[list] = []  # [times, array]
    for array in arrays:
        for entry in distinct:
            if len(entry[1]) == len(array) and np.array_equal(entry[1], array):
                entry[0] += 1
                break
        else:
            distinct.append([1, array])
    if len(distinct) == 1 or not _overlap([array for _, array in distinct]):
        return [(times, array) for times, array in distinct]
    sizes: Sequence[int] = range(1, len(distinct) + 1)
    if len(distinct) > _EXACT_GROUPS:
        sizes = (1, 2, len(distinct))
    return [
        (
            sum(times for times, _ in chosen),
            np.unique(np.concatenate([array for _, array in chosen])),
        )
        for size in sizes
        for chosen in combinations(distinct, size)
    ]


def _overlap(arrays: Sequence[np.ndarray]) -> bool:
    every = np.sort(np.concatenate(arrays))
    return bool((every[1:] == every[:-1]).any())
