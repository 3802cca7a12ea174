"""The policy's network as an RLModule of RLlib's new API stack."""

from typing import Any

from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.torch import TorchRLModule

from pipelines.realm.policy.env import FEATURES, MASK
from pipelines.realm.policy.network import PolicyNetwork


class PolicyModule(TorchRLModule):
    """Observations are `{"observations": (b, f), "action_mask": (b, a)}`; the outputs are
    normalised log-probabilities, which are logits too. `model_config` has `formulations`,
    `integrations` and `hidden`."""

    def setup(self) -> None:
        """Builds the network."""
        spaces = self.observation_space.spaces
        self.network = PolicyNetwork(
            spaces[FEATURES].shape[0],
            self.model_config["formulations"],
            self.model_config["integrations"],
            tuple(self.model_config["hidden"]),
        )

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        return {Columns.ACTION_DIST_INPUTS: self.network(seen[FEATURES], seen[MASK])}
