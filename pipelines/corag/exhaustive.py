"""CORAG Upper: every order of up to a few chunks."""

from collections.abc import Iterator, Sequence
from itertools import islice

from pipelines.corag.budget import check_costs, check_rewards, order_cost
from pipelines.corag.types import Order, Search, Selection

LONGEST = 5
"""The paper's bound of Upper is fewer than 6 chunks."""
ASK_SIZE = 1024


def exhaustive_search(
    costs: Sequence[int], budget: int, longest: int = LONGEST, ask_size: int = ASK_SIZE
) -> Search:
    """Scores every order of at most `longest` chunks within the budget, `ask_size` at a time; picks
    the greatest reward, ties to the lower cost, then to the order that comes first.

    Orders come as in a dictionary: (0,), (0, 1), (0, 1, 2) ... They are made as they are asked for,
    so memory does not grow with their number.

    Raises:
        ValueError: a cost below 1, a budget below 0, `longest` or `ask_size` below 1.
    """
    checked, limit = check_costs(costs, budget)
    for name, value in (("longest", longest), ("ask_size", ask_size)):
        if value < 1:
            raise ValueError(f"exhaustive search: {name} is {value}, must be at least 1")
    return _search(checked, limit, longest, ask_size)


def orders_within(costs: Sequence[int], budget: int, longest: int) -> Iterator[Order]:
    """Every order of 1 to `longest` different chunks that costs at most `budget`."""

    def extensions(order: Order, left: int) -> Iterator[Order]:
        for chunk, cost in enumerate(costs):
            if cost <= left and chunk not in order:
                longer = (*order, chunk)
                yield longer
                if len(longer) < longest:
                    yield from extensions(longer, left - cost)

    return extensions((), budget)


def _search(costs: Sequence[int], budget: int, longest: int, ask_size: int) -> Search:
    best = Selection((), 0, 0.0)
    orders = orders_within(costs, budget, longest)
    asks = 0
    while ask := list(islice(orders, ask_size)):
        rewards = check_rewards(ask, (yield ask))
        asks += 1
        for order, reward in zip(ask, rewards, strict=True):
            cost = order_cost(costs, order)
            if not best.order or (reward, -cost) > (best.reward, -best.cost):
                best = Selection(order, cost, reward)
    return Selection(best.order, best.cost, best.reward, asks)
