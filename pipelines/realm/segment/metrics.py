"""How well boundaries are found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoundaryScores:
    """Micro-averaged over texts: counts are summed, then precision, recall and F1 taken."""

    right: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of the found boundaries that are right; 0 where none was found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold boundaries that were found; 0 where there are none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2 right / (found + gold)."""
        total = self.found + self.gold
        return 2 * self.right / total if total else 0.0

    def flat(self, prefix: str) -> dict[str, float]:
        """`prefix/precision`, `prefix/recall`, `prefix/f1`."""
        return {f"{prefix}/{name}": getattr(self, name) for name in ("precision", "recall", "f1")}


def matches(found: Sequence[int], gold: Sequence[int], tolerance: int = 0) -> int:
    """The most pairs (found, gold) that lie at most `tolerance` characters apart, each used once.

    Both in ascending order. Taking the leftmost partner that is free is the best choice on a line.
    """
    made = at = 0
    for place in found:
        while at < len(gold) and gold[at] < place - tolerance:
            at += 1
        if at < len(gold) and gold[at] <= place + tolerance:
            made, at = made + 1, at + 1
    return made


def boundary_scores(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]], tolerance: int = 0
) -> BoundaryScores:
    """Over (found, gold) of each text, offsets in ascending order."""
    right = found = gold = 0
    for these, those in pairs:
        right += matches(these, those, tolerance)
        found += len(these)
        gold += len(those)
    return BoundaryScores(right, found, gold)
