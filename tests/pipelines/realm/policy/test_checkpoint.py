import asyncio
import json

import numpy as np
import pytest
import torch

from pipelines.realm.policy.actions import Actions
from pipelines.realm.policy.checkpoint import CARD, WEIGHTS, PolicyError, load_policy, save_policy
from pipelines.realm.policy.decider import PolicyDecider
from pipelines.realm.policy.features import Features
from pipelines.realm.policy.policy import Policy, PolicyShape
from pipelines.realm.types import GO_ON, Formulation, Integration
from tests.pipelines.realm.policy.toy_world import ToyWorld, questions

SHAPE = PolicyShape(
    Actions((Formulation.GAP,), (Integration.WHOLE, Integration.SENTENCES)),
    Features(("cons",)),
    (8, 4),
    5,
    0.65,
)


def policy(shape: PolicyShape = SHAPE) -> Policy:
    held = Policy(shape, shape.network(1))
    with torch.no_grad():
        held.network.when.weight.normal_(0, 1)
    return held


def first_state(question=None):
    reasoner = ToyWorld().reasoner(question or questions(1)[0], seed=0)
    return reasoner, asyncio.run(reasoner.advance())


def test_a_saved_policy_comes_back_equal(tmp_path):
    save_policy(policy(), tmp_path, {"updates": 3})
    found = load_policy(tmp_path)
    assert found.shape == SHAPE
    for name, value in policy().network.state_dict().items():
        if name != "when.weight":
            assert torch.equal(found.network.state_dict()[name], value)
    assert json.loads((tmp_path / CARD).read_text())["facts"] == {"updates": 3}


@pytest.mark.parametrize("damage", ["no card", "no weights", "half the weights", "not json"])
def test_a_damaged_policy_is_one_error_with_its_remedy(tmp_path, damage):
    save_policy(policy(), tmp_path)
    if damage == "no card":
        (tmp_path / CARD).unlink()
    elif damage == "no weights":
        (tmp_path / WEIGHTS).unlink()
    elif damage == "half the weights":
        held = (tmp_path / WEIGHTS).read_bytes()
        (tmp_path / WEIGHTS).write_bytes(held[: len(held) // 2])
    else:
        (tmp_path / CARD).write_text("{")
    with pytest.raises(PolicyError, match=r"train"):
        load_policy(tmp_path)


def test_a_policy_that_sees_other_features_is_refused(tmp_path):
    save_policy(policy(), tmp_path)
    card = json.loads((tmp_path / CARD).read_text())
    card["shape"]["features"][0] = "question.mood"
    (tmp_path / CARD).write_text(json.dumps(card))
    with pytest.raises(PolicyError, match=r"question\.mood"):
        load_policy(tmp_path)


def test_greedy_decisions_are_the_most_probable_actions():
    held = policy(PolicyShape(SHAPE.actions, hidden=(8,)))
    for question in questions(8):
        _, state = first_state(question)
        seen = asyncio.run(held.shape.observe(state))
        action, log_prob = held.act(seen, None)
        with torch.no_grad():
            all_of_them = held.network(*(torch.from_numpy(x).unsqueeze(0) for x in seen))[0]
        assert log_prob == pytest.approx(all_of_them.max().item())
        assert asyncio.run(PolicyDecider(held).decide(state)) == SHAPE.actions.decision(action)


def test_draws_follow_the_probabilities():
    held = policy(PolicyShape(SHAPE.actions, hidden=(8,)))
    _, state = first_state()
    seen = asyncio.run(held.shape.observe(state))
    with torch.no_grad():
        expected = held.network(*(torch.from_numpy(x).unsqueeze(0) for x in seen))[0].exp()
    draw, count = np.random.default_rng(0), 2000
    found = np.bincount([held.act(seen, draw)[0] for _ in range(count)], minlength=3) / count
    # Four standard deviations of a share.
    np.testing.assert_allclose(found, expected.numpy(), atol=4 * 0.5 / count**0.5)


def test_a_sampled_decider_repeats_with_its_seed():
    held = policy(PolicyShape(SHAPE.actions, hidden=(8,)))
    states = [first_state(question)[1] for question in questions(20)]

    def decided(seed: int):
        decider = PolicyDecider(held, sampled=True, seed=seed)
        return [asyncio.run(decider.decide(state)) for state in states]

    assert decided(1) == decided(1)
    assert decided(1) != decided(2)


def test_a_step_that_ends_the_chain_is_gone_on_from_unmeasured():
    reasoner, state = first_state()
    state.ended = True
    assert asyncio.run(PolicyDecider(policy()).decide(state)) == GO_ON
    assert reasoner.asked == 0


def test_rsus_is_not_worked_out_for_a_policy_that_looks_at_no_part_of_it():
    reasoner, state = first_state()
    blind = policy(PolicyShape(SHAPE.actions, Features(("verb", "ent", "cons")), (8,)))
    asyncio.run(PolicyDecider(blind).decide(state))
    assert reasoner.asked == 0
    asyncio.run(PolicyDecider(policy()).decide(state))
    assert reasoner.asked == 1


def test_a_threshold_without_rsus_and_calls_below_0_are_refused():
    with pytest.raises(ValueError, match="needs a part of RSUS"):
        PolicyShape(features=Features(("verb", "ent", "cons")), fixed_threshold=0.65)
    with pytest.raises(ValueError, match="max_calls"):
        PolicyShape(max_calls=-1)
