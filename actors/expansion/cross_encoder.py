"""Cross-encoders: query and concatenated chunks are read together."""

from collections.abc import Sequence
from typing import Any

import torch

from actors.expansion.checks import check, fingerprint, rounded, sigmoid
from actors.expansion.encoder import Encoder, loading, pick_device
from actors.expansion.types import OrderScore, QueryOrders, RerankerError


class CrossEncoderReranker:
    """A sentence-transformers `CrossEncoder` with one output, whose sigmoid is the utility.

    `model` is a folder or a hub id, `revision` its commit or tag. Code that comes with a model is
    run only with `trust_remote_code`.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str = "cross-encoder",
        revision: str | None = None,
        trust_remote_code: bool = False,
        window: int | None = None,
        device: str | None = None,
        dtype: str = "float32",
        batch_tokens: int | None = None,
        keep: int = 100_000,
    ) -> None:
        from sentence_transformers import CrossEncoder

        device = pick_device(device)
        with loading(name, model):
            loaded = CrossEncoder(
                model, revision=revision, trust_remote_code=trust_remote_code, device=device
            )
        if loaded.num_labels != 1:
            raise RerankerError(
                f"reranker {name}: model {model} has {loaded.num_labels} outputs, a reranker has 1"
            )
        self.name, self.model = name, loaded
        self._encoder = Encoder(
            name,
            loaded,
            _logits(loaded),
            pair=True,
            device=device,
            dtype=dtype,
            window=window,
            batch_tokens=batch_tokens,
            keep=keep,
        )
        self.window = self._encoder.window
        self.fingerprint = fingerprint(
            model, self._encoder.commit, "cross-encoder sigmoid", self.window, dtype
        )

    @property
    def computed(self) -> int:
        """Sequences that went through the model so far."""
        return self._encoder.runner.computed

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        """See `Reranker.score`."""
        check(batch)
        template = self._encoder.template
        inputs = []
        with self._encoder.learnt(batch) as chunks:
            for asked in batch:
                query = self._encoder.ids(asked.query)
                for order in asked.orders:
                    texts = [asked.texts[chunk] for chunk in order]
                    inputs.append(template.pair(query, *chunks.joined(texts, template.room)))
        outputs = iter(zip(inputs, self._encoder.runner.run(inputs), strict=True))
        scores = []
        for asked in batch:
            row = []
            for _ in asked.orders:
                made, logit = next(outputs)
                value = sigmoid(rounded(float(logit[0]), self.name, asked.query))
                row.append(OrderScore(value, made.tokens, made.truncated))
            scores.append(tuple(row))
        return scores


def _logits(model: Any) -> Any:
    def forward(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        scores: torch.Tensor = model(tensors)["scores"]
        return scores.reshape(len(scores), 1)

    return forward
