"""A policy: what it sees, what it may do, and the network between."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pipelines.realm.policy.actions import GO_ON_INDEX, Actions
from pipelines.realm.policy.features import THRESHOLD, Features
from pipelines.realm.types import StepState, Uncertainty

if TYPE_CHECKING:
    from pipelines.realm.policy.network import PolicyNetwork

Observation = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Features (f,) and mask (a,), 1 for the allowed actions."""


@dataclass(frozen=True, slots=True)
class PolicyShape:
    """What the policy sees and may do; everything but the weights."""

    actions: Actions = field(default_factory=Actions)
    features: Features = field(default_factory=Features)
    hidden: tuple[int, ...] = (64, 64)
    max_calls: int = 8
    """After so many retrievals it may only go on."""
    fixed_threshold: float | None = None
    """Ablation: RSUS over this decides when to retrieve, the policy only how."""

    def __post_init__(self) -> None:
        if self.max_calls < 0:
            raise ValueError(f"policy: max_calls {self.max_calls} is below 0")
        if self.fixed_threshold is not None and not self.features.needs_uncertainty:
            raise ValueError("policy: a fixed threshold on RSUS needs a part of RSUS")

    def mask(self, state: StepState, now: Uncertainty | None) -> NDArray[np.float32]:
        """(a,): 1 for what may be done."""
        mask = np.ones(len(self.actions), dtype=np.float32)
        over = True
        if self.fixed_threshold is not None:
            over = self.features.rsus(now) > self.fixed_threshold
            mask[GO_ON_INDEX] = not over
        if not over or state.calls >= self.max_calls:
            mask[:] = 0.0
            mask[GO_ON_INDEX] = 1.0
        return mask

    async def observe(self, state: StepState) -> Observation:
        """What the policy sees; works RSUS out if a part of it is looked at."""
        now = await state.uncertainty() if self.features.needs_uncertainty else None
        return self.features.vector(state, now), self.mask(state, now)

    def network(self, seed: int) -> "PolicyNetwork":
        """A network of this shape; the same seed gives the same weights."""
        import torch

        from pipelines.realm.policy.network import PolicyNetwork

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return PolicyNetwork(
                len(self.features),
                len(self.actions.formulations),
                len(self.actions.integrations),
                self.hidden,
            )

    def to_json(self) -> dict[str, Any]:
        """As JSON types; `from_json` gives an equal shape."""
        return {
            "formulations": [str(name) for name in self.actions.formulations],
            "integrations": [str(name) for name in self.actions.integrations],
            "without": list(self.features.without),
            "features": list(self.features.names),
            "hidden": list(self.hidden),
            "max_calls": self.max_calls,
            "fixed_threshold": self.fixed_threshold,
        }

    @classmethod
    def from_json(cls, held: dict[str, Any]) -> "PolicyShape":
        """Raises `ValueError` if its features are not what this version works out."""
        features = Features(tuple(held["without"]))
        if list(features.names) != held["features"]:
            changed = sorted({*features.names} ^ {*held["features"]}) or "their order"
            raise ValueError(f"the policy sees other features than this version: {changed}")
        return cls(
            Actions.of(tuple(held["formulations"]), tuple(held["integrations"])),
            features,
            tuple(int(width) for width in held["hidden"]),
            int(held["max_calls"]),
            held["fixed_threshold"],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """A shape and its network. `observe` and `act` together are a decision."""

    shape: PolicyShape
    network: "PolicyNetwork"

    def act(self, seen: Observation, draw: np.random.Generator | None) -> tuple[int, float]:
        """(action, its log-probability): drawn, or without `draw` the most probable one (the
        first of several)."""
        import torch

        features, mask = seen
        with torch.no_grad():
            log_probs = self.network(
                torch.from_numpy(features).unsqueeze(0), torch.from_numpy(mask).unsqueeze(0)
            )[0].numpy()
        index = int(log_probs.argmax())
        if draw is not None:
            sums = np.cumsum(np.exp(log_probs.astype(np.float64)))
            index = min(
                int(np.searchsorted(sums, draw.random() * sums[-1], side="right")), len(sums) - 1
            )
        return index, float(log_probs[index])


__all__ = ["THRESHOLD", "Observation", "Policy", "PolicyShape"]
