import asyncio

import numpy as np
import pytest
import torch

from pipelines.realm.policy.actions import Actions
from pipelines.realm.policy.course import play
from pipelines.realm.policy.env import ReasoningEnv, spaces_of
from pipelines.realm.policy.learner import (
    make_learner,
    network_of,
    policy_of,
    to_episode,
    update_learner,
)
from pipelines.realm.policy.network import reinforce_loss
from pipelines.realm.policy.policy import Policy, PolicyShape
from pipelines.realm.policy.reward import Costs
from pipelines.realm.policy.rollout import Rollout, Task
from pipelines.realm.policy.settings import PolicySettings
from pipelines.realm.types import Formulation, Integration
from tests.pipelines.realm.policy.toy_world import ToyWorld, questions

SHAPE = PolicyShape(Actions((Formulation.STEP, Formulation.GAP), (Integration.WHOLE,)), hidden=(8,))
SETTINGS = PolicySettings(lr=0.01, grad_clip=0.0, entropy_weight=0.0)


def rollout(actions: list[int], name: str = "q", seed: int = 0) -> Rollout:
    count, draw = len(actions), np.random.default_rng(seed)
    return Rollout(
        name,
        0,
        draw.random((count, len(SHAPE.features)), np.float32),
        np.ones((count, len(SHAPE.actions)), np.float32),
        np.array(actions, np.int64),
        np.full(count, -1.0, np.float32),
        f1=1.0,
        exact=1.0,
        calls=0,
        seconds=0.0,
        status="answered",
    )


def log_probs(policy: Policy, held: Rollout) -> torch.Tensor:
    with torch.no_grad():
        found = policy.network(torch.from_numpy(held.observations), torch.from_numpy(held.masks))
    return found[torch.arange(len(held)), torch.from_numpy(held.actions)]


def test_fresh_weights_are_those_of_the_seed():
    first, again = make_learner(SHAPE, SETTINGS), make_learner(SHAPE, SETTINGS)
    for name, value in network_of(first).state_dict().items():
        assert torch.equal(value, network_of(again).state_dict()[name])
        assert torch.equal(value, SHAPE.network(SETTINGS.seed).state_dict()[name])


def test_an_update_is_a_plain_adam_step_on_the_loss():
    """The oracle: the same two updates with nothing of RLlib."""
    learner = make_learner(SHAPE, SETTINGS)
    network = SHAPE.network(SETTINGS.seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=SETTINGS.lr)
    baseline = None
    batches = [
        ([rollout([0, 1], "a", 1), rollout([2], "b", 2)], [1.0, 0.0]),
        ([rollout([1, 1, 0], "c", 3), rollout([2, 0], "d", 4)], [0.3, 0.9]),
    ]
    for rollouts, rewards in batches:
        update_learner(learner, rollouts, rewards, SHAPE)
        mean = sum(rewards) / len(rewards)
        before = mean if baseline is None else baseline
        baseline = before if baseline is None else 0.95 * baseline + 0.05 * mean
        advantages = [
            reward - before
            for held, reward in zip(rollouts, rewards, strict=True)
            for _ in range(len(held))
        ]
        out = network(
            torch.from_numpy(np.concatenate([r.observations for r in rollouts])),
            torch.from_numpy(np.concatenate([r.masks for r in rollouts])),
        )
        actions = torch.from_numpy(np.concatenate([r.actions for r in rollouts]))
        loss, _, _ = reinforce_loss(out, actions, torch.tensor(advantages), 0.0)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert learner.baseline.value == pytest.approx(baseline)
    for name, value in network.state_dict().items():
        torch.testing.assert_close(network_of(learner).state_dict()[name], value)


def test_the_update_sees_the_probabilities_that_were_sampled_from():
    policy = policy_of(make_learner(SHAPE, SETTINGS), SHAPE)
    task = Task(questions(1)[0])
    reasoner = ToyWorld().reasoner(task.question, seed=0)
    held = asyncio.run(play(reasoner, policy, task, Costs(), np.random.default_rng(0)))
    assert len(held) == 2
    policy.network.train()  # as RLlib has it during an update
    np.testing.assert_allclose(log_probs(policy, held).numpy(), held.log_probs, atol=1e-6)


def test_actions_of_good_episodes_become_likelier_those_of_bad_ones_less():
    learner = make_learner(SHAPE, SETTINGS)
    good, bad = rollout([1, 1], "good", 1), rollout([2, 2], "bad", 2)
    before = policy_of(learner, SHAPE)
    update_learner(learner, [good, bad], [1.0, 0.0], SHAPE)
    after = policy_of(learner, SHAPE)
    assert (log_probs(after, good) > log_probs(before, good)).all()
    assert (log_probs(after, bad) < log_probs(before, bad)).all()


def test_a_policy_that_was_taken_does_not_change_with_later_updates():
    learner = make_learner(SHAPE, SETTINGS)
    taken = policy_of(learner, SHAPE)
    before = {name: value.clone() for name, value in taken.network.state_dict().items()}
    update_learner(learner, [rollout([1]), rollout([2])], [1.0, 0.0], SHAPE)
    assert all(torch.equal(before[n], v) for n, v in taken.network.state_dict().items())


def test_a_group_baseline_cancels_how_hard_a_question_is():
    settings = PolicySettings(baseline="group", samples=2, entropy_weight=0.0)
    learner = make_learner(SHAPE, settings)
    before = {n: v.clone() for n, v in network_of(learner).state_dict().items()}
    alike = [rollout([1], "easy"), rollout([2], "easy"), rollout([1], "hard"), rollout([2], "hard")]
    update_learner(learner, alike, [1.0, 1.0, 0.0, 0.0], SHAPE)
    assert all(torch.equal(before[n], v) for n, v in network_of(learner).state_dict().items())


def test_normalised_advantages_do_not_depend_on_the_scale_of_the_reward():
    ends = []
    for scale in (1.0, 100.0):
        learner = make_learner(SHAPE, PolicySettings(normalise=True, entropy_weight=0.0))
        pair = [rollout([1], "a", 1), rollout([2], "b", 2)]
        out = update_learner(learner, pair, [scale, 0.0], SHAPE)
        ends.append(out["policy_loss"])
    assert ends[0] == pytest.approx(ends[1], abs=1e-4)


def test_an_episode_without_decisions_is_refused():
    with pytest.raises(ValueError, match="without decisions"):
        to_episode(rollout([]), 1.0, spaces_of(SHAPE))


def test_an_episode_is_what_the_environment_would_have_given():
    held, world = rollout([1, 0]), ReasoningEnv(ToyWorld(), questions(1), SHAPE)
    episode = to_episode(held, 0.7, spaces_of(SHAPE))
    assert len(episode) == 2
    assert episode.get_return() == pytest.approx(0.7)
    assert episode.is_done
    assert all(world.observation_space.contains(seen) for seen in episode.get_observations())


def test_the_learner_state_carries_the_baseline():
    first, second = make_learner(SHAPE, SETTINGS), make_learner(SHAPE, SETTINGS)
    update_learner(first, [rollout([1]), rollout([2])], [1.0, 0.5], SHAPE)
    second.set_state(first.get_state())
    assert second.baseline.value == first.baseline.value == 0.75
    torch.testing.assert_close(
        network_of(second).state_dict(), dict(network_of(first).state_dict())
    )
