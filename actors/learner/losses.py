"""Losses of policy and critic, as sums over tokens with weights that the caller fixes.

Every loss is `sum(weights * per-token loss)`. The weights carry the *global* denominators
(`token_weights`), so a sum over micro-batches or learners is the loss of the whole batch, however
it was cut (SkyRL#925, verl#5641). Shapes: T tokens of any number of sequences, laid end to end.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from actors.learner.kl import LOG_RATIO_BOUND


def token_weights(mask: Tensor, sequence: Tensor, aggregation: str) -> Tensor:
    """The share of each token in a mean over the whole (mini-)batch.

    Args:
        mask: (T,) bool, True on live tokens.
        sequence: (T,) int, the sequence each token belongs to.
        aggregation: `token`, mean over all live tokens; `sequence`, mean over sequences (that have
            a live token) of the means over their live tokens.

    Returns:
        (T,) float32, zero on tokens that are not live, summing to 1 (to 0 if none is live).
    """
    live = mask.float()
    if aggregation == "token":
        return live / live.sum().clamp(min=1)
    if aggregation != "sequence":
        raise ValueError(f"no loss aggregation is called {aggregation!r}")
    size = int(sequence.max()) + 1 if len(sequence) else 0
    lengths = torch.zeros(size, device=mask.device).index_add_(0, sequence, live)
    sequences = (lengths > 0).sum().clamp(min=1)
    return live / (lengths.clamp(min=1)[sequence] * sequences)


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """`loss` is differentiable; the others are detached, per token (T,)."""

    loss: Tensor
    clipped: Tensor  # 1.0 where the clip decided
    approx_kl: Tensor  # k3 of the old policy against the new one


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    weights: Tensor,
    clip: float,
    is_weights: Tensor | None = None,
) -> PolicyLoss:
    """The clipped surrogate of PPO (arXiv 1707.06347, eq. 7), to be minimised.

    Args:
        logprobs: (T,) under the current policy, differentiable.
        old_logprobs: (T,) under the policy before this step, by the same trainer.
        advantages: (T,)
        weights: (T,) from `token_weights`.
        clip: the ratio is held to [1 - clip, 1 + clip].
        is_weights: (T,) constant factors from `truncated_importance_weights`.
    """
    log_ratio = (logprobs - old_logprobs).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    ratio = log_ratio.exp()
    plain = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip, 1 + clip)
    per_token = torch.maximum(plain, clipped)
    if is_weights is not None:
        per_token = per_token * is_weights.detach()
    with torch.no_grad():
        approx_kl = ratio - 1 - log_ratio
        decided = (clipped > plain).float()
    return PolicyLoss((per_token * weights).sum(), decided, approx_kl)


def truncated_importance_weights(trainer: Tensor, engine: Tensor, cap: float) -> Tensor:
    """min(exp(trainer - engine), cap): undoes what the engine's numerics did to the samples.

    Truncated importance sampling (verl#2953). Both (T,) are log-probabilities of the sampled tokens
    under the weights that sampled them. The result carries no gradient.
    """
    log_ratio = (trainer.detach() - engine).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    return log_ratio.exp().clamp(max=cap)


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, weights: Tensor, clip: float
) -> Tensor:
    """Half the squared error of the critic, the larger of the plain and the clipped one.

    The clipped value stays within `clip` of `old_values`. All (T,); returns a scalar.
    """
    held = old_values + (values - old_values).clamp(-clip, clip)
    error = torch.maximum((values - returns).square(), (held - returns).square())
    return 0.5 * (error * weights).sum()


def explained_variance(values: Tensor, returns: Tensor, mask: Tensor) -> float:
    """1 - Var(returns - values) / Var(returns) over live tokens; 0 if the returns do not vary."""
    v, r = values[mask], returns[mask]
    if r.numel() < 2 or float(r.var()) < 1e-12:
        return 0.0
    return float(1 - (r - v).var() / r.var())
