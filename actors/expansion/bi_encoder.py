"""Bi-encoders: the concatenated chunks as one text, compared with the query."""

from collections.abc import Sequence
from typing import Any

import torch

from actors.expansion.checks import check, fingerprint, rounded
from actors.expansion.encoder import Encoder, loading, pick_device
from actors.expansion.template import ModelInput
from actors.expansion.types import OrderScore, QueryOrders


class BiEncoderReranker:
    """A `SentenceTransformer`; the utility is max(0, cosine of query and concatenation).

    Not (1 + cosine) / 2: that would squeeze the cosines of real texts, which are seldom below 0,
    into the upper half. The window holds the concatenation alone; the query is read on its own,
    after `query_prefix`.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str = "bi-encoder",
        revision: str | None = None,
        trust_remote_code: bool = False,
        query_prefix: str = "",
        window: int | None = None,
        device: str | None = None,
        dtype: str = "float32",
        batch_tokens: int | None = None,
        keep: int = 20_000,
    ) -> None:
        from sentence_transformers import SentenceTransformer

        device = pick_device(device)
        with loading(name, model):
            loaded = SentenceTransformer(
                model, revision=revision, trust_remote_code=trust_remote_code, device=device
            )
        self.name, self.model = name, loaded
        self._prefix = query_prefix
        self._encoder = Encoder(
            name,
            loaded,
            _unit_vectors(loaded),
            pair=False,
            device=device,
            dtype=dtype,
            window=window,
            batch_tokens=batch_tokens,
            keep=keep,
        )
        self.window = self._encoder.window
        self.fingerprint = fingerprint(
            model,
            self._encoder.commit,
            "bi-encoder max(0, cosine)",
            self.window,
            dtype,
            query_prefix,
        )

    @property
    def computed(self) -> int:
        """Sequences (queries among them) that went through the model so far."""
        return self._encoder.runner.computed

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        """See `Reranker.score`."""
        check(batch)
        template = self._encoder.template
        inputs = []
        with self._encoder.learnt(batch) as chunks:
            for asked in batch:
                for order in asked.orders:
                    texts = [asked.texts[chunk] for chunk in order]
                    inputs.append(template.single(*chunks.joined(texts, template.room)))
        queries = [self._query_input(asked.query) for asked in batch]
        vectors = self._encoder.runner.run([*queries, *inputs])
        outputs = iter(zip(inputs, vectors[len(queries) :], strict=True))
        scores = []
        for asked, query, query_vector in zip(batch, queries, vectors, strict=False):
            row = []
            for _ in asked.orders:
                made, vector = next(outputs)
                cosine = rounded(float(query_vector @ vector), self.name, asked.query)
                tokens = query.tokens + made.tokens
                cut = query.truncated or made.truncated
                row.append(OrderScore(min(1.0, max(0.0, cosine)), tokens, cut))
            scores.append(tuple(row))
        return scores

    def _query_input(self, query: str) -> ModelInput:
        ids = self._encoder.ids(self._prefix + query)
        return self._encoder.template.single(ids, len(ids))


def _unit_vectors(model: Any) -> Any:
    def forward(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        vectors = model(tensors)["sentence_embedding"].float()
        return torch.nn.functional.normalize(vectors, dim=-1)  # (B, dimension)

    return forward
