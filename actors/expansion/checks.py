"""What every reranker refuses, what tells its model apart, and how its raw values are rounded."""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from actors.expansion.types import QueryOrders, RerankerError
from actors.model_files import hashed_files

DECIMALS = 4
"""Decimals to which a model's raw output (logit, cosine, mean log-probability) is rounded.

In float32 the same input may give values about 1e-6 apart with what it is batched with. Orders that
a window cuts to the same text are equal, and would otherwise be ranked by that noise. In bfloat16
it is about 1e-3, and rounding does not hide it.
"""
_FILES = tuple(f"**/*.{end}" for end in ("json", "safetensors", "bin", "txt", "model", "py"))


def check(batch: Sequence[QueryOrders]) -> None:
    """Raises ValueError for an order that is empty or names a chunk without text."""
    for asked in batch:
        for order in asked.orders:
            if not order:
                raise ValueError(f"an empty order of chunks for query {asked.query!r}")
            for chunk in order:
                if chunk not in asked.texts:
                    raise ValueError(
                        f"order {order} for query {asked.query!r}: chunk {chunk!r} has no text"
                    )


def rounded(value: float, name: str, query: str) -> float:
    """`value` to `DECIMALS`. Raises `RerankerError` where it is not finite."""
    if not math.isfinite(value):
        raise RerankerError(
            f"reranker {name} gave {value} for query {query[:80]!r}: its model files are damaged "
            "or its dtype is too narrow (use dtype float32)"
        )
    return round(value, DECIMALS)


def sigmoid(value: float) -> float:
    """1 / (1 + exp(-value)), without overflow."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))


def fingerprint(model: str, commit: str | None, *settings: object) -> str:
    """16 hexadecimal digits over a folder's files (of a hub model: its commit) and `settings`."""
    digest = hashlib.sha256("\0".join(map(str, settings)).encode())
    folder = Path(model).expanduser()
    if not folder.is_dir():
        digest.update(f"\0{model}@{commit}".encode())
        return digest.hexdigest()[:16]
    for name, content in hashed_files(folder, _FILES):
        digest.update(b"\0" + name.encode() + content)
    return digest.hexdigest()[:16]
