"""Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from collections.abc import Sequence

import numpy as np

RRF_K = 60
"""The paper's constant: how little the first ranks differ."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    """(id, sum over rankings of weight / (k + rank)), rank from 1; best first.

    Ties are by id descending. Sums are rounded to float32, which is what trec_eval reads, so that
    it sees the same ties.
    """
    if weights is None:
        weights = [1.0] * len(rankings)
    if len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings")
    sums: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, id in enumerate(ranking, 1):
            sums[id] = sums.get(id, 0.0) + weight / (k + rank)
    rounded = [(float(np.float32(score)), id) for id, score in sums.items()]
    return [(id, score) for score, id in sorted(rounded, reverse=True)]
