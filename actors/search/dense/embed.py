"""Texts to unit vectors with a sentence-transformers model, counted and cached."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from actors.model_files import hashed_files

Progress = Callable[[int, int], None]
"""Told (texts done, texts in all) after each batch."""

_WEIGHTS = tuple(f"**/*.{end}" for end in ("json", "safetensors", "bin", "txt", "model"))


class EmbedderError(RuntimeError):
    """The embedding model cannot be used; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Unit vectors (texts, dimension) float32, and how many texts were cut to the window."""

    vectors: np.ndarray
    truncated: int


class Embedder:
    """A sentence-transformers model: a local folder or a hub id.

    `name` is what indexes know the model by (default: the folder's name, or the hub id), `source`
    where it was loaded from: the folder's absolute path, or the hub id. A text
    longer than `max_tokens` (default and upper bound: the model's own window) is cut and counted.
    Prefixes are what E5 and BGE models want before queries or passages.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        name: str = "",
        device: str | None = None,
        batch_size: int = 64,
        max_tokens: int | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
    ) -> None:
        self._folder = Path(model).expanduser().absolute()
        self.name = name or (self._folder.name if self._folder.is_dir() else str(model))
        self.source = str(self._folder) if self._folder.is_dir() else str(model)
        self.batch_size = batch_size
        self.query_prefix, self.passage_prefix = query_prefix, passage_prefix
        self._model = _load(self.source, device)
        window = self._model.max_seq_length or _positions(self._model)
        if max_tokens is not None and not 0 < max_tokens <= window:
            raise EmbedderError(
                f"model {self.name}: max_tokens is {max_tokens}, the model reads 1 to {window}"
            )
        self.max_tokens = int(max_tokens or window)
        self._model.max_seq_length = self.max_tokens

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._model.get_embedding_dimension())

    @cached_property
    def fingerprint(self) -> str:
        """What tells two models of one name apart: 16 hex digits over files, window and prefixes.

        Of a hub model the commit stands for the files.
        """
        digest = hashlib.sha256()
        for setting in (self.max_tokens, self.query_prefix, self.passage_prefix):
            digest.update(f"{setting}\0".encode())
        if not self._folder.is_dir():
            commit = getattr(self._model[0].model.config, "_commit_hash", None)
            digest.update(f"{self.name}@{commit}".encode())
            return digest.hexdigest()[:16]
        for name, content in hashed_files(self._folder, _WEIGHTS):
            digest.update(name.encode() + content)
        return digest.hexdigest()[:16]

    def embed_queries(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Unit vectors (texts, dimension) of queries, and which were cut (bool)."""
        return self._embed([self.query_prefix + text for text in texts], None)

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Embeddings:
        """Unit vectors of passages, in their order."""
        vectors, cut = self._embed([self.passage_prefix + text for text in texts], progress)
        return Embeddings(vectors, int(cut.sum()))

    def _embed(
        self, texts: Sequence[str], progress: Progress | None
    ) -> tuple[np.ndarray, np.ndarray]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        lengths = self._lengths(texts)
        order = np.argsort(-lengths, kind="stable")  # texts of like length pad each other least
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            vectors[rows] = self._model.encode(
                [texts[row] for row in rows],
                batch_size=self.batch_size,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
            if progress is not None:
                progress(min(start + self.batch_size, len(order)), len(order))
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise EmbedderError(
                f"model {self.name} gave a vector that is not finite for text {bad[0]}: "
                f"{texts[bad[0]][:80]!r}"
            )
        return vectors, lengths > self.max_tokens

    def _lengths(self, texts: Sequence[str]) -> np.ndarray:
        """Number of tokens of each text, uncut."""
        found = np.zeros(len(texts), dtype=np.int64)
        for start in range(0, len(texts), 1024):
            part = list(texts[start : start + 1024])
            tokens = self._model.tokenizer(part, truncation=False, padding=False, verbose=False)
            found[start : start + len(part)] = [len(ids) for ids in tokens["input_ids"]]
        return found


def _load(model: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        return SentenceTransformer(model, device=device)
    except (OSError, ValueError) as error:
        raise EmbedderError(
            f"embedding model {model} cannot be loaded ({error}); name a sentence-transformers "
            "folder, a hub id, or `minilm`"
        ) from error


def _positions(model: Any) -> int:
    return int(model[0].model.config.max_position_embeddings)


def embed_cached(
    embedder: Embedder,
    texts: Sequence[str],
    corpus_hash: str,
    folder: str | Path,
    progress: Progress | None = None,
) -> Embeddings:
    """`embed_passages`, kept in `folder` under corpus and model, so that it is done once.

    A file that is damaged or of another shape is made again.
    """
    key = hashlib.sha256(f"{corpus_hash}\0{embedder.name}\0{embedder.fingerprint}".encode())
    path = Path(folder) / f"{key.hexdigest()[:24]}.npz"
    known = _read(path, (len(texts), embedder.dimension))
    if known is not None:
        return known
    made = embedder.embed_passages(texts, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, vectors=made.vectors, truncated=made.truncated)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return made


def _read(path: Path, shape: tuple[int, int]) -> Embeddings | None:
    import zipfile

    try:
        with np.load(path, allow_pickle=False) as held:
            found = Embeddings(held["vectors"], int(held["truncated"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return found if found.vectors.shape == shape else None
