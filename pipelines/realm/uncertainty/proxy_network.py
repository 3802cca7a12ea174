"""The proxy's network. Source: ReaLM-Retrieve (arXiv 2604.26649): two layers of 128, GELU."""

from torch import Tensor, nn

HIDDEN = 128


class ProxyNetwork(nn.Module):
    """Features (b, width) to the logit (b,) of the uncertainty."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.layers = nn.Sequential(
            nn.Linear(width, HIDDEN),
            nn.GELU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.GELU(),
            nn.Linear(HIDDEN, 1),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Logits; their sigmoid is the uncertainty."""
        logits: Tensor = self.layers(features)
        return logits.squeeze(-1)
