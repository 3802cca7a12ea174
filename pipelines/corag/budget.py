"""Checks that every search over orders shares: costs, budget and the rewards it is sent."""

import math
from collections.abc import Sequence
from operator import index

from pipelines.corag.types import Order


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


def _integer(value: object) -> int | None:
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
