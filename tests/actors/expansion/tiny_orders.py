"""Chunks and orders for the tiny models, whose tokens are letters."""

from actors.expansion.types import QueryOrders

TEXTS = {
    "a": "gout pain",
    "b": "zinc",
    "c": "old red eye 12",
    "d": "x",
    "e": "a longer one of them all that no window holds",
    "f": "the last",
}


def orders(query: str, *each: str) -> QueryOrders:
    """Orders from strings of chunk letters."""
    return QueryOrders(query, TEXTS, tuple(tuple(order) for order in each))


def joined(order: tuple[str, ...]) -> str:
    return "\n".join(TEXTS[chunk] for chunk in order)
