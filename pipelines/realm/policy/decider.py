"""The trained policy as a `Decider` of the reasoning loop."""

from pathlib import Path

import numpy as np

from pipelines.realm.policy.policy import Policy, PolicyShape
from pipelines.realm.types import GO_ON, Decision, StepState
from pipelines.seeds import seed_of


class PolicyDecider:
    """Takes the most probable action, or with `sampled` draws one; a draw depends on the seed, the
    question and the step only. A step that ends the chain is not decided on."""

    def __init__(self, policy: Policy, *, sampled: bool = False, seed: int = 0) -> None:
        self._policy, self._sampled, self._seed = policy, sampled, seed

    @property
    def shape(self) -> PolicyShape:
        """What the policy sees and may do."""
        return self._policy.shape

    @classmethod
    def load(cls, folder: str | Path, *, sampled: bool = False, seed: int = 0) -> "PolicyDecider":
        """From a folder that training left. Raises `PolicyError`."""
        from pipelines.realm.policy.checkpoint import load_policy

        return cls(load_policy(folder), sampled=sampled, seed=seed)

    async def decide(self, state: StepState) -> Decision:
        """See `Decider`."""
        if state.ended:
            return GO_ON
        shape = self._policy.shape
        draw = None
        if self._sampled:
            key = seed_of(self._seed, state.question, len(state.steps))
            draw = np.random.default_rng(key)
        action, _ = self._policy.act(await shape.observe(state), draw)
        return shape.actions.decision(action)
