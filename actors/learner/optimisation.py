"""Optimiser steps that never take a non-finite gradient."""

from collections.abc import Iterable

import torch
from torch import nn

BETAS = (0.9, 0.999)
"""AdamW's usual betas. A shorter second-moment memory (0.95) is for long pre-training runs."""


def adamw(parameters: Iterable[nn.Parameter], lr: float, weight_decay: float) -> torch.optim.AdamW:
    """AdamW with the fused kernel (one pass over memory, on CPU and GPU)."""
    return torch.optim.AdamW(
        list(parameters), lr=lr, betas=BETAS, weight_decay=weight_decay, fused=True
    )


def warm_up(step: int, warmup_steps: int) -> float:
    """Factor of the learning rate at a step (from 0): linear up to 1 over `warmup_steps`."""
    return min(1.0, (step + 1) / warmup_steps) if warmup_steps > 0 else 1.0


def clipped_step(
    optimiser: torch.optim.Optimizer, max_grad_norm: float, lr: float
) -> tuple[float, bool]:
    """Clips the gradients and steps, unless they are not finite; clears them either way.

    Returns:
        the norm before clipping, and whether the step was taken.
    """
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    norm = float(nn.utils.clip_grad_norm_(parameters, max_grad_norm))
    taken = torch.isfinite(torch.tensor(norm)).item()
    if taken:
        for group in optimiser.param_groups:
            group["lr"] = lr
        optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return norm, bool(taken)
