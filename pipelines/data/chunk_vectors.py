"""Chunks to vectors: in this process or as Ray tasks, a part at a time, kept as it goes."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from actors.search.dense.embed import Embedder, embed_cached
from pipelines.data.cache import Report
from pipelines.data.chunk_manifest import EmbedderOptions
from pipelines.data.chunks import Chunk
from pipelines.data.failures import BuildError
from pipelines.data.minilm import resolve_embedder
from pipelines.data.spread import spread
from pipelines.progress import Reporter

PART = 512
"""Chunks that are embedded at a time; what an interrupted build loses of each worker."""


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Unit vectors (chunks, dimension) float32, and what made them."""

    vectors: np.ndarray
    truncated: int
    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    texts: tuple[str, ...]


def load_embedder(
    options: EmbedderOptions, cache: str | Path | None = None, report: Report | None = None
) -> Embedder:
    """The model of these options. Raises `EmbedderError`, `FetchError`."""
    return Embedder(
        resolve_embedder(options.model, cache, report),
        device=options.device,
        batch_size=options.batch_size,
        max_tokens=options.max_tokens,
        query_prefix=options.query_prefix,
        passage_prefix=options.passage_prefix,
    )


def passage(chunk: Chunk) -> str:
    """What of a chunk is embedded: its title before it, where it does not begin with that."""
    if not chunk.title or chunk.text.startswith(chunk.title):
        return chunk.text
    return f"{chunk.title}\n{chunk.text}"


def embed_chunks(
    chunks: Sequence[Chunk],
    options: EmbedderOptions,
    kept: Path,
    reporter: Reporter,
    *,
    workers: int | None = 1,
    address: str = "local",
    cache: str | Path | None = None,
) -> ChunkVectors:
    """The vectors of all chunks, in their order; parts that are in the folder `kept` are not made
    again. More than one worker are Ray tasks of one CPU each; one worker uses what device there is.
    Raises `EmbedderError`, `BuildError`.
    """
    texts = [passage(chunk) for chunk in chunks]
    parts = [
        _Part(f"chunks from {start}", tuple(texts[start : start + PART]))
        for start in range(0, len(texts), PART)
    ]
    made: dict[int, ChunkVectors] = {}
    done = 0
    with (
        reporter.bar("embedding chunks", len(chunks)) as bar,
        spread(len(parts), workers, address) as run,
    ):
        for number, vectors in run.map(_embed_part, (options, kept, cache), parts):
            made[number] = vectors
            done += len(vectors.vectors)
            bar.update(done)
    models = {(each.name, each.fingerprint) for each in made.values()}
    if len(models) > 1:
        raise BuildError(
            f"embedder {options.model} is not the same model on all machines: {sorted(models)}"
        )
    ((name, fingerprint),) = models
    vectors = np.concatenate([made[number].vectors for number in range(len(parts))])
    return ChunkVectors(vectors, sum(e.truncated for e in made.values()), name, fingerprint)


def _embed_part(
    shared: tuple[EmbedderOptions, Path, str | Path | None], part: _Part
) -> ChunkVectors:
    options, kept, cache = shared
    embedder = _embedder(options, cache)
    digest = hashlib.sha256()
    for text in part.texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    found = embed_cached(embedder, part.texts, digest.hexdigest(), kept)
    return ChunkVectors(found.vectors, found.truncated, embedder.name, embedder.fingerprint)


@lru_cache(maxsize=1)
def _embedder(options: EmbedderOptions, cache: str | Path | None) -> Embedder:
    """One load a process: Ray runs one task after the other in the same worker."""
    return load_embedder(options, cache)
