"""REINFORCE as a Learner of RLlib's new API stack, used without an Algorithm around it."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from pipelines.realm.policy.baseline import EmaBaseline, group_advantages
from pipelines.realm.policy.env import FEATURES, MASK, spaces_of
from pipelines.realm.policy.module import PolicyModule
from pipelines.realm.policy.network import PolicyNetwork, reinforce_loss
from pipelines.realm.policy.policy import Policy, PolicyShape
from pipelines.realm.policy.rollout import Rollout
from pipelines.realm.policy.settings import PolicySettings

ADVANTAGES = Columns.ADVANTAGES
BASELINE = "ema_baseline"
GROUP = "question_id"


class CreditEpisodes(ConnectorV2):
    """Learner connector: the episode's R, less the baseline, for every one of its steps.

    R is the sum of the episode's rewards (the environment pays it at the end).
    """

    def __init__(self, learner: "ReinforceLearner") -> None:
        super().__init__()
        self._learner = learner

    def __call__(
        self, *, rl_module: Any, batch: dict[str, Any], episodes: list[Any], **kwargs: Any
    ) -> Any:
        """Adds the column of advantages."""
        rewards = np.array([episode.get_return() for episode in episodes], np.float64)
        over = self._learner.baseline.advantages(rewards)
        if self._learner.settings["group_baseline"]:
            over = group_advantages(rewards, [episode.custom_data[GROUP] for episode in episodes])
        if self._learner.settings["normalise"]:
            over = over / (over.std() + 1e-6)
        for episode, value in zip(episodes, over, strict=True):
            self.add_n_batch_items(
                batch=batch,
                column=ADVANTAGES,
                items_to_add=np.full(len(episode), value, np.float32),
                num_items=len(episode),
                single_agent_episode=episode,
            )
        return batch


class ReinforceLearner(TorchLearner):
    """`loss = -mean(A log p(a)) - entropy_weight * mean(entropy)` over the steps of the batch; one
    update a batch, since the batch is the policy's own only once."""

    baseline: EmaBaseline

    @property
    def settings(self) -> dict[str, Any]:
        """`entropy_weight`, `baseline_decay`, `group_baseline`, `normalise`."""
        held: dict[str, Any] = self.config.learner_config_dict
        return held

    def build(self) -> None:
        """Builds module, optimiser and connectors."""
        super().build()
        self.baseline = EmaBaseline(self.settings["baseline_decay"])
        self._learner_connector.prepend(CreditEpisodes(self))

    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Any:
        """See `network.reinforce_loss`."""
        loss, policy, entropy = reinforce_loss(
            fwd_out[Columns.ACTION_DIST_INPUTS],
            batch[Columns.ACTIONS],
            batch[ADVANTAGES],
            self.settings["entropy_weight"],
        )
        self.metrics.log_dict(
            {"policy_loss": policy.item(), "entropy": entropy.item()}, key=module_id, window=1
        )
        return loss

    def get_state(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """RLlib's, and the baseline."""
        return {**super().get_state(*args, **kwargs), BASELINE: self.baseline.value}

    def set_state(self, state: dict[str, Any]) -> None:
        """RLlib's, and the baseline."""
        super().set_state(state)
        if BASELINE in state:
            self.baseline.value = state[BASELINE]


def make_learner(shape: PolicyShape, settings: PolicySettings) -> ReinforceLearner:
    """A learner with fresh weights: those of `shape.network(settings.seed)`."""
    observations, actions = spaces_of(shape)
    config = (
        AlgorithmConfig()
        .framework("torch")
        .learners(
            num_gpus_per_learner=0,
            learner_class=ReinforceLearner,
            learner_config_dict={
                "entropy_weight": settings.entropy_weight,
                "baseline_decay": settings.baseline_decay,
                "group_baseline": settings.baseline == "group",
                "normalise": settings.normalise,
            },
        )
        .training(
            lr=settings.lr,
            grad_clip=settings.grad_clip or None,
            grad_clip_by="global_norm",
        )
    )
    spec = RLModuleSpec(
        module_class=PolicyModule,
        observation_space=observations,
        action_space=actions,
        model_config={
            "formulations": len(shape.actions.formulations),
            "integrations": len(shape.actions.integrations),
            "hidden": list(shape.hidden),
        },
    )
    learner = ReinforceLearner(
        config=config, module_spec=MultiRLModuleSpec(rl_module_specs={DEFAULT_MODULE_ID: spec})
    )
    with _no_deprecations():
        learner.build()
    network_of(learner).load_state_dict(shape.network(settings.seed).state_dict())
    return learner


@contextmanager
def _no_deprecations() -> Iterator[None]:
    """RLlib 2.60 warns of what its own `MultiRLModuleSpec` does."""
    logger = logging.getLogger("ray._common.deprecation")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def network_of(learner: ReinforceLearner) -> PolicyNetwork:
    """The network that is trained."""
    network: PolicyNetwork = learner.module[DEFAULT_MODULE_ID].network
    return network


def optimiser_of(learner: ReinforceLearner) -> torch.optim.Optimizer:
    """Its optimiser."""
    optimiser: torch.optim.Optimizer = learner.get_optimizer(DEFAULT_MODULE_ID)
    return optimiser


def policy_of(learner: ReinforceLearner, shape: PolicyShape) -> Policy:
    """The policy as it is now; later updates do not change it."""
    policy = Policy(shape, shape.network(0))
    policy.network.load_state_dict(network_of(learner).state_dict())
    policy.network.eval()
    return policy


def to_episode(rollout: Rollout, reward: float, spaces: tuple[gym.Space, gym.Space]) -> Any:
    """The rollout as RLlib knows it, as the environment would have given it: nothing on the way,
    `reward` at the end. Raises `ValueError` for a rollout without decisions."""
    count = len(rollout)
    if not count:
        raise ValueError(f"question {rollout.question_id}: an episode without decisions")
    seen = [
        {FEATURES: observation, MASK: mask}
        for observation, mask in zip(rollout.observations, rollout.masks, strict=True)
    ]
    episode = SingleAgentEpisode(
        id_=f"{rollout.question_id}/{rollout.sample}",
        observations=[*seen, seen[-1]],  # the one after the end is never looked at
        observation_space=spaces[0],
        actions=list(rollout.actions),
        action_space=spaces[1],
        rewards=[0.0] * (count - 1) + [reward],
        terminated=True,
        extra_model_outputs={Columns.ACTION_LOGP: list(rollout.log_probs)},
        len_lookback_buffer=0,
    )
    episode.custom_data[GROUP] = rollout.question_id
    return episode


def update_learner(
    learner: ReinforceLearner,
    rollouts: Sequence[Rollout],
    rewards: Sequence[float],
    shape: PolicyShape,
) -> dict[str, float]:
    """One update from episodes with at least one decision each; `loss`, `policy_loss`, `entropy`,
    `gradient_norm` where it is clipped, and `baseline`."""
    spaces = spaces_of(shape)
    episodes = [to_episode(r, value, spaces) for r, value in zip(rollouts, rewards, strict=True)]
    results = learner.update(training_data=TrainingData(episodes=episodes))[DEFAULT_MODULE_ID]
    out = {"baseline": float(learner.baseline.value or 0.0)}
    for ours, theirs in (
        ("loss", "total_loss"),
        ("policy_loss", "policy_loss"),
        ("entropy", "entropy"),
        ("gradient_norm", "gradients_default_optimizer_global_norm"),
    ):
        if theirs in results:
            held = results[theirs]
            out[ours] = float(held.peek() if hasattr(held, "peek") else held)
    return out
