"""The policy tree as a search."""

from collections.abc import Sequence

from pipelines.corag.tree import PolicyTree
from pipelines.corag.types import Search, Selection, TreeSettings


def tree_search(costs: Sequence[int], budget: int, settings: TreeSettings, seed: int = 0) -> Search:
    """Asks for the children of one wave of leaves at a time; see `tree.py` for the algorithm.

    `Selection.iterations` counts expanded leaves (a wave of W counts W, never more than the
    limit); `Selection.reward` is the reranker's own reward of the chosen order. Nothing is asked
    if no chunk fits the budget.

    Raises:
        ValueError: a cost below 1 or a budget below 0.
    """
    return _search(PolicyTree(costs, budget, settings, seed))


def _search(tree: PolicyTree) -> Search:
    while orders := tree.select():
        tree.update((yield orders))
    chosen = tree.best()
    if chosen is None:
        return Selection((), 0, 0.0, 0, tree)
    return Selection(chosen.order, chosen.cost, chosen.reward, tree.iterations, tree)
