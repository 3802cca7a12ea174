"""What cross-encoders and bi-encoders share: device, number type, window and batches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from actors.expansion.batches import BatchRunner, Forward
from actors.expansion.joining import ChunkTokens
from actors.expansion.template import Template
from actors.expansion.types import QueryOrders, RerankerError

DTYPES = ("float32", "bfloat16", "float16")
CPU_BUDGET, GPU_BUDGET = 4096, 131_072
"""Tokens, padding included, of a batch."""


class Encoder:
    """A loaded encoder with its tokenizer.

    `dtype` is float32, bfloat16 or float16. On a CPU with AMX bfloat16 is 2 to 3 times as fast, but
    a score then moves by about 1e-3 with what it is batched with, so that a search may end
    elsewhere with another number of workers. `window` is the most tokens to read (default: the
    model's own), `batch_tokens` the padded tokens of a batch, `keep` how many outputs are
    remembered.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        forward: Forward,
        *,
        pair: bool,
        device: str,
        dtype: str,
        window: int | None,
        batch_tokens: int | None,
        keep: int,
    ) -> None:
        if dtype not in DTYPES:
            raise RerankerError(f"reranker {name}: dtype {dtype!r} is none of {', '.join(DTYPES)}")
        model.to(device=device, dtype=getattr(torch, dtype)).eval()
        self.device, self.dtype = device, dtype
        self.tokenizer = model.tokenizer
        config = model[0].model.config
        self.commit = getattr(config, "_commit_hash", None)
        positions = int(getattr(config, "max_position_embeddings", 0) or 0)
        own = int(model.max_seq_length or positions)
        if not own:
            raise RerankerError(f"reranker {name}: its model names no window; give `window`")
        self.window = int(window or own)
        if window is not None and not 0 < window <= max(own, positions):
            raise RerankerError(
                f"reranker {name}: a window of {window} tokens, its model reads 1 to "
                f"{max(own, positions)}"
            )
        self.template = Template(self.tokenizer, self.window, pair=pair)
        self.chunks = ChunkTokens(self.tokenizer)
        budget = batch_tokens or (GPU_BUDGET if device.startswith("cuda") else CPU_BUDGET)
        self.runner = BatchRunner(forward, self.template, device=device, budget=budget, keep=keep)
        if self.window > own:
            self._try_window(name, pair)

    @contextmanager
    def learnt(self, batch: Sequence[QueryOrders]) -> Iterator[ChunkTokens]:
        """Chunk tokens that know every chunk of `batch`."""
        wanted = [
            each.texts[chunk]
            for each in batch
            for chunk in dict.fromkeys(chunk for order in each.orders for chunk in order)
        ]
        self.chunks.learn(wanted)
        yield self.chunks
        self.chunks.forget()

    def ids(self, text: str) -> list[int]:
        """Token ids of `text`, uncut and without special tokens."""
        made = self.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)
        found: list[int] = made["input_ids"]
        return found

    def _try_window(self, name: str, pair: bool) -> None:
        text = self.ids("a")[:1] * self.template.room
        made = (
            self.template.pair([], text, len(text))
            if pair
            else self.template.single(text, len(text))
        )
        try:
            self.runner.run([made])
        except (IndexError, RuntimeError) as error:
            raise RerankerError(
                f"reranker {name}: its model cannot read {self.window} tokens ({error}); "
                "give a smaller `window`"
            ) from error


def pick_device(device: str | None) -> str:
    """`device`, else cuda where there is one, else cpu."""
    return device or ("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def loading(name: str, model: str) -> Iterator[None]:
    """Turns what loading a model raises into a `RerankerError` that says what to do."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise RerankerError(
            f"reranker {name}: model {model} cannot be loaded ({error}); give a local folder or a "
            "hub id that this machine can reach as `model`"
        ) from error
