"""Which prompts to compute together: families that begin with the same tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.packing import batches_of

Ids = Sequence[int]
LEAST_SHARED = 32
"""Fewer tokens in common than this are not worth a pass of their own."""


@dataclass(frozen=True, slots=True)
class Family:
    """Rows (positions of prompts) whose first `shared` tokens are the same; 0 if none are."""

    shared: int
    rows: tuple[int, ...]


def common(a: Ids, b: Ids) -> int:
    """How many tokens `a` and `b` begin with alike."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def families(prompts: Sequence[Ids], least: int = LEAST_SHARED) -> list[Family]:
    """Every prompt once, in families; those that share nothing are one family.

    The shared part is at least `least` tokens and leaves each prompt a token of its own. A prompt
    joins only where the shortening of the shared part costs less than it saves.
    """
    order = sorted(range(len(prompts)), key=lambda row: tuple(prompts[row]))
    found: list[Family] = []
    alone: list[int] = []
    rows: list[int] = []
    shared = 0

    def close() -> None:
        if len(rows) > 1:
            found.append(Family(shared, tuple(rows)))
        else:
            alone.extend(rows)

    for row in order:
        both = 0
        if rows:
            both = common(prompts[rows[-1]], prompts[row])
            both = min(both, len(prompts[rows[-1]]) - 1, len(prompts[row]) - 1)
            both = min(both, shared) if len(rows) > 1 else both
        lost = (shared - both) * len(rows) if len(rows) > 1 else 0
        if rows and both >= least and lost <= both:
            rows.append(row)
            shared = both
            continue
        close()
        rows, shared = [row], 0
    close()
    if alone:
        found.append(Family(0, tuple(alone)))
    return found


def split(family: Family, lengths: Sequence[int], budget: int) -> list[Family]:
    """The family in batches of at most `budget` padded tokens; see `batches_of`."""
    rows = sorted(family.rows)
    return [
        Family(family.shared, tuple(rows[place] for place in batch))
        for batch in batches_of([lengths[row] for row in rows], budget)
    ]
