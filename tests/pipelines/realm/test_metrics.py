import math
import random

import pytest

from pipelines.realm.metrics import (
    exact_match,
    f1,
    normalise,
    paired_bootstrap,
    precision_at,
    recall_at,
    reciprocal_rank,
)

CASES = [
    # answer, golds, EM, F1 (by hand from the official rules)
    ("The Beatles", ("Beatles",), 1, 1),
    ("the beatles!", ("The Beatles",), 1, 1),
    ("beatles", ("The Rolling Stones",), 0, 0),
    ("Walt Disney Pictures.", ("Walt Disney Pictures",), 1, 1),
    ("Walt Disney", ("Walt Disney Pictures",), 0, 0.8),  # 2 of 2 and 2 of 3: 2*2/(2+3)
    ("in Roseau, Minnesota", ("Roseau, Minnesota, USA",), 0, 2 / 3),  # 2*2/(3+3)
    ("yes", ("yes",), 1, 1),
    ("Yes.", ("yes",), 1, 1),
    ("yes", ("no",), 0, 0),
    ("yes it is", ("yes",), 0, 0),  # a verdict is never partly right
    ("no", ("no way",), 0, 0),
    ("noanswer", ("answer",), 0, 0),
    ("noanswer", ("noanswer",), 1, 1),
    ("yes and no", ("yes or no",), 0, 2 / 3),  # neither side is a verdict: 2*2/(3+3)
    ("", ("",), 1, 0),  # no shared word
    ("the", ("a",), 1, 0),  # both empty when normalised
    ("", ("Paris",), 0, 0),
    ("...", ("Paris",), 0, 0),
    ("Kościuszko", ("Kosciuszko",), 0, 0),  # accents are kept
    ("KOŚCIUSZKO", ("Kościuszko",), 1, 1),
    ("1596–1650", ("1596-1650",), 0, 0),  # only ASCII punctuation goes; "15961650" is the gold
    ("1596-1650", ("15961650",), 1, 1),
    ("«Solaris»", ("Solaris",), 0, 0),  # quotation marks beyond ASCII stay
    ('"Solaris"', ("Solaris",), 1, 1),
    ("rock 'n' roll", ("rock n roll",), 1, 1),
    ("AN apple a day", ("apple day",), 1, 1),
    ("the theme", ("theme",), 1, 1),  # an article is a whole word
    ("A-Ha", ("aha",), 1, 1),  # punctuation goes before articles: "aha", not "ha"
    ("a\u00a0b\tc", ("b c",), 1, 1),  # any white space parts words
    ("New York New York", ("New York",), 0, 2 / 3),  # a word counts as often as both have it
    ("US", ("America", "the U.S.", "United States"), 1, 1),  # the best of the golds
    ("United Kingdom", ("America", "United States"), 0, 0.5),
    ("anything", (), 0, 0),
]


@pytest.mark.parametrize(("answer", "golds", "em", "best"), CASES)
def test_answers_are_compared_by_the_official_rules(answer, golds, em, best):
    assert exact_match(answer, golds) == em
    assert f1(answer, golds) == pytest.approx(best)


def test_normalisation_steps():
    assert normalise("  The  Quick, (brown) fox's an a DEN ") == "quick brown foxs den"
    assert normalise("a.k.a. The Boss") == "aka boss"


def test_recall_precision_and_rank_by_hand():
    ids, relevant = ["d", "a", "d", "x", "b", "c"], {"a", "b", "z"}
    # different ones in order: d a x b c
    assert recall_at(ids, relevant, 2) == 1 / 3
    assert recall_at(ids, relevant, 4) == 2 / 3
    assert recall_at(ids, relevant, 99) == 2 / 3
    assert precision_at(ids, relevant, 4) == 0.5
    assert precision_at(["a"], relevant, 5) == 0.2
    assert reciprocal_rank(ids, relevant) == 0.5
    assert reciprocal_rank(["q"], relevant) == 0.0
    assert reciprocal_rank([], relevant) == 0.0
    assert recall_at([], relevant, 5) == 0.0


def test_recall_of_nothing_and_k_below_one_are_errors():
    with pytest.raises(ValueError, match="recall of nothing"):
        recall_at(["a"], set(), 5)
    for measure in (recall_at, precision_at):
        with pytest.raises(ValueError, match="k is 0"):
            measure(["a"], {"a"}, 0)


def test_bootstrap_of_a_constant_difference_is_that_constant():
    found = paired_bootstrap([0.5, 0.75, 1.0], [0.25, 0.5, 0.75], resamples=100)
    assert (found.mean, found.low, found.high, found.questions) == (0.25, 0.25, 0.25, 3)
    assert found.p == 0.02  # no resample at or below zero: counted as one of 100, twice


def test_bootstrap_of_no_difference_has_p_one():
    found = paired_bootstrap([1.0, 0.0], [1.0, 0.0], resamples=100)
    assert (found.mean, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_bootstrap_interval_is_near_the_normal_one():
    draw = random.Random(1)
    a = {str(n): draw.gauss(0.1, 1) for n in range(400)}
    b = dict.fromkeys(a, 0.0)
    found = paired_bootstrap(a, b, seed=42)
    mean = sum(a.values()) / 400
    spread = math.sqrt(sum((x - mean) ** 2 for x in a.values()) / 400 / 400)
    assert found.mean == pytest.approx(mean)
    assert found.low == pytest.approx(mean - 1.96 * spread, abs=0.01)
    assert found.high == pytest.approx(mean + 1.96 * spread, abs=0.01)
    assert found == paired_bootstrap(a, b, seed=42)
    assert found != paired_bootstrap(a, b, seed=123)


def test_bootstrap_goes_by_question_not_by_place():
    assert paired_bootstrap({"x": 1.0, "y": 0.0}, {"y": 0.0, "x": 1.0}).mean == 0
    for a, b in (
        ({"x": 1.0}, {"y": 1.0}),
        ([1.0], [1.0, 2.0]),
        ({}, {}),
        ([], []),
        ([1], {"x": 1}),
    ):
        with pytest.raises(ValueError, match="same questions"):
            paired_bootstrap(a, b)
