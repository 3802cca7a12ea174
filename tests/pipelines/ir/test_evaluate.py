"""Measures by hand, and what an evaluation refuses."""

import math

import pytest

from actors.search.types import InfraFailure, QueryError, SearchResult
from pipelines.data.ir_sets import IRQuery, IRSet, Passage
from pipelines.ir.evaluate import evaluate_engine, measure_run, measures_within, tasks_of
from pipelines.ir.failures import IREvaluationError

SET = IRSet(
    "toy",
    tuple(Passage(f"d{n}", "", f"text {n}") for n in range(6)),
    (IRQuery("q1", "one"), IRQuery("q2", "two"), IRQuery("q3", "three"), IRQuery("q4", "none")),
    {"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d5": 1, "gone": 1}, "q3": {"gone": 1}, "q4": {}},
)


class Answers:
    """Gives each query its fixed outcome and keeps what it was asked."""

    def __init__(self, **outcomes):
        self.outcomes, self.asked = outcomes, []

    def search_many(self, requests):
        self.asked += requests
        return [self.outcomes.get(r.query, SearchResult((), 0)) for r in requests]


def hits(*ids, scores=None):
    scores = scores or [float(len(ids) - place) for place in range(len(ids))]
    return SearchResult(tuple(ids), len(ids), scores=tuple(scores))


def test_values_by_hand():
    engine = Answers(one=hits("d3", "d2", "d1"), two=hits("d0", "d5"))
    measures = ("nDCG@10", "R@2", "AP", "RR@10", "RR@1", "Success@1")
    seen = []
    result = evaluate_engine(engine, SET, 10, measures, progress=lambda *x: seen.append(x))
    dcg = 1 / math.log2(3) + 2 / math.log2(4)
    assert result.values["nDCG@10"]["q1"] == pytest.approx(dcg / (2 + 1 / math.log2(3)))
    assert result.values["AP"]["q1"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert result.values["RR@10"] == {"q1": 0.5, "q2": 0.5, "q3": 0.0}
    assert result.values["RR@1"] == {"q1": 0.0, "q2": 0.0, "q3": 0.0}
    assert result.values["R@2"] == {"q1": 0.5, "q2": 0.5, "q3": 0.0}
    assert result.means["R@2"] == pytest.approx(1 / 3)
    assert (result.queries, result.absent, result.query_errors) == (3, 2, {})
    assert [request.query for request in engine.asked] == ["one", "two", "three"]
    assert engine.asked[0].order == "relevance"
    assert seen == [(3, 3)]


def test_ties_count_in_trec_order_for_every_measure():
    """d2 stands before d1 at the same score, so relevant d1 is second."""
    tied = {"q": [("d1", 1.0), ("d2", 1.0)]}
    values = measure_run(tied, {"q": {"d1": 1}}, ("AP", "RR@10", "RR", "Success@1", "nDCG@10"))
    assert values["AP"]["q"] == values["RR"]["q"] == values["RR@10"]["q"] == 0.5
    assert values["Success@1"]["q"] == 0
    assert values["nDCG@10"]["q"] == pytest.approx(1 / math.log2(3))


def test_scores_that_differ_only_beyond_float32_are_ties():
    close = {"q": [("d1", 1.0 + 1e-9), ("d2", 1.0)]}
    assert measure_run(close, {"q": {"d1": 1}}, ("RR@10", "RR"))["RR"]["q"] == 0.5


def test_measures_are_trec_evals():
    """An independent path: pytrec_eval itself, on random runs with ties."""
    import random

    import pytrec_eval

    draw = random.Random(0)
    docs = [f"d{n}" for n in range(40)]
    qrels = {f"q{n}": {d: draw.choice([0, 1, 2]) for d in draw.sample(docs, 12)} for n in range(20)}
    run = {q: [(d, float(draw.randint(0, 9))) for d in draw.sample(docs, 30)] for q in qrels}
    ours = measure_run(run, qrels, ("nDCG@10", "R@20", "AP", "Success@5"))
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut_10", "recall_20", "map", "success_5"}
    ).evaluate({q: dict(found) for q, found in run.items()})
    for name, theirs_name in [
        ("nDCG@10", "ndcg_cut_10"), ("R@20", "recall_20"), ("AP", "map"),
        ("Success@5", "success_5"),
    ]:  # fmt: skip
        for query in qrels:
            assert ours[name][query] == pytest.approx(theirs[query][theirs_name])


def test_an_outage_is_never_zero_hits():
    engine = Answers(one=hits("d1"), two=InfraFailure("the disk is gone"))
    with pytest.raises(IREvaluationError, match=r"engine dense failed on query q2.*disk is gone"):
        evaluate_engine(engine, SET, 1000, name="dense")


def test_a_query_that_cannot_run_counts_as_no_hits_and_is_named():
    engine = Answers(one=hits("d1"), two=QueryError("only stop words", "two"))
    result = evaluate_engine(engine, SET, 10, ("R@10",))
    assert result.query_errors == {"q2": "only stop words"}
    assert result.values["R@10"]["q2"] == 0


@pytest.mark.parametrize(
    ("k", "measures", "words"),
    [
        (10, ("R@100",), "needs 100 hits a query, k is 10"),
        (10, ("precision at ten",), "'precision at ten' is unknown"),
        (10, ("MRR@10",), "write it RR@10"),
    ],
)
def test_measures_are_checked_before_anything_runs(k, measures, words):
    engine = Answers()
    with pytest.raises(IREvaluationError, match=words):
        evaluate_engine(engine, SET, k, measures)
    assert not engine.asked


def test_a_set_without_judgements_and_an_engine_without_scores():
    bare = IRSet("bare", SET.corpus, SET.queries, {q.id: {} for q in SET.queries})
    with pytest.raises(IREvaluationError, match="set bare has no query"):
        evaluate_engine(Answers(), bare)
    with pytest.raises(IREvaluationError, match="gives no scores"):
        evaluate_engine(Answers(one=SearchResult(("d1",), 1)), SET)


def test_tasks_hold_what_can_be_found():
    tasks = tasks_of(SET)
    assert [(t.id, t.need, t.relevant, t.corpus) for t in tasks] == [
        ("q1", "one", frozenset({"d1", "d2"}), "toy"),
        ("q2", "two", frozenset({"d5"}), "toy"),
    ]


def test_measures_that_need_more_hits_than_there_are_are_left_out():
    assert measures_within(1) == ["AP"]
    assert measures_within(10) == ["nDCG@10", "AP", "RR@10", "Success@5"]
    assert measures_within(1000) == ["nDCG@10", "R@100", "R@1000", "AP", "RR@10", "Success@5"]
