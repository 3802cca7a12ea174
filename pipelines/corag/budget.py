"""What searches over orders share: checks of costs, budget and rewards; filling the budget."""

import math
from collections.abc import Iterable, Sequence
from operator import index

from pipelines.corag.types import Order, Search, Selection


def check_costs(costs: Sequence[int], budget: int) -> tuple[tuple[int, ...], int]:
    """Costs of the candidates and the budget, in tokens, as plain integers.

    Raises:
        ValueError: a cost is no integer or below 1; the budget is no integer or below 0.
    """
    checked = []
    for position, cost in enumerate(costs):
        tokens = _integer(cost)
        if tokens is None or tokens < 1:
            raise ValueError(
                f"candidate {position} costs {cost!r}: a cost must be a whole number of tokens, "
                "1 or more; leave chunks without text out"
            )
        checked.append(tokens)
    limit = _integer(budget)
    if limit is None or limit < 0:
        raise ValueError(f"budget is {budget!r}: it must be a whole number of tokens, 0 or more")
    return tuple(checked), limit


def check_rewards(orders: Sequence[Order], rewards: Sequence[float] | None) -> list[float]:
    """The rewards that were sent for `orders`.

    Raises:
        ValueError: not one finite number for each order.
    """
    if rewards is None or len(rewards) != len(orders):
        got = "none" if rewards is None else len(rewards)
        raise ValueError(f"{len(orders)} orders were asked for, rewards received: {got}")
    checked = [float(reward) for reward in rewards]
    for order, reward in zip(orders, checked, strict=True):
        if not math.isfinite(reward):
            raise ValueError(f"order {order} was given the reward {reward}: not a finite number")
    return checked


def order_cost(costs: Sequence[int], order: Order) -> int:
    """Tokens of an order."""
    return sum(costs[chunk] for chunk in order)


def filled(costs: Sequence[int], budget: int, ranked: Iterable[int]) -> Order:
    """The chunks of `ranked`, in that order, that still fit the budget; others are passed over."""
    taken: list[int] = []
    left = budget
    for chunk in ranked:
        if costs[chunk] <= left:
            taken.append(chunk)
            left -= costs[chunk]
    return tuple(taken)


def scored_once(costs: Sequence[int], order: Order, asks_before: int = 0) -> Search:
    """Asks for one reward, that of an order which is chosen already; for none if it is empty."""
    if not order:
        return Selection((), 0, 0.0)
    (reward,) = check_rewards([order], (yield [order]))
    return Selection(order, order_cost(costs, order), reward, asks_before + 1)


def _integer(value: object) -> int | None:
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
