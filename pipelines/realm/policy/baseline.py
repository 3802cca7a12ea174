"""What a reward is compared with."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class EmaBaseline:
    """Exponential moving average of the mean reward of the batches. The first batch sets it."""

    decay: float = 0.95
    value: float | None = None

    def advantages(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """`rewards` (n,) over the average of the batches *before*: the baseline must not depend on
        the actions it judges. Then takes this batch in."""
        mean = float(rewards.mean())
        before = mean if self.value is None else self.value
        self.value = before if self.value is None else self.decay * before + (1 - self.decay) * mean
        return rewards - before


def group_advantages(rewards: NDArray[np.float64], groups: Sequence[str]) -> NDArray[np.float64]:
    """Each reward (n,) over the mean of the *others* of its group (leave-one-out, as in RLOO): how
    hard the question is cancels. An episode alone in its group has 0."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        rows[group].append(row)
    out = np.zeros_like(rewards)
    for found in rows.values():
        if len(found) > 1:
            held = rewards[found]
            out[found] = (held - held.mean()) * len(found) / (len(found) - 1)
    return out
