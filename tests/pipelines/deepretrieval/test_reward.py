import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.types import InfraFailure, QueryError, SearchResult
from pipelines.deepretrieval.answer import Answer, FormatError
from pipelines.deepretrieval.reward import (
    FORMAT_ERROR,
    INFRA_FAILURE,
    OK,
    QUERY_ERROR,
    SHAPES,
    Reward,
    Score,
    f1,
    first_rank,
    ndcg,
    precision,
    recall,
)

ANSWER = Answer("plan", "a AND b")
TIERS = [("7/10", 5), ("1/2", 4), ("2/5", 3), ("3/10", 1), ("1/10", 0.5), ("1/20", 0.1)]


def found_of(found, relevant):
    """Hits of which `found` are relevant, and the relevant set, of `relevant` records."""
    wanted = [str(n) for n in range(relevant)]
    return SearchResult((*wanted[:found], "other"), found + 1), frozenset(wanted)


def earned(shape, found, relevant):
    return Reward(shape, 0.0).score(ANSWER, *found_of(found, relevant)).reward


@pytest.mark.parametrize(("share", "points"), TIERS)
@pytest.mark.parametrize("times", [1, 3, 7, 11])
def test_a_recall_tier_begins_exactly_at_its_bound(share, points, times):
    bound = Fraction(share)
    assert earned("recall-tiers", bound.numerator * times, bound.denominator * times) == points


@pytest.mark.parametrize(
    ("found", "points"),
    zip(
        (100, 70, 69, 50, 49, 40, 39, 30, 29, 10, 9, 5, 4, 0),
        (5, 5, 4, 4, 3, 3, 1, 1, 0.5, 0.5, 0.1, 0.1, -3.5, -3.5),
        strict=True,
    ),
)
def test_recall_tiers_of_a_hundred_relevant_records(found, points):
    assert earned("recall-tiers", found, 100) == points


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_recall_tiers_are_those_of_exact_fractions(pair):
    share = Fraction(*pair)
    expected = next((points for bound, points in TIERS if share >= Fraction(bound)), -3.5)
    assert earned("recall-tiers", *pair) == expected


@pytest.mark.parametrize(
    ("rank", "points"),
    zip(
        (1, 5, 6, 20, 21, 50, 51, 100, 101, 1000, 1001, 3000, 3001),
        (5, 5, 4, 4, 2, 2, 1, 1, 0.5, 0.5, 0.1, 0.1, -3.5),
        strict=True,
    ),
)
def test_rank_tiers(rank, points):
    hits = SearchResult((*map(str, range(rank - 1)), "it", "too"), rank + 1)
    score = Reward("rank-tiers").score(ANSWER, hits, frozenset({"it", "too"}))
    assert score == Score(OK, 1 + points, 1.0)


def test_rank_tiers_without_a_relevant_hit():
    score = Reward("rank-tiers").score(ANSWER, SearchResult(("a",), 1), frozenset("z"))
    assert score == Score(OK, -2.5, 0.0)


def test_measures_by_hand():
    # Hits a x b y, relevant a b c: 2 of 3 found, 2 of 4 right, F1 = 2*2 / (4 + 3).
    # NDCG: gains at ranks 1 and 3, 1 + 1/2; ideal at ranks 1 to 3, 1 + 1/log2(3) + 1/2.
    ids, relevant = ("a", "x", "b", "y"), frozenset("abc")
    assert recall(ids, relevant) == pytest.approx(2 / 3)
    assert precision(ids, relevant) == 0.5
    assert f1(ids, relevant) == pytest.approx(4 / 7)
    assert ndcg(ids, relevant) == pytest.approx(0.703918, abs=1e-6)
    assert first_rank(ids, relevant) == 1
    assert first_rank(ids, frozenset("b")) == 3


def test_measures_without_hits():
    none = frozenset("abc")
    assert [m((), none) for m in (recall, precision, f1, ndcg, first_rank)] == [0, 0, 0, 0, None]


def test_ndcg_looks_at_ten_hits():
    eleven = tuple(map(str, range(11)))
    assert ndcg(eleven, frozenset({"10"})) == 0.0  # rank 11
    assert ndcg(eleven, frozenset({"9"})) == pytest.approx(1 / math.log2(11))  # rank 10
    assert ndcg(eleven, frozenset(eleven) | {"x"}) == pytest.approx(1.0)  # ideal: ten gains, too


@pytest.mark.parametrize(
    ("shape", "points"),
    [
        ("recall", 10 / 3),
        ("precision", 2.5),
        ("f1", 20 / 7),
        ("ndcg", 0.803918),
        ("recall-tiers", 4),
        ("rank-tiers", 5),
    ],
)
def test_every_shape_by_hand(shape, points):
    # The hits of `test_measures_by_hand`: recall 2/3, precision 1/2, F1 4/7, NDCG .7039.
    score = Reward(shape).score(ANSWER, SearchResult(tuple("axby"), 4), frozenset("abc"))
    assert score.status == OK
    assert score.reward == pytest.approx(1 + points, abs=1e-6)
    assert score.recall == pytest.approx(2 / 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_with_nothing_found(shape):
    score = Reward(shape).score(ANSWER, SearchResult(("x",), 1), frozenset("ab"))
    assert score == Score(OK, 1.0 if shape == "ndcg" else -2.5, 0.0)


def test_only_the_first_k_hits_count():
    # 5000 records match, the engine gave the first 2 of them (K = 2): one of two relevant is there.
    score = Reward().score(ANSWER, SearchResult(("a", "x"), 5000), frozenset("ab"))
    assert score == Score(OK, 5.0, 0.5)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_malformed_answer_earns_the_format_penalty_and_nothing_else(shape):
    reward = Reward(shape)
    for outcome in (None, SearchResult(("a",), 1)):
        score = reward.score(FormatError("no"), outcome, frozenset("a"))
        assert score == Score(FORMAT_ERROR, -4.0, 0.0)


def test_a_query_the_engine_cannot_parse_is_wrong_in_format():
    score = Reward().score(ANSWER, QueryError("nothing", ANSWER.query), frozenset("a"))
    assert score == Score(QUERY_ERROR, -4.0, 0.0)


def test_an_infrastructure_failure_is_not_scored():
    score = Reward().score(ANSWER, InfraFailure("outage"), frozenset("a"))
    assert score == Score(INFRA_FAILURE, None, None)


def test_the_format_scores_are_configured():
    reward = Reward("ndcg", format_right=0.1, format_wrong=-2.0)
    assert reward.score(FormatError("no"), None, frozenset("a")).reward == -2.0
    # First hit right: NDCG 1, so .1 for the format and .1 + 1 for the answer.
    score = reward.score(ANSWER, SearchResult(("a",), 1), frozenset("a"))
    assert score.reward == pytest.approx(1.2)


def test_mistakes_of_the_caller_are_errors():
    with pytest.raises(ValueError, match="no reward shape 'accuracy'; there are recall-tiers"):
        Reward("accuracy")
    with pytest.raises(ValueError, match="no search outcome"):
        Reward().score(ANSWER, None, frozenset("a"))
