"""Chunks and the questions that are answered from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document. `tokens` is its cost: its length in the generator's tokenizer."""

    id: str
    text: str
    tokens: int
    document: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with reference answers (best first).

    `kind` is the set's own type (`yesno`, `factoid`, `list`, `summary`) or empty; `relevant` are
    ids of documents that hold evidence.
    """

    id: str
    text: str
    references: tuple[str, ...] = ()
    kind: str = ""
    relevant: frozenset[str] = frozenset()
    split: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """What is chunked: `parts` are its paragraphs or sections, in reading order."""

    id: str
    parts: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Chunks retrieved for a query, best first, with cosine similarities (n,) float32 and unit
    vectors (n, dimension) float32 of query (dimension,) and chunks."""

    query: str
    chunks: tuple[Chunk, ...]
    similarities: np.ndarray
    vectors: np.ndarray
    query_vector: np.ndarray
