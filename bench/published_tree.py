"""The published algorithm with its own pattern of scoring, written from its description.

What differs from `pipelines.corag.tree`: every child is scored by itself, one after the other;
nothing is remembered; UCB counts the visits of the parent; every child's reward is propagated to
the root; and the final pick is by average reward alone. The budget is kept here, which the
published code does for some of its rerankers only: both sides then choose from the same orders.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipelines.corag.types import Order, TreeSettings

Score = Callable[[Order], float]


@dataclass(slots=True, eq=False)
class _Node:
    order: Order
    cost: int
    parent: "_Node | None" = None
    value: float = 0.0
    visits: int = 0
    children: list["_Node"] = field(default_factory=list)
    expanded: bool = False


def published_search(
    score: Score, costs: Sequence[int], budget: int, settings: TreeSettings
) -> Order:
    """The order that the published algorithm returns; `score` is called once for each child."""
    root = _Node((), 0)
    nodes: list[_Node] = []
    for _ in range(settings.iterations):
        leaf = root
        while leaf.expanded and leaf.children:
            leaf = _best_child(leaf, settings, budget)
        if leaf.expanded:  # nothing fits below it any more
            _propagate(leaf, 0.0)
            continue
        leaf.expanded = True
        for chunk, tokens in enumerate(costs):
            if chunk in leaf.order or leaf.cost + tokens > budget:
                continue
            child = _Node((*leaf.order, chunk), leaf.cost + tokens, leaf)
            leaf.children.append(child)
            nodes.append(child)
            _propagate(child, score(child.order))
    if not nodes:
        return ()
    return max(nodes, key=lambda node: node.value / node.visits).order


def _best_child(node: _Node, settings: TreeSettings, budget: int) -> _Node:
    about = math.log(max(node.visits, 1))

    def utility(child: _Node) -> float:
        explore = settings.c * math.sqrt(about / child.visits)
        return child.value / child.visits + explore - settings.cost_weight * child.cost / budget

    return max(node.children, key=utility)


def _propagate(node: _Node, reward: float) -> None:
    up: _Node | None = node
    while up is not None:
        up.value += reward
        up.visits += 1
        up = up.parent
