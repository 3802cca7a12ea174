"""The policy tree written plainly: recursive, with a list of children, every sum taken anew."""

import math
from collections.abc import Callable

from pipelines.corag.types import Order, TreeSettings


class Node:
    def __init__(self, order: Order, parent: "Node | None", reward: float, visits: int) -> None:
        self.order, self.parent, self.reward = order, parent, reward
        self.value, self.visits = reward, visits
        self.pending = 0
        self.taken = self.expanded = False
        self.children: list[Node] = []

    def line(self) -> "list[Node]":
        """The node and all above it."""
        return [self, *(self.parent.line() if self.parent else [])]


class ReferenceTree:
    def __init__(
        self,
        costs: list[int],
        budget: int,
        settings: TreeSettings,
        utility: Callable[[Order], float],
    ) -> None:
        self.costs, self.budget, self.settings, self.utility = costs, budget, settings, utility
        self.root = Node((), None, 0.0, 0)
        self.created = [self.root]
        self.iterations = 0

    def cost(self, order: Order) -> int:
        return sum(self.costs[chunk] for chunk in order)

    def longer(self, node: Node) -> list[Order]:
        return [
            (*node.order, chunk)
            for chunk in range(len(self.costs))
            if chunk not in node.order and self.cost((*node.order, chunk)) <= self.budget
        ]

    def can_grow(self, node: Node) -> bool:
        if node.expanded:
            return any(self.can_grow(child) for child in node.children)
        return not node.taken and bool(self.longer(node))

    def utility_of(self, node: Node) -> float:
        total = sum(other.visits + other.pending for other in self.created)
        return (
            node.value / node.visits
            + self.settings.c * math.sqrt(math.log(total) / (node.visits + node.pending))
            - self.settings.cost_weight * self.cost(node.order) / self.budget
        )

    def walk(self, node: Node) -> Node:
        if not node.expanded:
            return node
        return self.walk(max(filter(self.can_grow, node.children), key=self.utility_of))

    def run(self) -> None:
        while self.iterations < self.settings.iterations and self.can_grow(self.root):
            leaves: list[Node] = []
            while (
                len(leaves) < self.settings.wave
                and self.iterations + len(leaves) < self.settings.iterations
                and self.can_grow(self.root)
            ):
                leaf = self.walk(self.root)
                leaf.taken = True
                for node in leaf.line():
                    node.pending += 1
                leaves.append(leaf)
            for leaf in leaves:
                leaf.children = [
                    Node(order, leaf, self.utility(order), 1) for order in self.longer(leaf)
                ]
                leaf.expanded = True
                self.created += leaf.children
                best = max(child.reward for child in leaf.children)
                for node in leaf.line():
                    node.pending -= 1
                    node.value += best
                    node.visits += 1
            self.iterations += len(leaves)
