"""Runs a search against a utility and keeps what it asked."""

from collections.abc import Callable, Sequence

from pipelines.corag.types import Order, Search, Selection

FIG_1 = {(0,): 0.3, (0, 2): 0.4, (2, 3): 0.8, (3, 2): 0.9, (0, 1, 3): 0.6}
"""Scores of the paper's figure 1 (x1 is candidate 0); chunks of 256 tokens."""


def fig_1(order: Order) -> float:
    return FIG_1.get(order, 0.1)


def drive(
    search: Search, utility: Callable[[Order], float]
) -> tuple[Selection, list[Sequence[Order]]]:
    asks: list[Sequence[Order]] = []
    try:
        ask = next(search)
        while True:
            asks.append(ask)
            ask = search.send([utility(order) for order in ask])
    except StopIteration as end:
        return end.value, asks
