"""Supervised steps on demonstrations: they teach a form before reinforcement sets in."""

from collections.abc import Sequence

import torch

from actors.learner.experience import gather
from actors.learner.losses import token_weights
from actors.learner.model import Policy
from actors.learner.optimisation import clipped_step
from actors.learner.types import Demonstration, Sample
from configs.schema import LearnerConfig


def supervised_step(
    policy: Policy,
    optimiser: torch.optim.Optimizer,
    demos: Sequence[Demonstration],
    lr: float,
    config: LearnerConfig,
) -> dict[str, float]:
    """Lowers the mean negative log-likelihood (temperature 1) of all completion tokens once.

    Returns `warmup/loss` (nats a token), `warmup/grad_norm`, `warmup/tokens` and
    `warmup/skipped_updates`. Raises ValueError without demonstrations.
    """
    data = gather(
        [
            Sample("", d.prompt_ids, d.completion_ids, (0.0,) * len(d.completion_ids), 0.0)
            for d in demos
        ]
    )
    weights = token_weights(data.mask, data.sequence, "token")
    total = 0.0
    for batch in data.pack(config.micro_batch_tokens, config.share_prefix, policy.device):
        hidden = policy.hidden(batch)
        leaf = hidden.detach().requires_grad_()
        for part in policy.chunks(batch):
            logprobs, _ = policy.predict(leaf[part], batch.targets[part], 1.0)
            loss = -(logprobs * weights[batch.flat[part].cpu()].to(policy.device)).sum()
            loss.backward()
            total += float(loss.detach())
        hidden.backward(leaf.grad)
    norm, taken = clipped_step(optimiser, config.max_grad_norm, lr)
    return {
        "warmup/loss": total,
        "warmup/grad_norm": norm,
        "warmup/tokens": float(len(data.mask)),
        "warmup/skipped_updates": float(not taken),
    }
