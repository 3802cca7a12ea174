"""BM25 of the concatenated chunks, as a share of what the query could reach.

Robertson and Zaragoza (2009) with Lucene's idf, words as in `actors.search.ranking.analysis`. The
words of an order are those of its chunks together: their order makes no difference, their length
does.
"""

import hashlib
import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from actors.expansion.checks import check
from actors.expansion.types import OrderScore, QueryOrders
from actors.search.ranking.analysis import Analysis
from actors.search.ranking.bm25 import Bm25

TYPICAL_LENGTH = 110.0
"""Words, without stop words, of a chunk of 256 tokens of biomedical English."""


@dataclass(frozen=True)
class WordStatistics:
    """Of how many of the `documents` texts each word is part, and their mean length in words.

    With no documents all words weigh the same.
    """

    documents: int = 0
    average_length: float = TYPICAL_LENGTH
    frequencies: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Iterable[str], analysis: Analysis | None = None) -> "WordStatistics":
        """Counted over `texts`."""
        analysis = analysis or Analysis()
        frequencies: Counter[str] = Counter()
        documents = total = 0
        for text in texts:
            found = analysis.words(text)
            frequencies.update(set(found))
            documents, total = documents + 1, total + len(found)
        return cls(documents, total / documents if total else TYPICAL_LENGTH, frequencies)

    def idf(self, word: str) -> float:
        """ln(1 + (N - n + 1/2) / (n + 1/2))."""
        if not self.documents:
            return 1.0
        n = self.frequencies.get(word, 0)
        return math.log(1 + (self.documents - n + 0.5) / (n + 0.5))


class LexicalReranker:
    """Utility of an order with tf occurrences of each query word and L words:
    sum of idf tf / (tf + k1 (1 - b + b L / average)) over the sum of idf, the bound for tf without
    end. 0 for a query of stop words alone. It has no window.
    """

    name: str
    window = 0

    def __init__(
        self,
        *,
        name: str = "bm25",
        parameters: Bm25 | None = None,
        statistics: WordStatistics | None = None,
        analysis: Analysis | None = None,
        keep: int = 20_000,
    ) -> None:
        self.name = name
        self._parameters = parameters or Bm25()
        self._statistics = statistics or WordStatistics()
        self._analysis = analysis or Analysis()
        self._keep = keep
        self._words: OrderedDict[str, Counter[str]] = OrderedDict()
        self.fingerprint = self._fingerprint()

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        """See `Reranker.score`; `tokens` are words."""
        check(batch)
        scores = [self._score(asked) for asked in batch]
        while len(self._words) > self._keep:
            self._words.popitem(last=False)
        return scores

    def _score(self, asked: QueryOrders) -> tuple[OrderScore, ...]:
        query = Counter(self._analysis.words(asked.query))
        weights = {word: n * self._statistics.idf(word) for word, n in query.items()}
        most = sum(weights.values())
        used = {chunk for order in asked.orders for chunk in order}
        counts = {chunk: self._counts(asked.texts[chunk]) for chunk in used}
        lengths = {chunk: each.total() for chunk, each in counts.items()}
        k1, b = self._parameters.k1, self._parameters.b
        scores = []
        for order in asked.orders:
            length = sum(lengths[chunk] for chunk in order)
            norm = k1 * (1 - b + b * length / self._statistics.average_length)
            total = 0.0
            for word, weight in weights.items():
                tf = sum(counts[chunk][word] for chunk in order)
                total += weight * tf / (tf + norm) if tf else 0.0
            value = total / most if most else 0.0
            scores.append(OrderScore(value, query.total() + length))
        return tuple(scores)

    def _counts(self, text: str) -> Counter[str]:
        known = self._words.get(text)
        if known is None:
            known = self._words[text] = Counter(self._analysis.words(text))
        else:
            self._words.move_to_end(text)
        return known

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(f"bm25 {self._parameters} {self._analysis!r}".encode())
        held = self._statistics
        digest.update(f"{held.documents} {held.average_length}".encode())
        for word in sorted(held.frequencies):
            digest.update(f"\0{word} {held.frequencies[word]}".encode())
        return digest.hexdigest()[:16]
