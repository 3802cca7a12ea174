"""Ways of filling the budget without searching: NaiveRAG, document order, MMR."""

from collections.abc import Hashable, Sequence

import numpy as np

from pipelines.corag.budget import (
    check_costs,
    check_rewards,
    filled,
    order_cost,
    scored_once,
)
from pipelines.corag.types import Order, Search, Selection

Position = tuple[Hashable, int]
"""Document of a chunk and where the chunk stands in it."""


def naive_search(costs: Sequence[int], budget: int) -> Search:
    """NaiveRAG: scores every chunk by itself, takes the best that still fit, best first.

    The final order is scored once more unless it is a single chunk. Equal scores go to the lower
    cost, then to the first candidate.

    Raises:
        ValueError: a cost below 1 or a budget below 0.
    """
    return _reranked(*check_costs(costs, budget), None)


def document_order_search(
    costs: Sequence[int], budget: int, positions: Sequence[Position]
) -> Search:
    """The chunks of NaiveRAG in the order in which they stand in their documents.

    `positions[i]` are document and place of candidate i. Documents come in the order of their best
    scored chunk, each one's chunks together and in reading order (after arXiv 2506.03989, which
    does this with one long document).

    Raises:
        ValueError: a cost below 1, a budget below 0 or not one position for each cost.
    """
    checked, limit = check_costs(costs, budget)
    if len(positions) != len(checked):
        raise ValueError(f"document order: {len(positions)} positions for {len(checked)} costs")
    return _reranked(checked, limit, positions)


def mmr_search(
    costs: Sequence[int],
    budget: int,
    similarities: np.ndarray,
    vectors: np.ndarray,
    weight: float = 0.5,
) -> Search:
    """Maximal marginal relevance: chooses without the reranker, which scores the final order once.

    Next is the fitting chunk of greatest `weight` x similarity to the query - (1 - `weight`) x
    greatest similarity to a chosen chunk; equal ones go to the first candidate. Goes on until
    nothing fits. `similarities` (n,) and unit `vectors` (n, dimension) as in `Candidates`.
    Source: Carbonell and Goldstein, SIGIR 1998.

    Raises:
        ValueError: a cost below 1, a budget below 0, other shapes or a weight outside 0..1.
    """
    checked, limit = check_costs(costs, budget)
    count = len(checked)
    if similarities.shape != (count,) or vectors.ndim != 2 or len(vectors) != count:
        raise ValueError(
            f"MMR: similarities {similarities.shape} and vectors {vectors.shape} for {count} costs"
        )
    if not 0 <= weight <= 1:
        raise ValueError(f"MMR: weight is {weight}, must be between 0 and 1")
    return scored_once(checked, mmr_order(checked, limit, similarities, vectors, weight))


def mmr_order(
    costs: Sequence[int],
    budget: int,
    similarities: np.ndarray,
    vectors: np.ndarray,
    weight: float,
) -> Order:
    """The order that `mmr_search` has scored."""
    tokens = np.asarray(costs, dtype=np.int64)
    free = np.ones(len(tokens), dtype=bool)
    overlap = np.zeros(len(tokens))
    order: list[int] = []
    left = budget
    while (fits := free & (tokens <= left)).any():
        gain = np.where(fits, weight * similarities - (1 - weight) * overlap, -np.inf)
        chunk = int(gain.argmax())
        near = vectors @ vectors[chunk]
        overlap = np.maximum(overlap, near) if order else near
        order.append(chunk)
        free[chunk] = False
        left -= int(tokens[chunk])
    return tuple(order)


def _reranked(costs: Sequence[int], budget: int, positions: Sequence[Position] | None) -> Search:
    singles: list[Order] = [(chunk,) for chunk, tokens in enumerate(costs) if tokens <= budget]
    if not singles:
        return Selection((), 0, 0.0)
    scores = check_rewards(singles, (yield singles))
    ranked = sorted(
        zip(scores, singles, strict=True), key=lambda found: (-found[0], costs[found[1][0]])
    )
    order = filled(costs, budget, (chunk for _, (chunk,) in ranked))
    if len(order) == 1:
        return Selection(order, order_cost(costs, order), ranked[0][0], 1)
    if positions is not None:
        order = _reading_order(order, positions)
    return (yield from scored_once(costs, order, 1))


def _reading_order(chosen: Sequence[int], positions: Sequence[Position]) -> Order:
    documents: dict[Hashable, int] = {}
    for chunk in chosen:
        documents.setdefault(positions[chunk][0], len(documents))
    return tuple(
        sorted(chosen, key=lambda chunk: (documents[positions[chunk][0]], positions[chunk][1]))
    )
