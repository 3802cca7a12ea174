"""The configuration agent's network and its three losses. Source: CORAG, arXiv 2411.00744."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTHS = (512, 256, 128)
MARGIN = 1.0
SETTINGS = 3
"""Iterations, lambda, c."""
_TINY = 1e-12


class AgentNetwork(nn.Module):
    """Query vectors (b, dimension) to features (b, 128), reranker logits (b, rerankers) and scaled
    settings (b, 3). The layers below the heads are what the two arms of the contrastive loss
    share."""

    def __init__(self, dimension: int, rerankers: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for wide, narrow in zip((dimension, *WIDTHS), WIDTHS, strict=False):
            layers += [nn.Linear(wide, narrow), nn.ReLU()]
        self.trunk = nn.Sequential(*layers)
        self.classifier = nn.Linear(WIDTHS[-1], rerankers)
        self.regressor = nn.Linear(WIDTHS[-1], SETTINGS)

    def forward(self, queries: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Features, logits, settings. Settings are not bounded here; the space clamps them."""
        features = self.trunk(queries)
        return features, self.classifier(features), self.regressor(features)


@dataclass(frozen=True, slots=True)
class AgentLosses:
    """Scalars; `total` is their sum, equal weights."""

    contrastive: Tensor
    reranker: Tensor
    settings: Tensor

    @property
    def total(self) -> Tensor:
        """What is minimised."""
        return self.contrastive + self.reranker + self.settings


def contrastive_loss(features: Tensor, best: Tensor, margin: float = MARGIN) -> Tensor:
    """Mean over all pairs of rows of features (b, f): d^2 if they have the same best reranker
    (b,), else max(0, margin - d)^2, d their Euclidean distance. 0 for fewer than two rows."""
    first, second = torch.triu_indices(len(features), len(features), offset=1).unbind()
    if not len(first):
        return features.sum() * 0.0
    squared = (features[first] - features[second]).square().sum(dim=1)  # (pairs,)
    # The root has no slope at 0: equal features of unlike queries would give nan.
    apart = functional.relu(margin - squared.clamp(min=_TINY).sqrt()).square()
    return torch.where(best[first] == best[second], squared, apart).mean()


def agent_losses(
    features: Tensor,
    logits: Tensor,
    settings: Tensor,
    best: Tensor,
    wanted: Tensor,
    margin: float = MARGIN,
) -> AgentLosses:
    """The three losses of a batch: features (b, f), logits (b, rerankers), settings (b, 3); best
    rerankers (b,) as class numbers, wanted settings (b, 3) scaled to [0, 1]."""
    return AgentLosses(
        contrastive=contrastive_loss(features, best, margin),
        reranker=functional.cross_entropy(logits, best),
        settings=functional.mse_loss(settings, wanted),
    )
