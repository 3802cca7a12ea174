"""How well a score triggers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.uncertainty.quality import auroc, best_trigger, trigger

SCORES, NEEDED = [0.9, 0.7, 0.6, 0.2], [True, False, True, False]


def test_trigger_by_hand():
    found = trigger(SCORES, NEEDED, 0.65)
    assert (found.precision, found.recall, found.rate) == (0.5, 0.5, 0.5)
    assert found.f1 == 0.5
    assert trigger(SCORES, NEEDED, 0.9).precision == 0  # over it, not at it


def test_best_trigger_by_hand():
    # fired 1: f1 2/3; 2: 1/2; 3: 4/5; 4: 2/3
    found = best_trigger(SCORES, NEEDED)
    assert found.threshold == pytest.approx(0.4)
    assert (found.precision, found.recall, found.f1) == pytest.approx((2 / 3, 1, 0.8))


def test_auroc_by_hand():
    # pairs: .9 beats both, .6 beats .2 and loses to .7
    assert auroc(SCORES, NEEDED) == 0.75
    assert auroc([1, 1], [True, False]) == 0.5


def test_what_cannot_be_told():
    for steps in ([0.1], []):
        with pytest.raises(ValueError, match="no step needed"):
            trigger(steps, [False] * len(steps), 0.5)
    with pytest.raises(ValueError, match="all steps"):
        auroc([0.1], [True])
    with pytest.raises(ValueError, match="2 scores for 1"):
        auroc([0.1, 0.2], [True])


ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1
).filter(lambda rows: any(need for _, need in rows))


@given(ROWS)
def test_best_of_all_thresholds(rows):
    scores, needed = zip(*rows, strict=True)
    found = best_trigger(scores, needed)
    every = [trigger(scores, needed, t) for t in (-1, 0.1, 0.3, 0.7)]
    assert found.f1 == pytest.approx(max(each.f1 for each in every))
    assert trigger(scores, needed, found.threshold) == found


@given(ROWS.filter(lambda rows: not all(need for _, need in rows)))
def test_auroc_counts_pairs(rows):
    high = [score for score, need in rows if need]
    low = [score for score, need in rows if not need]
    wins = sum((a > b) + (a == b) / 2 for a in high for b in low)
    scores, needed = zip(*rows, strict=True)
    assert auroc(scores, needed) == pytest.approx(wins / len(high) / len(low))
