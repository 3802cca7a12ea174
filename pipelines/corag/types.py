"""What every way of choosing chunks shares.

A *search* is a generator: it yields the orders it wants scored and is sent their rewards, in the
same order; it returns a `Selection`. It knows neither texts nor Ray, so one driver runs many
searches side by side and fills the reranker's batches from all of them.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.corag.tree import PolicyTree

Order = tuple[int, ...]
"""Positions among the candidates, first chunk first."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen order; `cost` in tokens, `reward` as the reranker gave it (0 for no chunk).

    `iterations` is how often the search went on from scores that it had asked for.
    """

    order: Order
    cost: int
    reward: float
    iterations: int = 0
    tree: "PolicyTree | None" = None


Search = Generator[Sequence[Order], Sequence[float], Selection]


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Settings of the tree search, with the paper's defaults (section 6; its best c is about 2)."""

    iterations: int = 10
    c: float = 2.4
    """Weight of exploration."""
    cost_weight: float = 0.1
    """Lambda: what a node's share of the budget costs it while the tree is walked."""
    wave: int = 1
    """Leaves that are expanded at once."""
    pick: str = "average"
    """What the final pick compares: a node's `average` (V/N, Algorithm 1) or its own `reward`."""

    def __post_init__(self) -> None:
        faults = [
            f"{name} is {value}, must be at least {least} and finite"
            for name, value, least in (
                ("iterations", self.iterations, 1),
                ("c", self.c, 0),
                ("cost_weight", self.cost_weight, 0),
                ("wave", self.wave, 1),
            )
            if not least <= value < inf
        ]
        if self.pick not in ("average", "reward"):
            faults.append(f"pick is {self.pick!r}, must be 'average' or 'reward'")
        if faults:
            raise ValueError("tree search: " + "; ".join(faults))


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the configuration agent sets per query."""

    reranker: str
    settings: TreeSettings
