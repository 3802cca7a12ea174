"""What rerankers take and give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class QueryOrders:
    """Ordered chunk lists of one query. `texts` holds each chunk once, under its id; an order is a
    tuple of ids, first chunk first, and never empty."""

    query: str
    texts: Mapping[str, str]
    orders: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class OrderScore:
    """The utility of one ordered chunk list, in [0, 1].

    `tokens` counts query and chunks in the reranker's own tokenizer before cutting; `truncated`
    says that they were more than its window: the score then speaks of the first chunks only.
    """

    value: float
    tokens: int
    truncated: bool = False


class Reranker(Protocol):
    """Scores a query against concatenated ordered chunks. The same input gives the same score,
    whatever it is batched with (to float tolerance)."""

    name: str
    fingerprint: str
    """What tells two rerankers of one name apart: model files, window, formula."""
    window: int
    """The most tokens it reads, query included; 0 if there is no limit."""

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        """Scores of every order of every query, in their order."""
        ...


class RerankerError(RuntimeError):
    """A reranker that cannot be used; the message names it and says what to do."""
