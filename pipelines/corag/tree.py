"""The policy tree: Algorithms 1 to 3 of CORAG (arXiv 2411.00744), pure and in compact slots.

A node is an ordered list of chunks, its children append one more chunk that still fits the budget
B; the root is the empty list. Nodes keep an accumulated reward V and visits N and are walked by

    U(v) = V(v)/N(v) + c * sqrt(ln N / N(v)) - lambda * cost(v) / B

Where the paper leaves room, this is what is done:

- N, the visits of the whole tree, is the sum of N(v) over all nodes, the root included. The root
  begins with V = 0 and N(root) = 0; it is the first node to be expanded, so N is at least 2 when
  a utility is first asked for.
- Expanding v creates all of its children (V = own reward, N = 1) and adds the best child's reward
  to v and to everything above v (V += r, N += 1). Siblings do not move.
- A subtree in which nothing is left to expand is passed over; the search ends when the iteration
  limit is reached or nothing is left anywhere.
- The final pick is the node of the highest average reward V/N (compared to 12 decimals, since V is
  a sum of floats), ties to the lower cost, then to the node that was created first. The root is
  never picked: an empty order has no reward of its own. The average of an inner node also holds
  what its descendants got, so with a utility that falls as chunks are added it may hide the best
  order; `TreeSettings.pick` = "reward" compares the nodes' own rewards instead.
- A wave expands W leaves that are chosen one after the other before any is scored. A chosen leaf
  is not chosen again; until its scores are in, it counts as one visit of every node above and
  including it in the exploration term, and leaves V/N as it is (as in WU-UCT, arXiv 1810.11755).
  With W = 1 this is the plain algorithm. The tree depends on costs, budget, settings, seed and
  rewards only, never on how the scoring was split up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.corag.budget import check_costs, check_rewards
from pipelines.corag.types import Order, TreeSettings

ROOT = 0
TIE_DECIMALS = 12
_SLOT = np.dtype(
    [
        ("parent", "i4"),
        ("chunk", "i4"),
        ("cost", "i8"),
        ("reward", "f8"),
        ("value", "f8"),
        ("visits", "i4"),
        ("pending", "i4"),  # visits of leaves that are being scored
        ("first", "i4"),  # slot of the first child; 0: not expanded
        ("children", "i4"),
        ("open", "i4"),  # expanded: open children; else 1 if it can be chosen for expansion
    ]
)


@dataclass(frozen=True, slots=True)
class PolicyNode:
    """A node as it stands. `slot` is its place in the tree: nodes are counted as created.

    `value` is V and `visits` N of the paper; `reward` is what the reranker gave this very order
    (0 for the root); `cost` is in tokens.
    """

    slot: int
    parent: int
    order: Order
    cost: int
    reward: float
    value: float
    visits: int
    children: range

    @property
    def average(self) -> float:
        """V/N: the average reward of the node and of the best children found below it."""
        return self.value / self.visits if self.visits else 0.0


class PolicyTree:
    """Searches orders of chunks that cost `costs[i]` tokens under `budget`.

    Alternate `select` (orders to score) and `update` (their rewards) until `select` gives nothing.
    Time is O(iterations x depth x candidates), memory O(iterations x candidates).

    `seed` decides between nodes that are exactly equal: 0 prefers the candidates' own order,
    any other value an order shuffled by it.

    Raises:
        ValueError: a cost below 1 or a budget below 0.
    """

    def __init__(
        self, costs: Sequence[int], budget: int, settings: TreeSettings, seed: int = 0
    ) -> None:
        self.costs, self.budget = check_costs(costs, budget)
        self.settings = settings
        self.iterations = 0
        """Nodes expanded so far."""
        count = len(self.costs)
        self._ranked = (
            np.arange(count) if not seed else np.random.default_rng(seed).permutation(count)
        )
        self._ranked_costs = np.asarray(self.costs, dtype=np.int64)[self._ranked]
        self._slots = np.zeros(1 + count, dtype=_SLOT)
        self._slots["parent"][ROOT] = self._slots["chunk"][ROOT] = -1
        self._slots["open"][ROOT] = int(any(cost <= self.budget for cost in self.costs))
        self._count = 1
        self._visits = 0
        self._wave: list[tuple[int, np.ndarray]] = []
        self._asked: list[Order] = []

    def __len__(self) -> int:
        return self._count

    @property
    def visits(self) -> int:
        """N: visits of the whole tree."""
        return self._visits

    @property
    def finished(self) -> bool:
        """Whether nothing is left to choose: iteration limit reached or everything expanded."""
        done = self.iterations + len(self._wave) >= self.settings.iterations
        return done or not self._slots["open"][ROOT]

    @property
    def slots(self) -> np.ndarray:
        """The statistics of all nodes as they stand, (nodes,) with the fields parent, chunk, cost,
        reward, value, visits, first and children; read-only, for whoever needs many nodes."""
        view = self._slots[: self._count]
        view.flags.writeable = False
        return view

    @property
    def nodes(self) -> tuple[PolicyNode, ...]:
        """Every node, root first, in the order of creation."""
        return tuple(self.node(slot) for slot in range(self._count))

    def node(self, slot: int) -> PolicyNode:
        """The node in a slot."""
        if not 0 <= slot < self._count:
            raise IndexError(f"slot {slot} of a tree of {self._count} nodes")
        row = self._slots[slot]
        first = int(row["first"])
        return PolicyNode(
            slot=slot,
            parent=int(row["parent"]),
            order=self._order(slot),
            cost=int(row["cost"]),
            reward=float(row["reward"]),
            value=float(row["value"]),
            visits=int(row["visits"]),
            children=range(first, first + int(row["children"])),
        )

    def utility(self, slot: int) -> float:
        """U of a node with the tree as it stands."""
        if slot == ROOT:
            raise ValueError("the root has no utility: the walk starts there")
        return float(self._utilities(slot, slot + 1)[0])

    def select(self) -> list[Order]:
        """Chooses a wave of leaves and gives all their children's orders, leaf by leaf; empty once
        the search has finished.

        Raises:
            RuntimeError: the rewards of the wave before are still due.
        """
        if self._wave:
            raise RuntimeError("select() came before update() with the last wave's rewards")
        while len(self._wave) < self.settings.wave and not self.finished:
            leaf = self._walk()
            order = self._order(leaf)
            appended = self._fitting(leaf, order)
            self._wave.append((leaf, appended))
            self._asked.extend((*order, int(self._ranked[rank])) for rank in appended)
            self._shut(leaf)
            self._expect(leaf, 1)
        return list(self._asked)

    def update(self, rewards: Sequence[float]) -> None:
        """Takes the rewards of the orders that `select` gave, in their order.

        Raises:
            ValueError: not one finite reward for each order; the wave then stays due.
        """
        checked = check_rewards(self._asked, rewards)
        start = 0
        for leaf, appended in self._wave:
            self._expect(leaf, -1)
            own = np.array(checked[start : start + len(appended)])
            start += len(appended)
            self._grow(leaf, appended, own)
            self._credit(leaf, float(own.max()))
            self.iterations += 1
        self._wave, self._asked = [], []

    def best(self) -> PolicyNode | None:
        """The node to pick by `settings.pick`, see the module; None while there is but the root."""
        slots = self._slots[1 : self._count]  # none costs more than the budget
        if not len(slots):
            return None
        merit = (
            slots["reward"]
            if self.settings.pick == "reward"
            else np.round(slots["value"] / slots["visits"], TIE_DECIMALS)
        )
        dear = np.where(merit == merit.max(), slots["cost"], np.iinfo(np.int64).max)
        return self.node(1 + int(dear.argmin()))

    def _utilities(self, start: int, stop: int) -> np.ndarray:
        """U of the slots start..stop-1."""
        slots = self._slots[start:stop]
        visits = slots["visits"]
        spread = np.sqrt(math.log(self._visits) / (visits + slots["pending"]))
        penalty = self.settings.cost_weight * slots["cost"] / self.budget
        return slots["value"] / visits + self.settings.c * spread - penalty

    def _walk(self) -> int:
        """Slot of the leaf that the greatest utilities lead to."""
        slot = ROOT
        while first := int(self._slots["first"][slot]):
            stop = first + int(self._slots["children"][slot])
            usable = self._slots["open"][first:stop] > 0
            slot = first + int(np.where(usable, self._utilities(first, stop), -np.inf).argmax())
        return slot

    def _order(self, slot: int) -> Order:
        chunks = []
        while slot != ROOT:
            chunks.append(int(self._slots["chunk"][slot]))
            slot = int(self._slots["parent"][slot])
        return tuple(reversed(chunks))

    def _fitting(self, slot: int, order: Order) -> np.ndarray:
        """Ranks of the chunks that can still be appended to a node."""
        fits = self._ranked_costs <= self.budget - self._slots["cost"][slot]
        if order:
            fits &= ~np.isin(self._ranked, order)
        return np.flatnonzero(fits)

    def _grow(self, leaf: int, appended: np.ndarray, rewards: np.ndarray) -> None:
        """Creates the children of a leaf."""
        start, stop = self._count, self._count + len(appended)
        if stop > len(self._slots):
            larger = np.zeros(max(stop, 2 * len(self._slots)), dtype=_SLOT)
            larger[:start] = self._slots[:start]
            self._slots = larger
        costs = self._ranked_costs[appended]
        made = self._slots[start:stop]
        made["parent"] = leaf
        made["chunk"] = self._ranked[appended]
        made["cost"] = self._slots["cost"][leaf] + costs
        made["reward"] = made["value"] = rewards
        made["visits"] = 1
        made["open"] = _cheapest_other(costs) <= self.budget - made["cost"]
        self._count = stop
        self._visits += len(appended)
        self._slots["first"][leaf] = start
        self._slots["children"][leaf] = len(appended)
        if ready := int(made["open"].sum()):
            self._reopen(leaf, ready)

    def _credit(self, slot: int, reward: float) -> None:
        """Adds the best child's reward to a node and everything above it."""
        while slot != -1:
            self._slots["value"][slot] += reward
            self._slots["visits"][slot] += 1
            self._visits += 1
            slot = int(self._slots["parent"][slot])

    def _expect(self, slot: int, change: int) -> None:
        """Counts, or no longer counts, a visit whose reward is not in yet."""
        while slot != -1:
            self._slots["pending"][slot] += change
            self._visits += change
            slot = int(self._slots["parent"][slot])

    def _shut(self, slot: int) -> None:
        """Takes a chosen leaf, and what has no other open leaf above it, out of the walk."""
        self._slots["open"][slot] = 0
        while (slot := int(self._slots["parent"][slot])) != -1:
            self._slots["open"][slot] -= 1
            if self._slots["open"][slot]:
                break

    def _reopen(self, slot: int, ready: int) -> None:
        """Brings a node that was shut back into the walk with `ready` open children."""
        self._slots["open"][slot] = ready
        while (slot := int(self._slots["parent"][slot])) != -1:
            self._slots["open"][slot] += 1
            if self._slots["open"][slot] > 1:
                break


def _cheapest_other(costs: np.ndarray) -> np.ndarray:
    """For each of (n,) costs the lowest of the others; the largest integer if there is none."""
    never = np.iinfo(np.int64).max
    least = int(costs.argmin())
    others = np.full(len(costs), costs[least])
    others[least] = np.delete(costs, least).min(initial=never)
    return others
