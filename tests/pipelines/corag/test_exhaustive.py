"""CORAG Upper against every permutation."""

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.corag.exhaustive import exhaustive_search, orders_within
from tests.pipelines.corag.searching import drive, fig_1


def test_figure_1_of_the_paper():
    selection, asks = drive(exhaustive_search([256] * 4, 768), fig_1)
    assert (selection.order, selection.cost, selection.reward) == ((3, 2), 512, 0.9)
    # 4 single chunks, 12 pairs, 24 triples
    assert sum(map(len, asks)) == 40


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(1, 6), max_size=6),
    st.integers(0, 25),
    st.integers(1, 5),
    st.integers(1, 50),
    st.integers(0, 10**6),
)
def test_agrees_with_all_permutations(costs, budget, longest, ask_size, seed):
    # few different rewards: the ties must go to the lower cost
    utility = lambda order: random.Random(f"{seed}{order}").randrange(4) / 4  # noqa: E731
    every = {
        order
        for length in range(1, longest + 1)
        for order in permutations(range(len(costs)), length)
        if sum(costs[chunk] for chunk in order) <= budget
    }
    selection, asks = drive(exhaustive_search(costs, budget, longest, ask_size), utility)
    asked = [order for ask in asks for order in ask]
    assert len(asked) == len(every)
    assert set(asked) == every
    assert all(len(ask) <= ask_size for ask in asks)
    assert selection.iterations == len(asks)
    if every:
        merits = {order: (utility(order), -sum(costs[chunk] for chunk in order)) for order in every}
        assert (selection.reward, -selection.cost) == max(merits.values())
        assert selection.order == next(o for o in asked if merits[o] == max(merits.values()))
    else:
        assert (selection.order, selection.cost, selection.reward) == ((), 0, 0.0)


def test_orders_come_as_in_a_dictionary():
    assert list(orders_within([1, 1, 5], 2, 5)) == [(0,), (0, 1), (1,), (1, 0)]


def test_orders_are_made_as_they_are_asked_for():
    # 60 candidates have 665 million orders of up to 5; the first ask comes at once
    search = exhaustive_search([1] * 60, 1000, ask_size=100)
    assert len(next(search)) == 100


def test_bad_bounds():
    with pytest.raises(ValueError, match="longest is 0"):
        exhaustive_search([1], 1, longest=0)
    with pytest.raises(ValueError, match="ask_size is 0"):
        exhaustive_search([1], 1, ask_size=0)
    with pytest.raises(ValueError, match="candidate 0 costs 0"):
        exhaustive_search([0], 1)
