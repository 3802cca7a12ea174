"""An episode: one chain, what was seen and done at each decision, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipelines.realm.types import Chain, Decision, Evidence, HopQuestion, StepState


class SteppedReasoner(Protocol):
    """A chain that stops at each step boundary (`pipelines.realm.reason.Reasoner`)."""

    async def advance(self) -> StepState | None:
        """Writes up to the next boundary; None when the chain has ended."""
        ...

    async def apply(self, decision: Decision) -> Evidence | None:
        """Does what was decided on the last state."""
        ...

    async def finish(self) -> Chain:
        """The finished chain; closes its session."""
        ...

    async def close(self) -> None:
        """Ends a chain that nobody wants any more."""
        ...


class World(Protocol):
    """What episodes run in: an engine, an index and all parts, made once per worker."""

    def reasoner(self, question: HopQuestion, *, seed: int) -> SteppedReasoner:
        """A chain on the question. The same seed, question and decisions give the same chain,
        where the engine can promise that."""
        ...

    async def close(self) -> None:
        """Frees what it holds."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """A finished episode of T decisions over f features and a actions."""

    question_id: str
    sample: int
    observations: NDArray[np.float32]
    """(T, f)."""
    masks: NDArray[np.float32]
    """(T, a), 1 for what was allowed."""
    actions: NDArray[np.int64]
    """(T,)."""
    log_probs: NDArray[np.float32]
    """(T,), of the actions under the policy that drew them."""
    f1: float
    exact: float
    calls: int
    seconds: float
    """As charged in the reward."""
    status: str
    failed: bool = False
    """The infrastructure failed under the chain: it says nothing about the policy."""

    def __len__(self) -> int:
        return len(self.actions)


@dataclass(frozen=True, slots=True)
class Task:
    """A question to run an episode on, and which sample of it this is."""

    question: HopQuestion
    sample: int = 0


def summary(rollouts: Sequence[Rollout], names: Sequence[str]) -> dict[str, float]:
    """Means over the episodes that no infrastructure failed under, and the share of each action
    among all decisions. NaN where there is none."""
    sound = [rollout for rollout in rollouts if not rollout.failed]

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values)) if len(values) else float("nan")

    out = {
        "f1": mean([r.f1 for r in sound]),
        "em": mean([r.exact for r in sound]),
        "calls": mean([r.calls for r in sound]),
        "seconds": mean([r.seconds for r in sound]),
        "decisions": mean([len(r) for r in sound]),
        "failed": float(len(rollouts) - len(sound)),
    }
    taken = np.concatenate([r.actions for r in sound]) if sound else np.zeros(0, np.int64)
    shares = np.bincount(taken, minlength=len(names)) / max(1, len(taken))
    return out | {f"action/{name}": float(s) for name, s in zip(names, shares, strict=True)}
