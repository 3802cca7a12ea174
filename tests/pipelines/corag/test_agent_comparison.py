"""Baselines of the agent, with values worked out by hand."""

import pytest

from pipelines.corag.agent_comparison import (
    Measured,
    best_fixed,
    compare,
    live,
    nearest_label,
    oracle,
)
from pipelines.corag.labels import LabelError
from pipelines.corag.types import Configuration, TreeSettings
from pipelines.data.chunks import Question
from tests.pipelines.corag.label_toys import SPACE, label

LABELS = [
    label("p", "bm25", 0.2, 0.9, iterations=5),
    label("q", "bm25", 0.6, 0.9, iterations=5),
    label("p", "minilm", 0.5, 0.1, iterations=5),
    label("q", "minilm", 0.5, 0.1, iterations=5),
    label("p", "minilm", 1.0, 0.1, iterations=50),  # dropped before q
]


def test_best_fixed_is_the_best_mean_of_those_that_saw_all() -> None:
    # bm25 .4, minilm at 5 .5, minilm at 50 saw p only
    assert best_fixed(LABELS, ["p", "q"]) == Configuration("minilm", TreeSettings(5))
    assert best_fixed(LABELS, ["q"]) == Configuration("bm25", TreeSettings(5))
    with pytest.raises(LabelError, match="none of these questions"):
        best_fixed(LABELS, ["x"])


def test_oracle_takes_the_best_label_of_each_query() -> None:
    assert oracle(LABELS, ["p", "q"]) == {
        "p": Configuration("minilm", TreeSettings(50)),
        "q": Configuration("bm25", TreeSettings(5)),
    }
    with pytest.raises(LabelError, match="question x has no label"):
        oracle(LABELS, ["x"])


def test_nearest_label_keeps_the_reranker_and_says_if_it_is_exact() -> None:
    measure = nearest_label(LABELS, SPACE)
    near = measure({"p": Configuration("minilm", TreeSettings(30))})
    assert near["p"] == Measured(1.0, 0.1, exact=False)  # 30 is nearer to 50 than to 5
    assert measure({"p": Configuration("bm25", TreeSettings(50))})["p"].rouge_l == 0.2
    assert measure({"q": Configuration("bm25", TreeSettings(5))})["q"].exact
    with pytest.raises(LabelError, match="question p has no label with reranker gte"):
        measure({"p": Configuration("gte", TreeSettings())})


def test_comparison_gives_means_and_paired_differences() -> None:
    choices = {"oracle": oracle(LABELS, ["p", "q"]),
               "fixed": dict.fromkeys(["p", "q"], best_fixed(LABELS, ["p", "q"]))}  # fmt: skip
    compared = compare(choices, nearest_label(LABELS, SPACE))
    first, second = compared.results
    assert (first.method, first.queries, first.exact) == ("oracle", 2, 1.0)
    assert first.rouge_l == pytest.approx(0.8)
    assert first.reward == pytest.approx(0.5)
    assert second.rouge_l == pytest.approx(0.5)
    (difference,) = compared.differences
    assert difference.rouge_l == pytest.approx(0.3)  # (.5 + .1) / 2
    assert (difference.low, difference.high) == pytest.approx((0.1, 0.5))
    assert difference.p == pytest.approx(0.5, abs=0.02)  # 2 of the 4 sign patterns are as far


def test_live_measuring_runs_queries_of_one_configuration_together() -> None:
    calls = []

    class Fixed:
        def label(self, questions, configuration):
            calls.append((sorted(q.id for q in questions), configuration.reranker))
            for question in questions:
                yield label(question.id, configuration.reranker, 0.25, 0.75)

    questions = [Question(name, name) for name in "abc"]
    fixed = Configuration("bm25", TreeSettings())
    found = live(Fixed(), questions)(
        {"a": fixed, "b": Configuration("minilm", TreeSettings()), "c": fixed}
    )
    assert calls == [(["a", "c"], "bm25"), (["b"], "minilm")]
    assert found["b"] == Measured(0.25, 0.75)
    assert sorted(found) == ["a", "b", "c"]


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="no queries to compare on"):
        compare({"agent": {}}, nearest_label(LABELS, SPACE))
