"""A BERT classifier with one output, its inputs and its optimisation steps."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from actors.expansion.joining import ChunkTokens
from actors.expansion.template import ModelInput, Template
from actors.expansion.types import QueryOrders, RerankerError
from actors.packing import batches_of
from pipelines.corag.graded_orders import GradedOrder

_BUCKET = 24  # batches whose inputs are sorted by length together


@dataclass(frozen=True, slots=True)
class Encoded:
    """A model input and the order it was made of, as far as the window shows it."""

    input: ModelInput
    order: GradedOrder


class TrainedEncoder:
    """The model and its tokenizer; `window` tokens are read.

    The word embeddings are not trained: most words of a small training set are rare in it, and half
    of the weights are theirs. `autocast` computes in bfloat16.
    """

    def __init__(self, base: str | Path, window: int, seed: int, *, autocast: bool) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()  # that the head is new is no news
        try:
            torch.manual_seed(seed)
            self.tokenizer = AutoTokenizer.from_pretrained(str(base))
            self.model: Any = AutoModelForSequenceClassification.from_pretrained(
                str(base), num_labels=1, attn_implementation="eager"
            )
        except (OSError, ValueError) as error:
            raise RerankerError(
                f"base model {base} cannot be loaded ({error}); name a BERT folder, a hub id, or "
                "`minilm`"
            ) from error
        finally:
            logging.set_verbosity(verbosity)
        positions = int(self.model.config.max_position_embeddings)
        if window > positions:
            raise RerankerError(f"a window of {window} tokens: {base} reads up to {positions}")
        self.window, self.autocast = window, autocast
        self.tokenizer.model_max_length = window
        self.template = Template(self.tokenizer, window, pair=True)
        self._chunks = ChunkTokens(self.tokenizer)
        self._queries: dict[str, list[int]] = {}
        self.model.get_input_embeddings().weight.requires_grad_(False)

    def encode(self, orders: Sequence[GradedOrder]) -> list[Encoded]:
        """Inputs of `orders`. Chunks at the end that the window hides are left out of the order,
        hence of its target."""
        self._chunks.learn([chunk for order in orders for chunk in order.chunks])
        return [self._encode(order) for order in orders]

    def loss(self, batch: Sequence[Encoded], trust: float) -> torch.Tensor:
        """Mean binary cross-entropy with the soft targets, less what no prediction could save: 0 is
        the best."""
        targets = torch.tensor([each.order.target(trust) for each in batch])
        logits = self.logits([each.input for each in batch])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets)
        return loss - _entropy(targets)

    def logits(self, inputs: Sequence[ModelInput]) -> torch.Tensor:
        """(B,) float32."""
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.autocast):
            found: torch.Tensor = self.model(**self.template.tensors(inputs)).logits
        return found.float().reshape(len(inputs))

    @torch.no_grad()
    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[float, ...]]:
        """Logits of each order, for measuring during training."""
        self.model.eval()
        graded = [
            GradedOrder(asked.query, tuple(asked.texts[id] for id in order), (False,) * len(order))
            for asked in batch
            for order in asked.orders
        ]
        inputs = [each.input for each in self.encode(graded)]
        scores = [0.0] * len(inputs)
        for rows in batches_of([len(each.ids) for each in inputs], 4096):
            for row, logit in zip(rows, self.logits([inputs[row] for row in rows]), strict=True):
                scores[row] = float(logit)
        left = iter(scores)
        return [tuple(next(left) for _ in asked.orders) for asked in batch]

    def state(self) -> dict[str, torch.Tensor]:
        """A copy of the weights."""
        return {name: value.clone() for name, value in self.model.state_dict().items()}

    def save(self, folder: Path, state: dict[str, torch.Tensor]) -> None:
        """Write `state` as a folder that `sentence_transformers.CrossEncoder` loads."""
        self.model.load_state_dict(state)
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def _encode(self, order: GradedOrder) -> Encoded:
        query = self._query(order.query)
        kept = len(order.chunks)
        while True:
            chunks = order.chunks[:kept]
            ids, total = self._chunks.joined(chunks, self.template.room)
            made = self.template.pair(query, ids, total)
            if kept == 1 or not self._hidden(query, order.chunks[: kept - 1]):
                break
            kept -= 1
        if kept < len(order.chunks):
            order = GradedOrder(order.query, chunks, order.gold[:kept])
        return Encoded(made, order)

    def _hidden(self, query: list[int], before: Sequence[str]) -> bool:
        """Whether nothing fits behind these chunks."""
        _, total = self._chunks.joined(before, self.template.room)
        return len(query) + total >= self.template.room

    def _query(self, text: str) -> list[int]:
        if text not in self._queries:
            made = self.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)
            self._queries[text] = made["input_ids"]
        return self._queries[text]


def batches(encoded: Sequence[Encoded], budget: int, rng: random.Random) -> Iterator[list[Encoded]]:
    """Batches of up to `budget` padded tokens: inputs of like length together within buckets, the
    batches of a bucket in an order drawn at random."""
    bucket: list[Encoded] = []
    tokens = 0
    for each in encoded:
        bucket.append(each)
        tokens += len(each.input.ids)
        if tokens >= _BUCKET * budget:
            yield from _packed(bucket, budget, rng)
            bucket, tokens = [], 0
    yield from _packed(bucket, budget, rng)


def optimiser(model: Any, rate: float, head_rate: float, decay: float) -> torch.optim.AdamW:
    """AdamW; biases and norms do not decay, the new head learns at `head_rate`."""
    head: list[torch.nn.Parameter] = []
    matrices: list[torch.nn.Parameter] = []
    vectors: list[torch.nn.Parameter] = []
    for name, value in model.named_parameters():
        if value.requires_grad:
            group = head if name.startswith("classifier") else vectors
            (matrices if value.ndim > 1 and group is not head else group).append(value)
    return torch.optim.AdamW(
        [
            {"params": head, "lr": head_rate, "peak": head_rate, "weight_decay": 0.0},
            {"params": matrices, "lr": rate, "peak": rate, "weight_decay": decay},
            {"params": vectors, "lr": rate, "peak": rate, "weight_decay": 0.0},
        ]
    )


def set_rate(optimiser: torch.optim.AdamW, done: float, warm_up: float) -> float:
    """Learning rates at the share `done` of the training: up in a line over `warm_up`, then down in
    a line to a twentieth. Returns the factor."""
    factor = min(1.0, (done + 1e-3) / warm_up) if warm_up else 1.0
    factor *= max(0.05, min(1.0, (1 - done) / (1 - warm_up)))
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * factor
    return factor


def _packed(bucket: list[Encoded], budget: int, rng: random.Random) -> list[list[Encoded]]:
    made = [
        [bucket[row] for row in rows]
        for rows in batches_of([len(each.input.ids) for each in bucket], budget)
    ]
    rng.shuffle(made)
    return made


def _entropy(targets: torch.Tensor) -> float:
    return sum(
        -math.fsum(p * math.log(p) for p in (value, 1 - value) if p > 0)
        for value in targets.tolist()
    ) / len(targets)
