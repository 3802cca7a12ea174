"""What embeds queries for the small networks that read their vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class QueryEncoder(Protocol):
    """What embeds queries (`actors.search.dense.embed.Embedder`)."""

    name: str

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """What tells two encoders of one name apart."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Unit vectors (texts, dimension), and which texts were cut."""
        ...


@dataclass(frozen=True, slots=True)
class EncoderFacts:
    """The encoder whose vectors a trained network understands."""

    name: str
    fingerprint: str
    dimension: int

    @classmethod
    def of(cls, encoder: QueryEncoder) -> "EncoderFacts":
        """The facts of a loaded encoder."""
        return cls(encoder.name, encoder.fingerprint, encoder.dimension)

    def __str__(self) -> str:
        return f"{self.name!r} ({self.dimension} dimensions, fingerprint {self.fingerprint})"
