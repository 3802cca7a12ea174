"""The policy tree: by hand, against a plain reference, against brute force."""

import math
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.corag.tree import PolicyTree
from pipelines.corag.types import Order, TreeSettings
from tests.pipelines.corag.reference_tree import Node, ReferenceTree

HAND_COSTS = [100, 200, 100]
HAND = {(0,): 0.5, (1,): 0.4, (2,): 0.2, (0, 1): 0.3, (0, 2): 0.9, (1, 0): 0.1, (1, 2): 0.6}


def grow(tree: PolicyTree, utility, waves: int | None = None) -> list[list[Order]]:
    asked = []
    while (waves is None or len(asked) < waves) and (orders := tree.select()):
        asked.append(orders)
        tree.update([utility(order) for order in orders])
    return asked


def rough_utility(seed: int, values: int = 7):
    """Few different rewards, so that ties occur; the same order always gets the same one."""
    return lambda order: random.Random(f"{seed} {order}").randrange(values) / values


def by_order(tree: PolicyTree):
    return {node.order: node for node in tree.nodes}


def test_statistics_of_three_iterations_by_hand():
    tree = PolicyTree(HAND_COSTS, 300, TreeSettings(iterations=3, c=2.0, cost_weight=0.1))
    assert tree.select() == [(0,), (1,), (2,)]
    tree.update([0.5, 0.4, 0.2])
    # N: three children and the root, once each
    assert (tree.visits, tree.iterations) == (4, 1)
    assert (tree.node(0).value, tree.node(0).visits) == (0.5, 1)
    assert tree.utility(1) == pytest.approx(0.5 + 2 * math.sqrt(math.log(4)) - 0.1 * 100 / 300)
    assert tree.utility(2) == pytest.approx(0.4 + 2 * math.sqrt(math.log(4)) - 0.1 * 200 / 300)

    assert tree.select() == [(0, 1), (0, 2)]
    tree.update([0.3, 0.9])
    # two children, then node (0,) and the root once more: 4 + 2 + 2
    assert tree.visits == 8
    node = by_order(tree)
    assert (node[0,].value, node[0,].visits, node[0,].reward) == (pytest.approx(1.4), 2, 0.5)
    assert (node[()].value, node[()].visits) == (pytest.approx(1.4), 2)
    assert (node[1,].value, node[1,].visits) == (0.4, 1)
    assert tree.utility(1) == pytest.approx(0.7 + 2 * math.sqrt(math.log(8) / 2) - 1 / 30)  # 2.706
    assert tree.utility(2) == pytest.approx(0.4 + 2 * math.sqrt(math.log(8)) - 2 / 30)  # 3.217

    assert tree.select() == [(1, 0), (1, 2)]
    tree.update([0.1, 0.6])
    assert tree.visits == 12
    node = by_order(tree)
    assert (node[1,].value, node[1,].visits) == (pytest.approx(1.0), 2)
    assert (node[()].value, node[()].visits) == (pytest.approx(2.0), 3)
    assert node[0,].average == pytest.approx(0.7)
    assert tree.select() == []
    best = tree.best()
    assert (best.order, best.cost, best.reward) == ((0, 2), 200, 0.9)


def test_a_subtree_with_nothing_left_does_not_trap_the_walk():
    # Without exploration (0,) stays the best child of the root, yet nothing fits below (0, 1) and
    # (0, 2): the third iteration goes to (1,), the fourth to (2,), and then all is expanded.
    tree = PolicyTree(HAND_COSTS, 300, TreeSettings(iterations=50, c=0.0))
    asked = grow(tree, lambda order: HAND.get(order, 0.05))
    assert asked == [
        [(0,), (1,), (2,)],
        [(0, 1), (0, 2)],
        [(1, 0), (1, 2)],
        [(2, 0), (2, 1)],
    ]
    assert tree.finished
    assert tree.iterations == 4


def test_utility_of_cost_turns_the_walk():
    # equal rewards, no exploration: lambda prefers the cheap chunk, without it the first goes first
    for weight, second in ((0.5, (1, 0)), (0.0, (0, 1))):
        tree = PolicyTree([200, 100], 300, TreeSettings(iterations=2, c=0.0, cost_weight=weight))
        assert grow(tree, lambda order: 0.5)[1] == [second]


def test_pick_by_average_reward_is_not_pick_by_own_reward():
    rewards = {(0,): 0.8, (1,): 0.5, (0, 1): 0.1, (1, 0): 0.2}
    for pick, order in (("average", (1,)), ("reward", (0,))):
        tree = PolicyTree([10, 10], 20, TreeSettings(iterations=2, c=0.0, pick=pick))
        grow(tree, rewards.__getitem__)
        # (0,): V = .8 + .1 over 2 visits is .45, below the .5 of (1,)
        assert by_order(tree)[0,].average == pytest.approx(0.45)
        assert tree.best().order == order


def test_ties_of_the_pick_go_to_the_lower_cost_then_to_the_first():
    tree = PolicyTree([30, 20, 20], 30, TreeSettings(iterations=1))
    grow(tree, lambda order: 0.7)
    assert tree.best().order == (1,)


def test_averages_that_differ_by_rounding_tie():
    # three times .1 is a little over .3 in binary; the cheaper chunk with .1 from one visit wins
    tree = PolicyTree([20, 10, 20], 50, TreeSettings(iterations=3, c=0.0, cost_weight=0.0))
    grow(tree, lambda order: 0.1)
    assert by_order(tree)[0,].average > 0.1 == by_order(tree)[1,].average
    assert tree.best().order == (1,)


@st.composite
def problems(draw, most=6):
    costs = draw(st.lists(st.integers(1, 9), min_size=1, max_size=most))
    budget = draw(st.integers(0, sum(costs) + 2))
    tree_settings = TreeSettings(
        iterations=draw(st.integers(1, 25)),
        c=draw(st.sampled_from([0.0, 0.05, 0.3, 1.0, 2.4])),
        cost_weight=draw(st.sampled_from([0.0, 0.1, 1.0])),
        wave=draw(st.integers(1, 6)),
        pick=draw(st.sampled_from(["average", "reward"])),
    )
    return costs, budget, tree_settings, draw(st.integers(0, 10**6))


def assert_same(tree: PolicyTree, reference: ReferenceTree) -> None:
    def row(node: Node):
        parent = node.parent.order if node.parent else None
        return (node.order, parent, node.reward, node.value, node.visits, len(node.children))

    nodes = tree.nodes
    assert [
        (
            node.order,
            None if node.slot == 0 else nodes[node.parent].order,
            node.reward,
            node.value,
            node.visits,
            len(node.children),
        )
        for node in nodes
    ] == [row(node) for node in reference.created]


@settings(max_examples=150, deadline=None)
@given(problems())
def test_equals_the_plain_reference_node_for_node(problem):
    costs, budget, tree_settings, seed = problem
    utility = rough_utility(seed)
    tree = PolicyTree(costs, budget, tree_settings)
    grow(tree, utility)
    reference = ReferenceTree(costs, budget, tree_settings, utility)
    reference.run()
    assert_same(tree, reference)
    assert tree.iterations == reference.iterations
    assert tree.visits == sum(node.visits for node in tree.nodes)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_never_over_budget_never_twice_never_over_the_limit(problem):
    costs, budget, tree_settings, seed = problem
    tree = PolicyTree(costs, budget, tree_settings)
    asked = [order for wave in grow(tree, rough_utility(seed)) for order in wave]
    assert all(sum(costs[chunk] for chunk in order) <= budget for order in asked)
    assert len(set(asked)) == len(asked)
    assert all(len(set(order)) == len(order) for order in asked)
    assert tree.iterations <= tree_settings.iterations
    for node in tree.nodes:
        assert node.cost == sum(costs[chunk] for chunk in node.order) <= budget
    best = tree.best()
    if min(costs) > budget:
        assert asked == []
        assert best is None
    else:
        assert best.order in asked


@settings(max_examples=60, deadline=None)
@given(problems(most=5), st.sampled_from([1, 3, 7]))
def test_everything_expanded_agrees_with_brute_force(problem, wave):
    costs, budget, tree_settings, seed = problem
    brute = {
        order: random.Random(f"{seed}{order}").random()
        for length in range(1, len(costs) + 1)
        for order in permutations(range(len(costs)), length)
        if sum(costs[chunk] for chunk in order) <= budget
    }

    def finds(pick: str) -> Order:
        tree = PolicyTree(
            costs,
            budget,
            TreeSettings(10**6, tree_settings.c, tree_settings.cost_weight, wave, pick),
        )
        asked = grow(tree, brute.__getitem__)
        assert sorted(order for orders in asked for order in orders) == sorted(brute)
        best = tree.best()
        return best.order if best else ()

    assert finds("reward") == max(brute, key=brute.__getitem__, default=())

    # Every inner node gave its best child's reward to itself and to all above it, once.
    def average(order: Order) -> float:
        below = [other for other in brute if other[: len(order)] == order]
        gains = [
            max(brute[child] for child in below if child[:-1] == inner)
            for inner in below
            if any(child[:-1] == inner for child in below)
        ]
        return (brute[order] + sum(gains)) / (1 + len(gains))

    assert finds("average") == max(brute, key=lambda order: round(average(order), 9), default=())


def test_brute_force_on_six_chunks():
    rewards = {}

    def utility(order: Order) -> float:
        return rewards.setdefault(order, random.Random(f"six{order}").random())

    tree = PolicyTree([1] * 6, 6, TreeSettings(iterations=10**6, wave=8, pick="reward"))
    grow(tree, utility)
    # ordered subsets of 6: 6 + 30 + 120 + 360 + 720 + 720, and the root
    assert len(tree) == 1957
    assert tree.iterations == 1 + 6 + 30 + 120 + 360 + 720
    assert tree.best().order == max(rewards, key=rewards.__getitem__)


def test_a_wave_of_one_leaf_at_the_start_then_of_distinct_leaves():
    tree = PolicyTree([1] * 5, 5, TreeSettings(iterations=6, wave=4))
    asked = grow(tree, rough_utility(3))
    # only the root can be expanded at first, then four leaves, then what the limit leaves: one
    assert [len({order[:-1] for order in orders}) for orders in asked] == [1, 4, 1]
    assert tree.iterations == 6


def test_pending_leaves_move_the_wave_on_without_touching_averages():
    # c = 1, lambda = 0. Waves: the root; (0,) and (1,); after which N = 4 + 4 + 4 = 12 and
    #   V/N, N: (0,) 1.5/2, 2   (1,) .4/2, 2   (2,) .2, 1
    #   U(0,) = .75 + sqrt(2.485/2) = 1.865, U(1,) = 1.315, U(2,) = .2 + sqrt(2.485) = 1.776
    # First of the next wave is (0, 1). It counts for itself, (0,) and the root: N = 15,
    #   U(0,) = .75 + sqrt(2.708/3) = 1.700, U(2,) = .2 + sqrt(2.708) = 1.846: second is (2,).
    rewards = {(0,): 0.7, (1,): 0.3, (2,): 0.2, (0, 1): 0.8, (0, 2): 0.6, (1, 0): 0.1, (1, 2): 0.1}
    tree = PolicyTree([1, 1, 1], 3, TreeSettings(iterations=5, c=1.0, cost_weight=0.0, wave=2))
    grow(tree, rewards.__getitem__, waves=2)
    assert tree.visits == 12
    assert tree.utility(1) == pytest.approx(0.75 + math.sqrt(math.log(12) / 2))
    assert tree.select() == [(0, 1, 2), (2, 0), (2, 1)]
    # two more visits with (2,), itself and the root; the average of (0,) is what it was
    assert tree.utility(1) == pytest.approx(0.75 + math.sqrt(math.log(17) / 3))
    assert (by_order(tree)[0,].visits, by_order(tree)[0,].value) == (2, 1.5)


def test_the_same_seed_and_wave_give_the_same_tree():
    def slots(seed: int, wave: int) -> np.ndarray:
        tree = PolicyTree([3, 2, 4, 1, 2], 8, TreeSettings(iterations=9, wave=wave), seed)
        grow(tree, rough_utility(1, values=2))
        return tree.slots

    for wave in (1, 3):
        assert np.array_equal(slots(5, wave), slots(5, wave))


def test_the_seed_decides_ties_only():
    def walked(seed: int, utility) -> list[Order]:
        tree = PolicyTree([1] * 6, 6, TreeSettings(iterations=4), seed)
        return [orders[0][:-1] for orders in grow(tree, utility)]

    def same(order: Order) -> float:
        return 0.5

    def distinct(order: Order) -> float:
        return random.Random(f"{order}").random()

    assert walked(0, same)[1] == (0,)
    assert len({walked(seed, same)[1] for seed in range(12)}) > 2
    assert len({tuple(walked(seed, distinct)) for seed in range(12)}) == 1


def test_rewards_must_fit_what_was_asked_and_stay_due_until_they_do():
    tree = PolicyTree([1, 2], 3, TreeSettings())
    orders = tree.select()
    with pytest.raises(RuntimeError, match="before update"):
        tree.select()
    with pytest.raises(ValueError, match="2 orders were asked for, rewards received: 1"):
        tree.update([0.5])
    with pytest.raises(ValueError, match=r"\(1,\).*nan"):
        tree.update([0.5, float("nan")])
    assert len(tree) == 1
    tree.update([0.5, 0.6])
    assert [node.order for node in tree.nodes[1:]] == orders


@pytest.mark.parametrize(
    ("costs", "budget", "says"),
    [
        ([5, 0], 10, "candidate 1 costs 0"),
        ([-3], 10, "candidate 0 costs -3"),
        ([2.5], 10, "candidate 0 costs 2.5"),
        ([True], 10, "candidate 0 costs True"),
        ([5], -1, "budget is -1"),
        ([5], 10.5, "budget is 10.5"),
    ],
)
def test_impossible_costs_and_budgets(costs, budget, says):
    with pytest.raises(ValueError, match=says):
        PolicyTree(costs, budget, TreeSettings())


def test_costs_may_be_numpy_integers():
    tree = PolicyTree(np.array([3, 4]), np.int64(5), TreeSettings())
    assert tree.select() == [(0,), (1,)]


@pytest.mark.parametrize(("costs", "budget"), [([], 100), ([101, 200], 100), ([1], 0)])
def test_nothing_is_asked_when_nothing_fits(costs, budget):
    tree = PolicyTree(costs, budget, TreeSettings())
    assert tree.finished
    assert tree.select() == []
    assert tree.best() is None


def test_settings_that_cannot_be():
    with pytest.raises(ValueError, match=r"iterations is 0.*c is nan.*wave is 0.*pick is 'best'"):
        TreeSettings(iterations=0, c=float("nan"), wave=0, pick="best")
    with pytest.raises(ValueError, match="cost_weight is inf"):
        TreeSettings(cost_weight=float("inf"))


def test_nodes_out_of_the_tree():
    tree = PolicyTree([1], 1, TreeSettings())
    with pytest.raises(IndexError, match="slot 1 of a tree of 1"):
        tree.node(1)
    with pytest.raises(ValueError, match="root has no utility"):
        tree.utility(0)


def test_memory_is_linear_in_nodes():
    candidates, iterations = 200, 100
    tree = PolicyTree([10] * candidates, 40, TreeSettings(iterations=iterations))
    grow(tree, lambda order: 1 / (1 + sum(order)))
    assert 1 + candidates < len(tree) <= 1 + iterations * candidates
    assert tree.slots.base is not None
    assert tree.slots.base.nbytes <= 2 * len(tree) * tree.slots.itemsize
