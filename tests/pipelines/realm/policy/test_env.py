import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pipelines.realm.policy.actions import Actions
from pipelines.realm.policy.env import MASK, ReasoningEnv
from pipelines.realm.policy.policy import PolicyShape
from pipelines.realm.policy.reward import RewardWeights
from pipelines.realm.types import Formulation, Integration
from tests.pipelines.realm.policy.toy_world import ToyWorld, knows, questions

SHAPE = PolicyShape(Actions((Formulation.STEP, Formulation.GAP), (Integration.WHOLE,)))
GO_ON, STEP, GAP = 0, 1, 2


def env(count: int = 5, **kwargs) -> ReasoningEnv:
    return ReasoningEnv(ToyWorld(), questions(count), kwargs.pop("shape", SHAPE), **kwargs)


def play(held: ReasoningEnv, actions, question):
    held.reset(seed=0, options={"question": question})
    rewards, ended = [], False
    while not ended:
        _, reward, ended, _, info = held.step(actions[len(rewards)])
        rewards.append(reward)
    return rewards, info


def test_gymnasium_finds_nothing_wrong():
    check_env(env(), skip_render_check=True)


def test_a_right_chain_pays_at_its_end():
    held, question = env(reward=RewardWeights(0.2, 0.01)), questions(1)[0]
    rewards, info = play(held, [GAP, GAP], question)
    # F1 1, 2 calls, 8 tokens * .025 + 2 * .66 = 1.52 s: 1 - .4 - .0152
    assert rewards == [0.0, pytest.approx(0.5848)]
    assert info | {"seconds": 1.52} == {
        "question_id": "q0", "f1": 1.0, "em": 1.0, "calls": 2, "seconds": 1.52,
        "status": "answered", "failed": False,
    }  # fmt: skip


def test_retrieving_with_the_wrong_query_costs_and_brings_nothing():
    held = env(reward=RewardWeights(0.2, 0.0))
    question = next(q for q in questions(50) if not knows(q, 0))
    rewards, info = play(held, [STEP, GAP], question)
    assert info["f1"] == 0.0
    assert rewards == [0.0, pytest.approx(-0.4)]


def test_the_same_seed_is_the_same_episode():
    first, second = env(), env()
    for held in (first, second):
        held.reset(seed=3)
    one, other = (held.step(GO_ON) for held in (first, second))
    assert one[1:] == other[1:]
    for key in one[0]:
        np.testing.assert_array_equal(one[0][key], other[0][key])


def test_what_the_mask_forbids_is_refused():
    held = env(shape=PolicyShape(SHAPE.actions, max_calls=0))
    observation, _ = held.reset(seed=0)
    assert observation[MASK].tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match=r"action 2 \(gap\+whole\) is not allowed"):
        held.step(GAP)


def test_a_fixed_threshold_leaves_only_how_to_the_policy():
    held = env(shape=PolicyShape(SHAPE.actions, fixed_threshold=0.65))
    sure = next(q for q in questions(50) if knows(q, 0))
    unsure = next(q for q in questions(50) if not knows(q, 0))
    for question, mask in ((sure, [1, 0, 0]), (unsure, [0, 1, 1])):
        observation, _ = held.reset(seed=0, options={"question": question})
        assert observation[MASK].tolist() == mask


def test_a_step_without_a_reset_and_no_questions_are_refused():
    with pytest.raises(RuntimeError, match="reset"):
        env().step(GO_ON)
    with pytest.raises(ValueError, match="at least one question"):
        env(0)


def test_an_infrastructure_failure_is_said():
    held = ReasoningEnv(ToyWorld(index_down=True), questions(1), SHAPE)
    _, info = play(held, [GAP, GO_ON], questions(1)[0])
    assert info["failed"] is True


def test_closing_closes_the_world_twice_over():
    world = ToyWorld()
    held = ReasoningEnv(world, questions(1), SHAPE)
    held.reset()
    held.close()
    held.close()
    assert world.closed
