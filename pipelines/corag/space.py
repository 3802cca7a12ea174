"""The settings that a configuration agent may choose from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pipelines.corag.types import Configuration, TreeSettings

DIGITS = 3
"""Decimals of drawn and predicted settings: two that are nearer are one configuration."""


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Rerankers and bounds (both ends included) of the tree search's settings.

    The bounds are those of CORAG's label sweep. Scaled settings are (iterations, lambda, c) in
    [0, 1], the order of the agent's regressor. Raises `ValueError` for an empty or reversed space.
    """

    rerankers: tuple[str, ...]
    iterations: tuple[int, int] = (5, 50)
    c: tuple[float, float] = (0.0, 4.0)
    cost_weight: tuple[float, float] = (0.0, 1.0)
    wave: int = 1
    """What no agent sets: leaves at once, and what the final pick compares."""
    pick: str = "average"

    def __post_init__(self) -> None:
        faults = []
        if not self.rerankers or len(set(self.rerankers)) != len(self.rerankers):
            faults.append(f"rerankers {self.rerankers} must be at least one, each once")
        for name, least in (("iterations", 1), ("c", 0), ("cost_weight", 0)):
            low, high = getattr(self, name)
            if not least <= low <= high < float("inf"):
                faults.append(f"{name} {low}..{high} must rise from at least {least}")
        if faults:
            raise ValueError("search space: " + "; ".join(faults))

    def clamp(self, configuration: Configuration) -> Configuration:
        """The nearest configuration inside, with the space's `wave` and `pick`. Raises
        `ValueError` for a reranker that is none of these or a setting that is no number."""
        self.index(configuration.reranker)
        settings = configuration.settings
        return Configuration(
            configuration.reranker,
            TreeSettings(
                iterations=int(_within(settings.iterations, *self.iterations)),
                c=_within(settings.c, *self.c),
                cost_weight=_within(settings.cost_weight, *self.cost_weight),
                wave=self.wave,
                pick=self.pick,
            ),
        )

    def index(self, reranker: str) -> int:
        """Its class number. Raises `ValueError` for a reranker that is none of these."""
        try:
            return self.rerankers.index(reranker)
        except ValueError:
            raise ValueError(
                f"reranker {reranker!r} is none of this space: {', '.join(self.rerankers)}"
            ) from None

    def scaled(self, settings: TreeSettings) -> tuple[float, float, float]:
        """(iterations, lambda, c) as shares of their ranges; 0 where the range is one value."""
        return (
            _share(settings.iterations, *self.iterations),
            _share(settings.cost_weight, *self.cost_weight),
            _share(settings.c, *self.c),
        )

    def configuration(self, reranker: str, scaled: Sequence[float]) -> Configuration:
        """The configuration of scaled settings (3,), clamped; iterations to the nearest integer.
        Raises `ValueError` for values that are no finite numbers."""
        shares = [_within(value, 0.0, 1.0) for value in scaled]
        iterations, weight, c = (
            low + share * (high - low)
            for share, (low, high) in zip(
                shares, (self.iterations, self.cost_weight, self.c), strict=True
            )
        )
        made = TreeSettings(round(iterations), round(c, DIGITS), round(weight, DIGITS))
        return self.clamp(Configuration(reranker, made))

    def defaults(self, reranker: str) -> Configuration:
        """The paper's settings with this reranker, clamped."""
        return self.clamp(Configuration(reranker, TreeSettings()))

    def draw(self, per_reranker: int, seed: int = 0) -> list[Configuration]:
        """The paper's settings for every reranker and up to `per_reranker` - 1 more, spread by a
        Latin hypercube: each range is cut into equal strata, and each is drawn from once. The same
        settings for every reranker, so that rerankers are compared like with like."""
        if per_reranker < 1:
            raise ValueError(f"configurations per reranker: {per_reranker}, must be at least 1")
        random = np.random.default_rng(seed)
        count = per_reranker - 1
        strata = np.stack([random.permutation(count) for _ in range(3)], axis=1)  # (count, 3)
        shares = (strata + random.random((count, 3))) / max(1, count)
        drawn = [
            configuration
            for reranker in self.rerankers
            for configuration in (
                self.defaults(reranker),
                *(self.configuration(reranker, row) for row in shares.tolist()),
            )
        ]
        return list(dict.fromkeys(drawn))

    def to_json(self) -> dict[str, Any]:
        """As it is written beside an agent."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "SearchSpace":
        """What `to_json` gave. Raises `ValueError`, `TypeError` or `KeyError` for anything else."""
        low, high = values["iterations"]
        return cls(
            rerankers=tuple(map(str, values["rerankers"])),
            iterations=(int(low), int(high)),
            c=_pair(values["c"]),
            cost_weight=_pair(values["cost_weight"]),
            wave=int(values["wave"]),
            pick=str(values["pick"]),
        )


def _pair(values: Sequence[float]) -> tuple[float, float]:
    low, high = values
    return float(low), float(high)


def _within(value: float, low: float, high: float) -> float:
    if value != value:
        raise ValueError("a setting is not a number (nan)")
    return min(max(value, low), high)


def _share(value: float, low: float, high: float) -> float:
    return 0.0 if high == low else (value - low) / (high - low)
