"""Baselines without a search, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.corag.baselines import document_order_search, mmr_order, mmr_search, naive_search
from tests.pipelines.corag.searching import drive


def scored(singles, final=0.42):
    return lambda order: singles[order[0]] if len(order) == 1 else final


def test_naive_fills_by_score_and_skips_what_does_not_fit():
    # by score 1, 3, 0, 2; 1 (5) fits, 3 (6) does not any more, 0 (3) and 2 (2) do: 10 of 10
    selection, asks = drive(naive_search([3, 5, 2, 6, 11], 10), scored([0.3, 0.9, 0.1, 0.8]))
    assert asks == [[(0,), (1,), (2,), (3,)], [(1, 0, 2)]]
    assert (selection.order, selection.cost, selection.reward) == ((1, 0, 2), 10, 0.42)
    assert selection.iterations == 2


def test_naive_ties_go_to_the_lower_cost_then_to_the_first():
    selection, _ = drive(naive_search([3, 2, 2], 7), scored([0.5, 0.5, 0.5]))
    assert selection.order == (1, 2, 0)


def test_naive_does_not_score_a_single_chunk_twice():
    selection, asks = drive(naive_search([6, 7], 8), scored([0.2, 0.7]))
    assert asks == [[(0,), (1,)]]
    assert (selection.order, selection.cost, selection.reward) == ((1,), 7, 0.7)


def test_document_order_puts_the_naive_chunks_in_reading_order():
    # naive order 4, 0, 3, 1 (2 does not fit): b5, a2, b1, a7 -> document b first, as its chunk 4 is
    # the best of all, then a; each in reading order
    positions = [("a", 2), ("a", 7), ("c", 1), ("b", 1), ("b", 5)]
    scores = [0.8, 0.2, 0.1, 0.4, 0.9]
    selection, asks = drive(document_order_search([2, 2, 9, 2, 2], 10, positions), scored(scores))
    assert asks[1] == [(3, 4, 0, 1)]
    assert (selection.order, selection.cost, selection.reward) == ((3, 4, 0, 1), 8, 0.42)


def test_document_order_wants_a_position_for_each_chunk():
    with pytest.raises(ValueError, match="1 positions for 2 costs"):
        document_order_search([1, 1], 2, [("a", 0)])


def test_mmr_by_hand():
    # Chunk 1 is a copy of 0, chunk 2 is orthogonal to both. First 0 (.9 is the greatest), then
    # 1: .5 x .8 - .5 x 1 = -.1 against 2: .5 x .3 - 0 = .15, then 1.
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    similarities = np.array([0.9, 0.8, 0.3])
    assert mmr_order([1, 1, 1], 3, similarities, vectors, 0.5) == (0, 2, 1)
    # by relevance alone the copy comes second
    assert mmr_order([1, 1, 1], 3, similarities, vectors, 1.0) == (0, 1, 2)
    # 0 does not fit a budget of 4 tokens, 1 and 2 do
    assert mmr_order([5, 2, 2], 4, similarities, vectors, 0.5) == (1, 2)
    selection, asks = drive(mmr_search([1, 1, 1], 2, similarities, vectors), lambda order: 0.6)
    assert asks == [[(0, 2)]]
    assert (selection.order, selection.cost, selection.reward) == ((0, 2), 2, 0.6)


def test_mmr_takes_the_greatest_similarity_to_what_is_chosen():
    # After 0 and 1 chunk 2 is .8 near to 0, chunk 3 .6 near to 1: 3 comes first.
    vectors = np.array([[1.0, 0, 0], [0, 1, 0], [0.8, 0, 0.6], [0, 0.6, 0.8]])
    assert mmr_order([1] * 4, 4, np.array([0.9, 0.9, 0.5, 0.5]), vectors, 0.5) == (0, 1, 3, 2)


@pytest.mark.parametrize(
    ("similarities", "vectors", "weight", "says"),
    [
        (np.zeros(3), np.zeros((2, 4)), 0.5, r"similarities \(3,\)"),
        (np.zeros(2), np.zeros((3, 4)), 0.5, r"vectors \(3, 4\)"),
        (np.zeros(2), np.zeros(2), 0.5, r"vectors \(2,\)"),
        (np.zeros(2), np.zeros((2, 4)), 1.5, "weight is 1.5"),
    ],
)
def test_mmr_input_that_does_not_fit(similarities, vectors, weight, says):
    with pytest.raises(ValueError, match=says):
        mmr_search([1, 1], 2, similarities, vectors, weight)


@given(st.lists(st.integers(1, 9), max_size=7), st.integers(0, 30), st.integers(0, 100))
def test_every_baseline_keeps_the_budget(costs, budget, seed):
    rng = np.random.default_rng(seed)
    count = len(costs)
    scores = rng.random(count).round(1)
    vectors = rng.normal(size=(count, 4))
    positions = [(f"{rng.integers(3)}", int(rng.integers(9))) for _ in costs]
    naive, *others = [
        drive(search, scored(scores))
        for search in (
            naive_search(costs, budget),
            document_order_search(costs, budget, positions),
            mmr_search(costs, budget, scores, vectors),
        )
    ]
    for selection, asks in (naive, *others):
        for order in (selection.order, *(order for ask in asks for order in ask)):
            assert sum(costs[chunk] for chunk in order) <= budget
            assert len(set(order)) == len(order)
        assert selection.cost == sum(costs[chunk] for chunk in selection.order)
        # nothing that is left would still fit
        left = [tokens for chunk, tokens in enumerate(costs) if chunk not in selection.order]
        assert all(selection.cost + tokens > budget for tokens in left)
        if not selection.order:
            assert asks == []
            assert (selection.reward, selection.iterations) == (0.0, 0)
    assert sorted(naive[0].order) == sorted(others[0][0].order)


@pytest.mark.parametrize("search", [naive_search, lambda c, b: document_order_search(c, b, [])])
def test_bad_costs(search):
    with pytest.raises(ValueError, match="candidate 0 costs 0"):
        search([0], 3)
