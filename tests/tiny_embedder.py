"""A sentence-transformers folder with a few thousand random weights: real code, no download."""

from pathlib import Path

from tests.tiny_bert import CHARACTERS, write_mean_pooled

WINDOW = 16


def write_embedder(folder: Path, seed: int = 0) -> Path:
    """Write a two-layer BERT over characters with mean pooling; 24 dimensions, 16 tokens."""
    return write_mean_pooled(folder, CHARACTERS, hidden=24, window=WINDOW, spread=0.5, seed=seed)
