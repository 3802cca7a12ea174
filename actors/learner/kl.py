"""Estimators of KL(policy || reference) from sampled tokens (Schulman, joschu.net/blog/kl-approx).

Where the estimate stands matters as much as which one it is: `k1` in the reward has, on-policy, the
gradient of `k2` in the loss, while `k1` in the loss has an expected gradient of zero.
"""

from torch import Tensor

LOG_RATIO_BOUND = 20.0
"""Log-ratios are clamped to this, so that exp never overflows into 0 * inf (prime-rl#2972)."""


def kl_estimate(logprobs: Tensor, reference: Tensor, estimator: str) -> Tensor:
    """KL per token, in nats.

    With r = logprobs - reference: `k1` = r (unbiased, may be negative), `k2` = r^2 / 2 (biased, low
    variance), `k3` = exp(-r) - 1 + r (unbiased, never negative).

    Args:
        logprobs: (...) log-probabilities of the sampled tokens under the policy.
        reference: (...) the same under the reference.
        estimator: `k1`, `k2` or `k3`.
    """
    log_ratio = (logprobs - reference).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    if estimator == "k1":
        return log_ratio
    if estimator == "k2":
        return 0.5 * log_ratio.square()
    if estimator == "k3":
        return (-log_ratio).exp() - 1 + log_ratio
    raise ValueError(f"no KL estimator is called {estimator!r}")
