"""How much a sentence says about what is asked for: by its embedding, or by its words.

`trained_relevance.py` puts both together.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from actors.expansion.lexical import WordStatistics
from actors.search.ranking.analysis import Analysis
from pipelines.realm.evidence.batching import Batches
from pipelines.realm.evidence.texts import Part, parts
from pipelines.realm.types import Passage

if TYPE_CHECKING:
    from actors.search.dense.embed import Embedder
    from pipelines.realm.evidence.sentence_vectors import SentenceVectors

PAPER_THRESHOLD = 0.45
"""Sentences above it are kept (arXiv 2604.26649, evidence compression)."""
LEXICAL_THRESHOLD = 0.2
"""What `LexicalScorer` needs to keep about as much; see its docstring."""


class SentenceScorer(Protocol):
    """Relevance of sentences."""

    name: str
    threshold: float
    """What a sentence should be above to be kept."""

    async def scores(
        self, query: str, passages: Sequence[Passage], cut: Sequence[Part]
    ) -> list[float]:
        """The relevance to `query` of each of `cut`, the sentences of `passages`, in [-1, 1]."""
        ...


class EmbeddingScorer:
    """The cosine of query and sentence.

    Sentences of all chains that ask at the same time go through the model together, in a thread;
    the vectors of the last `keep` sentences stay (4 bytes a dimension each). What is in `store` is
    not embedded at all.
    """

    threshold = PAPER_THRESHOLD

    def __init__(
        self,
        embedder: "Embedder",
        *,
        store: "SentenceVectors | None" = None,
        keep: int = 20_000,
        most: int = 64,
    ) -> None:
        if keep < 0:
            raise ValueError(f"sentences to keep is {keep}, below 0")
        self.name = embedder.name
        self.embedded = 0
        """Texts that went through the model so far."""
        self.known = 0
        """Texts whose vector was there."""
        self._embedder, self._store, self._keep = embedder, store, keep
        self._vectors: OrderedDict[tuple[bool, str], np.ndarray] = OrderedDict()
        self._batches: Batches[tuple[str, tuple[str, ...]], list[float]] = Batches(
            self.score_many, most=most
        )

    async def scores(
        self, query: str, passages: Sequence[Passage], cut: Sequence[Part]
    ) -> list[float]:
        """See `SentenceScorer`."""
        if not cut:
            return []
        return await self._batches((query, tuple(part.read for part in cut)))

    async def warm(self, passages: Sequence[Passage]) -> None:
        """Embeds the sentences of `passages`, for a query that may come."""
        cut = parts(passages)
        if cut:
            await self._batches(("", tuple(part.read for part in cut)))

    def score_many(self, asked: Sequence[tuple[str, tuple[str, ...]]]) -> list[list[float]]:
        """Cosines for many (query, sentences); blocking, for one thread at a time."""
        passages = self._look_up([text for _, texts in asked for text in texts], query=False)
        queries = self._look_up([query for query, _ in asked], query=True)
        found = [
            [float(queries[query] @ passages[text]) for text in texts] for query, texts in asked
        ]
        while len(self._vectors) > self._keep:
            self._vectors.popitem(last=False)
        return found

    def _look_up(self, texts: Sequence[str], *, query: bool) -> dict[str, np.ndarray]:
        wanted = dict.fromkeys(texts)
        new = []
        for text in wanted:
            if (query, text) in self._vectors:
                self._vectors.move_to_end((query, text))
            elif not query and self._store and (stored := self._store.get(text)) is not None:
                self._vectors[query, text] = stored
            else:
                new.append(text)
        self.known += len(wanted) - len(new)
        self.embedded += len(new)
        if new:
            if query:
                vectors = self._embedder.embed_queries(new)[0]
            else:
                vectors = self._embedder.embed_passages(new).vectors
            for text, vector in zip(new, vectors, strict=True):
                self._vectors[query, text] = vector.copy()
        return {text: self._vectors[query, text] for text in wanted}


class LexicalScorer:
    """The light choice, no model: the cosine of idf-weighted word counts of query and sentence.

    Words as in `actors.search.ranking.analysis`. Paraphrases count nothing, so values are lower
    than those of embeddings and the threshold is one of its own.
    """

    name = "lexical"
    threshold = LEXICAL_THRESHOLD

    def __init__(
        self,
        statistics: WordStatistics | None = None,
        *,
        analysis: Analysis | None = None,
        keep: int = 20_000,
    ) -> None:
        self._statistics = statistics or WordStatistics()
        self._analysis = analysis or Analysis()
        self._keep = keep
        self._weights: OrderedDict[str, dict[str, float]] = OrderedDict()

    async def scores(
        self, query: str, passages: Sequence[Passage], cut: Sequence[Part]
    ) -> list[float]:
        """See `SentenceScorer`."""
        asked = self._weigh(query)
        found = []
        for sentence in (part.read for part in cut):
            weights = self._weights.get(sentence)
            if weights is None:
                weights = self._weights[sentence] = self._weigh(sentence)
            else:
                self._weights.move_to_end(sentence)
            found.append(sum(weight * asked.get(word, 0.0) for word, weight in weights.items()))
        while len(self._weights) > self._keep:
            self._weights.popitem(last=False)
        return found

    def _weigh(self, text: str) -> dict[str, float]:
        """Word: weight, of unit length; empty for a text of stop words."""
        counts = Counter(self._analysis.words(text))
        weights = {word: n * self._statistics.idf(word) for word, n in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()} if length else {}
