import math

import pytest
import torch

from actors.learner.advantages import gae, group_advantages, whiten


def test_gae_by_hand():
    # gamma .5, lambda .5, rewards 0 0 1, values .2 .4 .6; nothing after the end.
    # delta2 = 1 - .6 = .4;             A2 = .4
    # delta1 = .5 * .6 - .4 = -.1;      A1 = -.1 + .25 * .4 = 0
    # delta0 = .5 * .4 - .2 = 0;        A0 = 0 + .25 * 0 = 0
    advantages, returns = gae(
        torch.tensor([[0.0, 0.0, 1.0]]),
        torch.tensor([[0.2, 0.4, 0.6]]),
        torch.ones(1, 3, dtype=torch.bool),
        gamma=0.5,
        lam=0.5,
    )
    torch.testing.assert_close(advantages, torch.tensor([[0.0, 0.0, 0.4]]))
    torch.testing.assert_close(returns, torch.tensor([[0.2, 0.4, 1.0]]))


def test_gae_of_the_papers_setting_is_return_minus_value():
    # gamma = lambda = 1: A_t = sum of rewards from t on - V_t.
    rewards = torch.tensor([[-0.1, -0.2, 2.0], [-0.3, 1.0, 9.0]])
    values = torch.tensor([[0.5, 0.25, 1.0], [0.5, 2.0, 7.0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    advantages, returns = gae(rewards, values, mask, 1.0, 1.0)
    torch.testing.assert_close(advantages, torch.tensor([[1.2, 1.55, 1.0], [0.2, -1.0, 0.0]]))
    torch.testing.assert_close(returns, torch.tensor([[1.7, 1.8, 2.0], [0.7, 1.0, 0.0]]))


@pytest.mark.parametrize("junk", [0.0, 1e4, -1e4])
def test_gae_passes_over_tokens_that_are_not_live(junk):
    # The live tokens 0, 2, 3 of the first row must fare as if token 1 were not there (verl#2337).
    live = [0, 2, 3]
    rewards = torch.tensor([[0.1, junk, -0.2, 1.0]])
    values = torch.tensor([[0.3, junk, 0.5, 0.7]])
    mask = torch.tensor([[True, False, True, True]])
    advantages, returns = gae(rewards, values, mask, 0.9, 0.8)
    short = gae(rewards[:, live], values[:, live], torch.ones(1, 3, dtype=torch.bool), 0.9, 0.8)
    torch.testing.assert_close(advantages[:, live], short[0])
    torch.testing.assert_close(returns[:, live], short[1])
    assert advantages[0, 1] == returns[0, 1] == 0


@pytest.mark.parametrize("junk", [0.0, 1e4])
def test_whiten_sees_live_tokens_only_and_masks_again(junk):
    # Live 1 and 3: mean 2, standard deviation 1.
    out = whiten(torch.tensor([1.0, junk, 3.0]), torch.tensor([True, False, True]))
    torch.testing.assert_close(out, torch.tensor([-1.0, 0.0, 1.0]))


def test_whiten_without_spread_is_zero():
    assert whiten(torch.tensor([2.0, 2.0]), torch.tensor([True, True])).tolist() == [0.0, 0.0]
    assert whiten(torch.tensor([2.0, 9.0]), torch.tensor([True, False])).tolist() == [0.0, 0.0]


def test_group_advantages_by_hand():
    rewards = torch.tensor([1.0, 5.0, 3.0])
    groups = ["a", "a", "a"]
    # mean 3, unbiased std sqrt((4 + 4 + 0) / 2) = 2
    assert group_advantages(rewards, groups, "grpo").tolist() == [-1.0, 1.0, 0.0]
    # 1 - (5 + 3) / 2 = -3;  5 - (1 + 3) / 2 = 3;  3 - (1 + 5) / 2 = 0
    assert group_advantages(rewards, groups, "rloo").tolist() == [-3.0, 3.0, 0.0]
    assert group_advantages(rewards, ["a", "b", "c"], "reinforce").tolist() == [-2.0, 2.0, 0.0]


def test_groups_are_found_by_key_not_by_position():
    # a: 0 and 2, mean 1, std sqrt(2); b: 10 and 14, mean 12, std sqrt(8).
    out = group_advantages(torch.tensor([0.0, 10.0, 2.0, 14.0]), ["a", "b", "a", "b"], "grpo")
    half = 1 / math.sqrt(2)
    torch.testing.assert_close(out, torch.tensor([-half, -half, half, half]))


@pytest.mark.parametrize("algorithm", ["grpo", "rloo"])
def test_a_group_of_one_and_a_group_without_spread_get_zero(algorithm):
    out = group_advantages(torch.tensor([7.0, 4.0, 4.0]), ["one", "same", "same"], algorithm)
    assert out.tolist() == [0.0, 0.0, 0.0]


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(ValueError, match="magic"):
        group_advantages(torch.tensor([1.0]), ["a"], "magic")
