"""Relevance learnt from questions whose hops name the passage that answers them.

A sentence embedding alone tells the topic of a sentence, not whether it answers. A logistic
regression over words, places and (if wanted) embeddings does better with the same share of the text
kept (`relevance_training.py`).
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.files import write_whole
from pipelines.realm.evidence.relevance import PAPER_THRESHOLD, EmbeddingScorer
from pipelines.realm.evidence.sentence_features import EMBEDDED, FEATURES, SentenceFeatures
from pipelines.realm.evidence.texts import Part
from pipelines.realm.types import Passage

FILE = "relevance.json"
_SCHEMA = 1


class RelevanceError(ValueError):
    """A trained relevance that cannot be had; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """logit = bias + sum of weights * (feature - mean) / scale, over `features`.

    The rest is its card: whose embeddings it reads (empty: none), on what it was trained, the share
    of the text that `PAPER_THRESHOLD` kept there and the share of the answers that was left.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    embedder: str = ""
    trained_on: str = ""
    examples: int = 0
    kept_share: float = 0.0
    answers_kept: float = 0.0

    def relevance(self, rows: np.ndarray) -> list[float]:
        """Of each row (sentences, features), in [0, 1]."""
        scaled = (rows - np.array(self.means)) / np.array(self.scales)
        logits = scaled @ np.array(self.weights) + self.bias
        return [1 / (1 + math.exp(-min(50.0, max(-50.0, x)))) for x in logits.tolist()]

    def save(self, folder: str | Path) -> Path:
        """Writes it to `folder`; gives the file."""
        path = Path(folder) / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"schema": _SCHEMA, **asdict(self)}, indent=1) + "\n")
        return path

    @classmethod
    def open(cls, folder: str | Path) -> "RelevanceModel":
        """Reads what `save` wrote. Raises `RelevanceError`."""
        path = Path(folder) / FILE
        try:
            values: dict[str, Any] = json.loads(path.read_text("utf-8"))
            if values.pop("schema") != _SCHEMA:
                raise ValueError("another version wrote it")
            for name in ("means", "scales", "weights"):
                values[name] = tuple(float(value) for value in values[name])
            values["features"] = tuple(values["features"])
            model = cls(**values)
            expected = (*FEATURES, *EMBEDDED) if model.embedder else FEATURES
            lengths = {len(model.means), len(model.scales), len(model.weights), len(expected)}
            if model.features != expected or len(lengths) > 1:
                raise ValueError("its features are not those of this version")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RelevanceError(f"{path} cannot be used ({error}): train it again") from error
        return model


class TrainedScorer:
    """Relevance by a trained model; see `SentenceScorer`.

    `embedding` is needed where the model reads embeddings, and must be of the same embedder.
    """

    name = "trained"
    threshold = PAPER_THRESHOLD

    def __init__(
        self,
        model: RelevanceModel,
        features: SentenceFeatures,
        embedding: EmbeddingScorer | None = None,
    ) -> None:
        given = embedding.name if embedding else ""
        if model.embedder and model.embedder != given:
            raise RelevanceError(
                f"the trained relevance reads embeddings of {model.embedder!r}, "
                f"given {f'are those of {given!r}' if given else 'is none'}: name that embedder, "
                "or train it again"
            )
        self._model, self._features = model, features
        self._embedding = embedding if model.embedder else None

    async def scores(
        self, query: str, passages: Sequence[Passage], cut: Sequence[Part]
    ) -> list[float]:
        """See `SentenceScorer`."""
        if not cut:
            return []
        cosines = None
        if self._embedding is not None:
            cosines = await self._embedding.scores(query, passages, cut)
        return self._model.relevance(self._features.rows(query, passages, cut, cosines))

    async def warm(self, passages: Sequence[Passage]) -> None:
        """See `EmbeddingScorer.warm`."""
        if self._embedding is not None:
            await self._embedding.warm(passages)
