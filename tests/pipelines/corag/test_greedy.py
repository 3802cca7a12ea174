"""Greedy by marginal gain, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.corag.greedy import greedy_search
from tests.pipelines.corag.searching import drive, fig_1


def test_figure_1_is_where_greedy_goes_wrong():
    # x1 is the best single chunk (.3), x3 the best to follow it (.4), and every triple is worse
    selection, asks = drive(greedy_search([256] * 4, 768), fig_1)
    assert (selection.order, selection.cost, selection.reward) == ((0, 2), 512, 0.4)
    assert [len(ask) for ask in asks] == [4, 3, 2]
    assert selection.iterations == 3


def test_stops_when_the_reward_does_not_rise():
    selection, asks = drive(greedy_search([1, 1, 1], 3), lambda order: 0.5)
    assert selection.order == (0,)
    assert len(asks) == 2


def test_takes_a_first_chunk_of_no_reward_and_the_cheaper_of_equals():
    selection, _ = drive(greedy_search([3, 2, 2], 9), lambda order: 0.0)
    assert (selection.order, selection.cost, selection.reward) == ((1,), 2, 0.0)


def test_does_not_ask_over_the_budget():
    selection, asks = drive(greedy_search([5, 4, 3], 8), lambda order: len(order) / 10)
    # all singles tie: the cheapest, then what fits beside it
    assert asks == [[(0,), (1,), (2,)], [(2, 0), (2, 1)]]
    assert selection.order == (2, 1)


@given(st.lists(st.integers(1, 9), max_size=6), st.integers(0, 30))
def test_keeps_the_budget(costs, budget):
    selection, asks = drive(greedy_search(costs, budget), lambda order: sum(order) % 7 / 7)
    cost = lambda order: sum(costs[chunk] for chunk in order)  # noqa: E731
    assert all(cost(order) <= budget for ask in asks for order in ask)
    assert selection.cost == cost(selection.order) <= budget
    assert bool(asks) == any(tokens <= budget for tokens in costs)
    if not asks:
        assert (selection.order, selection.reward) == ((), 0.0)


def test_bad_cost():
    with pytest.raises(ValueError, match="candidate 0 costs -1"):
        greedy_search([-1], 3)
