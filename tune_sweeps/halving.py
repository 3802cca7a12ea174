"""Successive halving, decided from labels alone.

Ray's asynchronous schedulers judge a trial by whoever happened to report before, and their state is
not part of what `Tuner.restore` brings back. Here a rung is closed before anything is cut, so the
verdict depends on the labels only: whatever the number of trials at a time, and after a kill.
Source: Jamieson and Talwalkar, arXiv 1502.07943.
"""

import math
from collections.abc import Collection, Mapping, Sequence

from pipelines.corag.types import Configuration


def rung_ends(questions: int, first: int, reduction: float) -> list[int]:
    """How many questions are labelled at the end of each rung: `first`, then `reduction` times as
    many, and so on to all. One rung of all where `reduction` is 1: nothing is cut."""
    if questions < 1 or first < 1 or reduction < 1:
        raise ValueError(
            f"rungs over {questions} questions from {first} by {reduction}: all must be at least 1"
        )
    ends = []
    end = float(first)
    while reduction > 1 and end < questions:
        ends.append(int(end))
        end = max(end * reduction, int(end) + 1)
    return [*ends, questions]


def survivors(
    means: Mapping[Configuration, float],
    order: Sequence[Configuration],
    *,
    reduction: float,
    keep: int,
    pinned: Collection[Configuration] = (),
) -> list[Configuration]:
    """Those of `order` that go on: of each reranker the best 1/`reduction` by mean, but at least
    `keep`; and all `pinned`. Equal means: who is first in `order`. Rerankers compete only among
    themselves, because the agent needs every reranker's labels for every question."""
    going = set(pinned)
    for reranker in {configuration.reranker for configuration in order}:
        group = [configuration for configuration in order if configuration.reranker == reranker]
        best = sorted(group, key=lambda configuration: -means[configuration])
        going.update(best[: max(keep, math.ceil(len(group) / reduction))])
    return [configuration for configuration in order if configuration in going]
