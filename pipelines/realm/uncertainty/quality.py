"""How well a score tells the steps after which retrieval was needed.

The paper reports precision .72 and recall .81 at the threshold .65 on its own reasoners; other
models and indexes spread their scores otherwise, so that the threshold is to be set anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trigger:
    """Retrieving where the score is over `threshold`: `precision` is 0 where it never is."""

    threshold: float
    precision: float
    recall: float
    rate: float
    """Share of the steps that it retrieves after."""

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def trigger(scores: Sequence[float], needed: Sequence[bool], threshold: float) -> Trigger:
    """The trigger at `threshold`. Raises ValueError for no steps, or none that needed it."""
    _check(scores, needed)
    fired = [score > threshold for score in scores]
    hits = sum(f and n for f, n in zip(fired, needed, strict=True))
    return Trigger(
        threshold,
        precision=hits / sum(fired) if any(fired) else 0.0,
        recall=hits / sum(needed),
        rate=sum(fired) / len(scores),
    )


def best_trigger(scores: Sequence[float], needed: Sequence[bool]) -> Trigger:
    """The one of the highest F1 (of equals the one that fires least), its threshold half way
    between two scores, or below all of them."""
    _check(scores, needed)
    steps = sorted(zip(scores, needed, strict=True), reverse=True)
    best, hits = trigger(scores, needed, steps[0][0]), 0
    for fired, (score, need) in enumerate(steps, 1):
        hits += need
        below = steps[fired][0] if fired < len(steps) else score - 1.0
        if below == score:
            continue
        found = Trigger((score + below) / 2, hits / fired, hits / sum(needed), fired / len(steps))
        if found.f1 > best.f1:
            best = found
    return best


def auroc(scores: Sequence[float], needed: Sequence[bool]) -> float:
    """Chance that a step that needed retrieval scores above one that did not, ties half. Raises
    ValueError where either kind is missing."""
    _check(scores, needed)
    if all(needed):
        raise ValueError("all steps needed retrieval: there is nothing to tell apart")
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    ranks = [0.0] * len(scores)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    positive = sum(needed)
    total = sum(rank for rank, need in zip(ranks, needed, strict=True) if need)
    return (total - positive * (positive + 1) / 2) / (positive * (len(scores) - positive))


def _check(scores: Sequence[float], needed: Sequence[bool]) -> None:
    if len(scores) != len(needed):
        raise ValueError(f"{len(scores)} scores for {len(needed)} steps")
    if not any(needed):
        raise ValueError("no step needed retrieval: there is nothing to tell")
