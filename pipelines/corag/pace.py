"""What work would take by itself, where an evaluation shares it between methods.

Methods that look at the same orders, or arrive at the same chunks, share scores and answers. What
one of them would need alone is counted in units (sequences scored, tokens read and written) and
paid at the pace that was measured where the work was really done.
"""

from collections import defaultdict
from collections.abc import Hashable

LEAST_SHARE = 0.25
"""A group's own pace counts if it really did at least this share of its units."""


class Pace:
    """Seconds a unit, measured by group (say, a method under a budget) and over all of a kind."""

    def __init__(self) -> None:
        self._seconds: dict[Hashable, float] = defaultdict(float)
        self._units: dict[Hashable, float] = defaultdict(float)

    def measured(self, kind: Hashable, group: Hashable, seconds: float, units: float) -> None:
        """`units` of work were really done for the group, in `seconds`."""
        if units <= 0:
            return
        for key in ((kind,), (kind, group)):
            self._seconds[key] += seconds
            self._units[key] += units

    def alone(
        self, kind: Hashable, group: Hashable, needed: float, done: float = 0.0
    ) -> float | None:
        """Seconds for `needed` units of the group, of which `done` units were really done in it; at
        the pace of the group if that is a fair part, else of all of the kind. None: unknown."""
        if needed <= 0:
            return 0.0
        own = (kind, group)
        key = own if self._units[own] and done >= LEAST_SHARE * needed else (kind,)
        return needed * self._seconds[key] / self._units[key] if self._units[key] else None
