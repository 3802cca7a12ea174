"""Vectors of steps for the proxy and for agreement: a sentence embedder, or hashed words."""

import asyncio
import zlib
from collections import Counter, OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from actors.search.text import words
from pipelines.query_encoder import QueryEncoder as Encoder
from pipelines.realm.evidence.batching import Batches


class HashedEncoder:
    """The light choice, no model: signed counts of words and of pairs of neighbours, hashed into
    `dimension` places (feature hashing, Weinberger et al. 2009). Microseconds a text."""

    name = "hashed"

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise ValueError(f"dimension of the hashed encoder is {dimension}, below 1")
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """The rule and its size."""
        return f"hashed-1-{self._dimension}"

    def embed_queries(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Unit vectors (texts, dimension); zeros for a text without words. Nothing is cut."""
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            found = words(text)
            pairs = (f"{a} {b}" for a, b in pairwise(found))
            for feature, count in Counter([*found, *pairs]).items():
                place, sign = _hash(feature)
                vectors[row, place % self._dimension] += sign * count
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors, np.zeros(len(texts), dtype=bool)


@lru_cache(maxsize=200_000)
def _hash(feature: str) -> tuple[int, float]:
    value = zlib.crc32(feature.encode("utf-8", "replace"))
    return value >> 1, 1.0 if value & 1 else -1.0


class TextVectors:
    """Vectors of texts for many chains at once: one batch in one thread, the last `keep` kept."""

    def __init__(self, encoder: Encoder, *, keep: int = 10_000, most: int = 64) -> None:
        self.encoder = encoder
        self._keep = keep
        self._kept: OrderedDict[str, np.ndarray] = OrderedDict()
        self._light = isinstance(encoder, HashedEncoder)
        self._batches: Batches[str, np.ndarray] = Batches(self._encode, most=most)

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (texts, dimension) float32, in their order."""
        known = {text: self._kept[text] for text in texts if text in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        made: dict[str, np.ndarray] = {}
        if new and self._light:
            made = dict(zip(new, self._encode(new), strict=True))
        elif new:
            rows = await asyncio.gather(*(self._batches(text) for text in new))
            made = dict(zip(new, rows, strict=True))
        found = [made[text] if text in made else known[text] for text in texts]
        self._kept.update(made)
        while len(self._kept) > self._keep:
            self._kept.popitem(last=False)
        if not found:
            return np.zeros((0, self.encoder.dimension), dtype=np.float32)
        return np.stack(found)

    def _encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [vector.copy() for vector in self.encoder.embed_queries(texts)[0]]
