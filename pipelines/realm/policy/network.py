"""The policy's network: when, and separately with which query and how.

A flat soft-max over go-on and twelve retrievals would start by retrieving twelve times in
thirteen; here the start is one in two, and what is learned of a formulation holds for all
integrations.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

BOUND = 8.0
"""Logits of the heads stay within +-BOUND: no probability reaches 0, none overflows."""
WHEN_BOUND = 4.0
"""The same for going on or retrieving, neither of which falls under 1.8 %. While calls are dear the
policy learns to make none; it must still make some to find out that they have become cheap."""
MASKED = -1e9
SPREAD = 5.0
"""A feature counts at most as so many standard deviations."""
LEAST_SPREAD = 0.05
"""Of a feature that hardly varies."""


class PolicyNetwork(nn.Module):
    """Features (b, f) to log-probabilities (b, 1 + formulations * integrations) of the actions.

    No dropout and no batch statistics: an update sees the probabilities that were sampled from.
    """

    def __init__(
        self, features: int, formulations: int, integrations: int, hidden: tuple[int, ...]
    ) -> None:
        super().__init__()
        self.mean: Tensor
        self.scale: Tensor
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        layers: list[nn.Module] = []
        width = features
        for wide in hidden:
            layers += [nn.Linear(width, wide), nn.Tanh()]
            width = wide
        self.trunk = nn.Sequential(*layers)
        self.when = nn.Linear(width, 1)
        self.formulation = nn.Linear(width, formulations)
        self.integration = nn.Linear(width, integrations)
        for head in (self.when, self.formulation, self.integration):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    @torch.no_grad()
    def calibrate(self, features: Tensor) -> None:
        """Takes mean and spread of features (n, f) as what is usual, so that what differs between
        steps counts and what they share does not. Fresh heads are 0 whatever they are given: to do
        this once, before the first update, changes no probability."""
        self.mean.copy_(features.mean(dim=0))
        self.scale.copy_(features.std(dim=0, correction=0).clamp(min=LEAST_SPREAD))

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        """Features (b, f), mask (b, a) with 1 for allowed actions; at least one a row. The result
        is normalised over the allowed ones; the others are at about `MASKED`."""
        hidden = self.trunk(((features - self.mean) / self.scale).clamp(-SPREAD, SPREAD))
        when = _bounded(self.when(hidden), WHEN_BOUND)  # (b, 1)
        query = functional.log_softmax(_bounded(self.formulation(hidden)), dim=1)  # (b, q)
        way = functional.log_softmax(_bounded(self.integration(hidden)), dim=1)  # (b, w)
        which = (query.unsqueeze(2) + way.unsqueeze(1)).flatten(1)  # (b, q * w)
        joint = torch.cat(
            [functional.logsigmoid(-when), functional.logsigmoid(when) + which], dim=1
        )
        return functional.log_softmax(joint.masked_fill(mask < 0.5, MASKED), dim=1)


def _bounded(logits: Tensor, bound: float = BOUND) -> Tensor:
    return bound * torch.tanh(logits / bound)


def reinforce_loss(
    log_probs: Tensor, actions: Tensor, advantages: Tensor, entropy_weight: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(loss, policy part, entropy), each the mean over the steps.

    log_probs (b, a) normalised; actions (b,) int64; advantages (b,), no gradient flows into them.
    `loss = -mean(advantage * log p(action)) - entropy_weight * mean(entropy)`; the entropy has a
    gradient (in the authors' code it is detached, and then bounds nothing).
    """
    chosen = log_probs.gather(1, actions.long().unsqueeze(1)).squeeze(1)  # (b,)
    policy = -(advantages.detach() * chosen).mean()
    # A masked action has p = 0 and adds 0, not 0 * -inf.
    entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
    return policy - entropy_weight * entropy, policy, entropy
