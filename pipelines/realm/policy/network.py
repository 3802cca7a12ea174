"""The policy's network: when, and separately with which query and how.

A flat soft-max over go-on and twelve retrievals would start by retrieving twelve times in
thirteen; here the start is one in two, and what is learned of a formulation holds for all
integrations.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

BOUND = 8.0
"""Logits of each head stay within +-BOUND: no probability reaches 0, none overflows."""
MASKED = -1e9


class PolicyNetwork(nn.Module):
    """Features (b, f) to log-probabilities (b, 1 + formulations * integrations) of the actions.

    No dropout and no batch statistics: an update sees the probabilities that were sampled from.
    """

    def __init__(
        self, features: int, formulations: int, integrations: int, hidden: tuple[int, ...]
    ) -> None:
        super().__init__()
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

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        """Features (b, f), mask (b, a) with 1 for allowed actions; at least one a row. The result
        is normalised over the allowed ones; the others are at about `MASKED`."""
        hidden = self.trunk(features)
        when = _bounded(self.when(hidden))  # (b, 1)
        query = functional.log_softmax(_bounded(self.formulation(hidden)), dim=1)  # (b, q)
        way = functional.log_softmax(_bounded(self.integration(hidden)), dim=1)  # (b, w)
        which = (query.unsqueeze(2) + way.unsqueeze(1)).flatten(1)  # (b, q * w)
        joint = torch.cat(
            [functional.logsigmoid(-when), functional.logsigmoid(when) + which], dim=1
        )
        return functional.log_softmax(joint.masked_fill(mask < 0.5, MASKED), dim=1)


def _bounded(logits: Tensor) -> Tensor:
    return BOUND * torch.tanh(logits / BOUND)


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
