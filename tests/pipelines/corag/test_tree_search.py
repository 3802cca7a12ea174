"""The policy tree as a search, on figure 1 of the paper and at its edges."""

import random

import pytest

from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import Selection, TreeSettings
from tests.pipelines.corag.searching import drive, fig_1


@pytest.mark.parametrize("budget", [512, 768, 1024, 1100])
@pytest.mark.parametrize("pick", ["average", "reward"])
@pytest.mark.parametrize("wave", [1, 2, 4])
def test_figure_1_of_the_paper(budget, pick, wave):
    settings = TreeSettings(wave=wave, pick=pick)  # the paper's defaults but for these
    selection, _ = drive(tree_search([256] * 4, budget, settings), fig_1)
    assert selection.order == (3, 2)
    assert (selection.cost, selection.reward) == (512, 0.9)


def test_figure_1_with_everything_expanded():
    # With 768 tokens x4,x3 has two children of .1: its average falls to .5, and the average picks
    # x1,x2,x4 with .6, a leaf. Its own reward stays the best.
    for pick, order, reward in (("average", (0, 1, 3), 0.6), ("reward", (3, 2), 0.9)):
        settings = TreeSettings(iterations=1000, pick=pick)
        selection, _ = drive(tree_search([256] * 4, 768, settings), fig_1)
        assert (selection.order, selection.reward) == (order, reward)
        # the root, 4 single chunks and 12 pairs can be expanded
        assert selection.iterations == 17


def test_reward_is_the_chosen_orders_own():
    # (0,) is picked on its average (.9 + .8) / 2, and was itself given .9
    rewards = {(0,): 0.9, (1,): 0.1, (0, 1): 0.8, (1, 0): 0.1}
    selection, asks = drive(tree_search([1, 1], 2, TreeSettings(iterations=2)), rewards.__getitem__)
    assert asks == [[(0,), (1,)], [(0, 1)]]
    assert selection.order == (0,)
    assert selection.reward == 0.9
    assert selection.tree.best().average == pytest.approx(0.85)


@pytest.mark.parametrize(("costs", "budget"), [([], 100), ([300, 200], 150), ([1], 0)])
def test_nothing_fits_nothing_is_asked(costs, budget):
    selection, asks = drive(tree_search(costs, budget, TreeSettings()), fig_1)
    assert asks == []
    assert (selection.order, selection.cost, selection.reward) == ((), 0, 0.0)
    assert selection.iterations == 0


def test_one_chunk():
    selection, asks = drive(tree_search([7], 10, TreeSettings()), fig_1)
    assert asks == [[(0,)]]
    assert (selection.order, selection.cost, selection.iterations) == ((0,), 7, 1)


def test_iterations_count_leaves_up_to_the_limit():
    settings = TreeSettings(iterations=7, wave=4)
    selection, asks = drive(tree_search([1] * 10, 10, settings), lambda order: 0.5)
    # 1, then 4, then the 2 that are left
    assert [len({order[:-1] for order in ask}) for ask in asks] == [1, 4, 2]
    assert selection.iterations == 7


def test_impossible_costs_are_refused_before_anything_is_asked():
    with pytest.raises(ValueError, match="candidate 1 costs 0"):
        tree_search([3, 0], 10, TreeSettings())


def test_a_missing_reward_ends_the_search():
    search = tree_search([1, 1], 2, TreeSettings())
    next(search)
    with pytest.raises(ValueError, match="2 orders were asked for, rewards received: 1"):
        search.send([0.5])


def test_what_other_searches_do_in_between_changes_nothing():
    def run(beside: int) -> list[Selection]:
        searches = [
            tree_search([2, 1, 2, 1], 5, TreeSettings(iterations=12, wave=3)) for _ in range(beside)
        ]
        asks = {place: next(search) for place, search in enumerate(searches)}
        ended: dict[int, Selection] = {}
        shuffle = random.Random(beside)
        while asks:
            place = shuffle.choice(sorted(asks))
            rewards = [random.Random(f"{order}").random() for order in asks[place]]
            try:
                asks[place] = searches[place].send(rewards)
            except StopIteration as end:
                ended[place] = end.value
                del asks[place]
        return [ended[place] for place in range(beside)]

    (alone,) = run(1)
    for selection in run(4):
        assert selection.tree.nodes == alone.tree.nodes
        assert selection.order == alone.order
