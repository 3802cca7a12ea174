"""What each part of RSUS costs."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Part(StrEnum):
    """A part of RSUS; the proxy stands in for VERB and is counted apart."""

    VERB = "verb"
    ENT = "ent"
    CONS = "cons"
    PROXY = "proxy"


@dataclass(slots=True)
class PartCost:
    """Sums of one part. Parts of one step may run side by side: their seconds can overlap."""

    steps: int = 0
    """Steps it was worked out for, tried in vain included."""
    calls: int = 0
    """Requests to the model, or searches; what a cache knew is no call."""
    tokens: int = 0
    """Tokens that the model wrote for it."""
    seconds: float = 0.0
    cached: int = 0
    """Entities that were known already."""
    failures: int = 0
    """Steps it could not be had for, although it was tried."""


@dataclass(slots=True)
class Costs:
    """The account of a meter: of all its chains, which share one event loop."""

    parts: dict[Part, PartCost] = field(default_factory=lambda: {part: PartCost() for part in Part})
    steps: int = 0
    """Steps that were measured."""
    seconds: float = 0.0
    """Wall time of the measurements, from first to last part of each."""
    skipped: int = 0
    """Steps whose U_cons was left out, since the other parts had settled it."""

    def __getitem__(self, part: Part) -> PartCost:
        return self.parts[part]

    @property
    def tokens(self) -> int:
        """Tokens written in all."""
        return sum(cost.tokens for cost in self.parts.values())

    def to_json(self) -> dict[str, object]:
        """All counters, by part."""
        return {
            "steps": self.steps,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "skipped_consistency": self.skipped,
            "parts": {str(part): asdict(cost) for part, cost in self.parts.items()},
        }
