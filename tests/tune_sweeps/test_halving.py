"""Rungs and survivors, by hand."""

import pytest

from pipelines.corag.types import Configuration, TreeSettings
from tune_sweeps.halving import rung_ends, survivors


@pytest.mark.parametrize(
    ("questions", "first", "reduction", "ends"),
    [
        (100, 16, 2.0, [16, 32, 64, 100]),
        (64, 16, 2.0, [16, 32, 64]),
        (10, 16, 2.0, [10]),
        (100, 16, 1.0, [100]),
        (5, 1, 1.1, [1, 2, 3, 4, 5]),
        (30, 3, 3.0, [3, 9, 27, 30]),
    ],
)
def test_rungs_grow_to_all_questions(questions, first, reduction, ends) -> None:
    assert rung_ends(questions, first, reduction) == ends


def test_impossible_rungs() -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        rung_ends(0, 1, 2)


def _configurations(reranker: str, count: int) -> list[Configuration]:
    return [Configuration(reranker, TreeSettings(number + 1)) for number in range(count)]


def test_half_of_each_reranker_goes_on_however_they_compare() -> None:
    good, bad = _configurations("good", 4), _configurations("bad", 4)
    means = dict(zip(good + bad, [0.9, 0.8, 0.7, 0.6, 0.1, 0.4, 0.2, 0.3], strict=True))
    order = [good[0], bad[0], *good[1:], *bad[1:]]
    found = survivors(means, order, reduction=2, keep=1)
    assert found == [good[0], good[1], bad[1], bad[3]]


def test_keep_pinned_and_ties() -> None:
    rows = _configurations("r", 5)
    means = dict.fromkeys(rows, 0.5)
    assert survivors(means, rows, reduction=2, keep=1) == rows[:3]  # ceil(5 / 2), first wins
    assert survivors(means, rows, reduction=10, keep=2) == rows[:2]
    assert survivors(means, rows, reduction=10, keep=1, pinned=[rows[4]]) == [rows[0], rows[4]]
