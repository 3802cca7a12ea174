"""Advantages: how much better a token or a completion did than expected.

Pure functions. Shapes: n sequences, R completion tokens (padded); `mask` is True on live tokens,
that is on tokens that the policy wrote.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

STD_FLOOR = 1e-6
"""Rewards of a group that spread less than this carry no signal: their advantages are zero."""


def gae(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation (arXiv 1506.02438) over live tokens only.

    A token that is not live takes no part: the chain goes from each live token straight to the next
    live one (verl#2337). Nothing is bootstrapped past the last live token.

    Args:
        rewards: (n, R) reward of each token.
        values: (n, R) value of the state in which each token was chosen.
        mask: (n, R) bool.
        gamma: discount per token.
        lam: the lambda of GAE.

    Returns:
        advantages and returns, each (n, R), zero where the mask is False.
    """
    advantages = torch.zeros_like(values)
    running = torch.zeros_like(values[:, 0]) if values.shape[1] else values.new_zeros(len(values))
    next_value = torch.zeros_like(running)
    for t in reversed(range(values.shape[1])):
        live = mask[:, t]
        delta = rewards[:, t] + gamma * next_value - values[:, t]
        running = torch.where(live, delta + gamma * lam * running, running)
        next_value = torch.where(live, values[:, t], next_value)
        advantages[:, t] = torch.where(live, running, torch.zeros_like(running))
    return advantages, torch.where(mask, advantages + values, torch.zeros_like(values))


def whiten(x: Tensor, mask: Tensor) -> Tensor:
    """`x` with mean 0 and (biased) standard deviation 1 over live tokens; zero on all others.

    Fewer than two live tokens, or all equal: zeros.
    """
    live = x[mask]
    if live.numel() < 2:
        return torch.zeros_like(x)
    std = live.std(unbiased=False)
    if std < STD_FLOOR:
        return torch.zeros_like(x)
    return torch.where(mask, (x - live.mean()) / std, torch.zeros_like(x))


def group_advantages(rewards: Tensor, groups: Sequence[str], algorithm: str) -> Tensor:
    """One advantage per sequence, from the rewards of its group.

    Args:
        rewards: (n,) one reward per sequence.
        groups: the n group keys; order does not matter (prime-rl#600).
        algorithm: `grpo`, (r - mean) / unbiased std of the group (arXiv 2402.03300); `rloo`, r
            minus the mean of the group's other rewards (arXiv 2402.14740); `reinforce`, r minus the
            mean of the whole batch.

    Returns:
        (n,) advantages. A group of one (grpo, rloo) or one without spread gets zeros.
    """
    if algorithm == "reinforce":
        return rewards - rewards.mean()
    if algorithm not in ("grpo", "rloo"):
        raise ValueError(f"no group advantage is called {algorithm!r}")
    members: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    out = torch.zeros_like(rewards)
    for indices in members.values():
        own = rewards[indices]
        k = len(indices)
        if k < 2 or own.max() - own.min() < STD_FLOOR:
            continue
        centred = own - own.mean()
        out[indices] = centred / own.std() if algorithm == "grpo" else centred * (k / (k - 1))
    return out
