import dataclasses

import pytest
import torch

from actors.learner.experience import advantages_of, gather
from actors.learner.types import Sample
from configs.schema import LearnerConfig


def sample(group, completion, reward, mask=None):
    return Sample(group, (1,), completion, (-1.0,) * len(completion), reward, 0, mask)


def test_tokens_lie_end_to_end_sorted_by_group_and_content():
    data = gather([sample("b", (9,), 1.0), sample("a", (8, 7), 2.0), sample("a", (5,), 3.0)])
    assert data.groups == ["a", "a", "b"]
    assert data.completions == [(5,), (8, 7), (9,)]
    assert data.sequence.tolist() == [0, 1, 1, 2]
    flat = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert data.padded(flat).tolist() == [[1, 0], [2, 3], [4, 0]]
    assert data.flat(data.padded(flat)).tolist() == flat.tolist()


def test_ppo_earns_the_reward_at_the_last_live_token_and_pays_kl_at_each():
    # One completion of 4 tokens, the third not the policy's; penalty .1 each; reward 2; values 0.
    # rewards: -.1, -.1, (none), -.1 + 2 = 1.9.  gamma = lambda = 1: returns 1.7, 1.8, 0, 1.9.
    data = gather([sample("a", (5, 6, 7, 8), 2.0, (True, True, False, True))])
    config = LearnerConfig(algorithm="ppo")
    advantages, returns = advantages_of(data, config, torch.full((4,), 0.1), torch.zeros(4))
    torch.testing.assert_close(returns, torch.tensor([1.7, 1.8, 0.0, 1.9]))
    # Whitened over the three live ones: mean 1.8, std sqrt(.02 / 3).
    unit = 0.1 / (0.02 / 3) ** 0.5
    torch.testing.assert_close(
        advantages, torch.tensor([-unit, 0.0, 0.0, unit]), atol=1e-5, rtol=1e-5
    )


def test_group_algorithms_pay_kl_off_the_reward_of_the_sequence():
    # Rewards 1 - (.5 + .5) = 0 and 1 - .5 = .5 (its masked token pays nothing).
    # rloo: 0 - .5 = -.5 and .5 - 0 = .5
    data = gather([sample("a", (5, 6), 1.0), sample("a", (7, 8), 1.0, (True, False))])
    penalty = torch.tensor([0.5, 0.5, 0.5, 99.0])
    advantages, _ = advantages_of(data, LearnerConfig(algorithm="rloo"), penalty, None)
    torch.testing.assert_close(advantages, torch.tensor([-0.5, -0.5, 0.5, 0.0]))


def test_minibatches_keep_a_prompt_together_and_cover_everything():
    data = gather([sample(str(g), (k + 3,), 0.0) for g in range(5) for k in range(3)])
    parts = data.minibatches(2, torch.Generator().manual_seed(0))
    assert sorted(i for part in parts for i in part) == list(range(15))
    assert [len(part) for part in parts] == [9, 6]
    for part in parts:
        assert all(part.count(i) == 1 for i in part)
        assert all({i - i % 3, i - i % 3 + 1, i - i % 3 + 2} <= set(part) for i in part)


def test_fields_that_disagree_are_refused():
    good = sample("a", (5, 6), 1.0)
    with pytest.raises(ValueError, match="logprobs"):
        gather([dataclasses.replace(good, logprobs=(-1.0,))])
    with pytest.raises(ValueError, match="mask"):
        gather([dataclasses.replace(good, mask=(True,))])
    with pytest.raises(ValueError, match="no samples"):
        gather([])
