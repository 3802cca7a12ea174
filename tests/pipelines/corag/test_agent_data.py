"""What is learned from: targets and splits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.corag.agent_data import Target, split_queries, targets
from pipelines.corag.labels import LabelError
from pipelines.corag.space import SearchSpace
from pipelines.corag.types import Configuration, TreeSettings
from tests.pipelines.corag.label_toys import SPACE, label


def _target(best: float, worst: float) -> Target:
    return Target("q", "q", Configuration("bm25", TreeSettings()), best, worst)


def test_over_ten_per_cent_relative_and_in_points() -> None:
    # .5 against .45 is exactly 10 % of .5, not over it; 5 points.
    assert not _target(0.5, 0.45).differs(0.1)
    assert _target(0.5, 0.449).differs(0.1)
    assert not _target(0.5, 0.449).differs(0.1, relative=False)
    assert _target(0.5, 0.39).differs(0.1, relative=False)
    assert not _target(0.0, 0.0).differs(0.0)


def test_rerankers_are_compared_at_their_own_best_settings() -> None:
    labels = [
        label("q", "bm25", 0.2, iterations=10),
        label("q", "bm25", 0.6, iterations=20),
        label("q", "minilm", 0.5, iterations=10),
        label("q", "minilm", 0.1, iterations=20),
    ]
    (target,) = targets(labels, SPACE, ["q"], [])
    assert (target.best, target.worst) == (0.6, 0.5)
    assert target.configuration == Configuration("bm25", TreeSettings(20))


def test_equals_are_settled_by_the_training_mean_then_by_fewer_iterations() -> None:
    tied = [label("q", "bm25", 0.5, iterations=20), label("q", "bm25", 0.5, iterations=10)]
    (plain,) = targets(tied, SPACE, ["q"], [])
    assert plain.configuration.settings.iterations == 10
    before = [label("p", "bm25", 0.9, iterations=20), label("p", "bm25", 0.1, iterations=10)]
    (informed,) = targets(tied + before, SPACE, ["q"], ["p"])
    assert informed.configuration.settings.iterations == 20
    # what is not trained on has no say
    (blind,) = targets(tied + before, SPACE, ["q"], [])
    assert blind.configuration.settings.iterations == 10


def test_queries_without_labels_and_foreign_rerankers_are_named() -> None:
    with pytest.raises(LabelError, match="question x has no label"):
        targets([label("q")], SPACE, ["x"], [])
    with pytest.raises(LabelError, match="question q: reranker 'bm25' is none of this space"):
        targets([label("q"), label("q", iterations=11)], SearchSpace(("gte",)), ["q"], [])


@given(st.integers(7, 400), st.integers(0, 5))
def test_a_split_is_a_partition_in_the_shares(count: int, seed: int) -> None:
    texts = {f"q{number}": f"text {number}" for number in range(count)}
    split = split_queries(texts, seed)
    parts = (split.train, split.validation, split.test)
    assert sorted(query for part in parts for query in part) == sorted(texts)
    for part, share in zip(parts, (0.7, 0.15, 0.15), strict=True):
        assert abs(len(part) - share * count) <= 1
    assert split == split_queries(dict(reversed(texts.items())), seed)


def test_seeds_differ_and_equal_questions_stay_together() -> None:
    texts = {}
    for number in range(20):
        texts[f"a{number}"] = f"What is {number}?"
        texts[f"b{number}"] = f" WHAT  is {number}?"
    split = split_queries(texts, 0)
    assert split != split_queries(texts, 1)
    for part in (split.train, split.validation, split.test):
        numbers = {query[1:] for query in part}
        assert sorted(part) == sorted(letter + n for n in numbers for letter in "ab")


def test_too_few_questions_cannot_be_split() -> None:
    with pytest.raises(LabelError, match="2 different questions cannot be split 70%/15%/15%"):
        split_queries({"a": "x", "b": "X ", "c": "y"}, 0)
