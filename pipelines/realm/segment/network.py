"""The segmenter's network: 3 layers, hidden 256, 4 heads (ReaLM-Retrieve, arXiv 2604.26649).

Own choices: what is classified is not every token but each candidate, at the first token behind it;
a second head tells the kinds of the sentences before and behind a candidate and is used in training
only.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipelines.realm.segment.features import KINDS, LOOKS, PLACES


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the network."""

    vocabulary: int
    labels: int = 0
    """Kinds of sentences, over all training data; 0: none are told."""
    window: int = 128
    hidden: int = 256
    layers: int = 3
    heads: int = 4
    feed_forward: int = 512
    pooled: int = 31
    """Tokens before and behind a candidate whose states are averaged for it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows (b, w) padded with 0 on the right, and the candidates in them (c,)."""

    tokens: Tensor  # (b, w) int64
    looks: Tensor  # (b, w) int64
    lengths: Tensor  # (b,) int64
    rows: Tensor  # (c,) window of each candidate
    columns: Tensor  # (c,) token of each candidate in its window
    places: Tensor  # (c,)
    kinds: Tensor  # (c,)


class SegmenterNetwork(nn.Module):
    """A batch to logits (c, 2) of "no boundary, boundary" and of labels (c, 2, labels): of the
    sentence before each candidate and of the one behind it."""

    def __init__(self, shape: Shape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = nn.Embedding(shape.vocabulary, shape.hidden, padding_idx=0)
        self.looks = nn.Embedding(len(LOOKS), shape.hidden)
        self.positions = nn.Embedding(shape.window, shape.hidden)
        for table in (self.tokens, self.looks, self.positions):
            nn.init.normal_(table.weight, std=0.02)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            shape.hidden,
            shape.heads,
            shape.feed_forward,
            dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(layer, shape.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(shape.hidden)
        self.places = nn.Embedding(PLACES, 32)
        self.kinds = nn.Embedding(KINDS, 32)
        self.boundary = nn.Sequential(
            nn.Linear(3 * shape.hidden + 64, shape.hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(shape.hidden, 2),
        )
        self.labels = nn.Linear(shape.hidden, shape.labels) if shape.labels else None

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Logits, and label logits where the network has a label head."""
        width = batch.tokens.shape[1]
        steps = torch.arange(width)
        hidden = self.tokens(batch.tokens) + self.looks(batch.looks) + self.positions(steps)
        padding = steps >= batch.lengths[:, None]  # (b, w)
        hidden = self.layers(self.dropout(hidden), src_key_padding_mask=padding)  # (b, w, h)
        hidden = self.norm(hidden)
        at = hidden[batch.rows, batch.columns]  # (c, h)
        before, behind = self._pooled(hidden, batch)  # (c, h) each
        signs = [self.places(batch.places), self.kinds(batch.kinds)]
        logits = self.boundary(torch.cat([at, before, behind, *signs], dim=1))
        if self.labels is None:
            return logits, None
        return logits, self.labels(torch.stack([before, behind], dim=1))

    def _pooled(self, hidden: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Means over the tokens before each candidate, and over those from its own on."""
        sums = nn.functional.pad(hidden.cumsum(dim=1), (0, 0, 1, 0))  # (b, w + 1, h)
        middle = batch.columns
        first = (middle - self.shape.pooled).clamp(min=0)
        end = torch.minimum(middle + self.shape.pooled, batch.lengths[batch.rows])

        def mean(start: Tensor, stop: Tensor) -> Tensor:
            total = sums[batch.rows, stop] - sums[batch.rows, start]
            return total / (stop - start).clamp(min=1)[:, None]

        return mean(first, middle), mean(middle, end)
