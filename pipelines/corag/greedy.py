"""Greedy by marginal gain."""

from collections.abc import Sequence

from pipelines.corag.budget import check_costs, check_rewards, order_cost
from pipelines.corag.types import Order, Search, Selection


def greedy_search(costs: Sequence[int], budget: int) -> Search:
    """Appends the chunk that raises the reward most, as long as one does and fits.

    Equal rewards go to the lower cost, then to the first candidate. The first chunk is taken
    whatever its reward, since no chunk at all has none to compare with.

    Raises:
        ValueError: a cost below 1 or a budget below 0.
    """
    return _search(*check_costs(costs, budget))


def _search(costs: Sequence[int], budget: int) -> Search:
    order: Order = ()
    cost, reward, asks = 0, 0.0, 0
    while ask := [
        (*order, chunk)
        for chunk, tokens in enumerate(costs)
        if chunk not in order and cost + tokens <= budget
    ]:
        rewards = check_rewards(ask, (yield ask))
        asks += 1
        gained, longer = max(
            zip(rewards, ask, strict=True), key=lambda found: (found[0], -costs[found[1][-1]])
        )
        if order and gained <= reward:
            break
        order, cost, reward = longer, order_cost(costs, longer), gained
    return Selection(order, cost, reward, asks)
