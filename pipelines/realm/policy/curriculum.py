"""The price of a retrieval, from dear to cheap (ReaLM-Retrieve, section C: l1 from .5 to .1)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Curriculum:
    """`l1` falls in a straight line from `start` to `end` over the first `share` of the updates,
    then stays. The paper names the ends only; the line and the share are ours."""

    start: float = 0.5
    end: float = 0.1
    share: float = 0.5

    def at(self, update: int, updates: int) -> float:
        """l1 of update `update` (from 0) of `updates`."""
        falling = self.share * updates
        if falling <= 0 or update >= falling:
            return self.end
        return self.start + (self.end - self.start) * update / falling
