"""What tells a sentence that answers a query from its neighbours, in numbers.

Weights of words are idf; cosines are of idf-weighted word counts. See `FEATURES`.
"""

import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from actors.search.ranking.analysis import Analysis
from pipelines.realm.evidence.texts import Part
from pipelines.realm.types import Passage

FEATURES = (
    "cosine",  # of query and sentence
    "titled_cosine",  # the sentence with its title
    "covered",  # share of the query's weight that the sentence has
    "titled_covered",
    "passage_covered",
    "title_asked",  # share of the title's weight that the query has
    "rest_covered",  # of the query's words that are not in the title: share the sentence has
    "score",  # the passage's, as a share of the best one's
    "first",  # of the best passage
    "rank",  # of the passage, in fifths
    "opening",  # first of its passage
    "place",  # in its passage, up to 6, in sixths
    "share",  # of its passage
    "length",  # ln(1 + words)
    "names",  # words in capitals that the query does not have, up to 6, in sixths
    "number",
    "number_wanted",  # the query asks for one, the sentence has one
    "number_missing",  # the query asks for one, the sentence has none
    "cosine_gap",  # to the best sentence of all
    "titled_cosine_gap",
    "rest_gap",
    "titled_cosine_gap_within",  # to the best sentence of the passage
    "rest_gap_within",
    "before",  # titled cosine of the sentence before, of the same passage; 0 if there is none
    "after",
    "passage_gap",  # of the passage's best titled cosine to the best of all
)
EMBEDDED = ("embedded", "embedded_gap", "embedded_gap_within", "embedded_passage_gap")
"""The same gaps of the cosine of sentence embeddings."""

_NUMBER = re.compile(r"\d")
_CAPITAL = re.compile(r"\b[A-Z][\w'’-]+")
_WANTS_NUMBER = re.compile(
    r"\b(when|years?|dates?|many|much|numbers?|population|old|age|born|died|births?|deaths?|"
    r"century|times?|long)\b",
    re.IGNORECASE,
)
Words = Counter[str]


@dataclass(frozen=True, slots=True)
class _Read:
    """A sentence's words and what is seen at a glance."""

    words: Words
    length: int
    capitals: tuple[str, ...]
    number: bool


class SentenceFeatures:
    """Makes rows of features. Readings of the last `keep` sentences are kept.

    `idf` gives a word's weight, words as `analysis` makes them.
    """

    def __init__(
        self,
        idf: Callable[[str], float],
        *,
        analysis: Analysis | None = None,
        keep: int = 50_000,
    ) -> None:
        self._idf = idf
        self._analysis = analysis or Analysis()
        self._keep = keep
        self._known: OrderedDict[str, _Read] = OrderedDict()

    def rows(
        self,
        query: str,
        passages: Sequence[Passage],
        cut: Sequence[Part],
        cosines: Sequence[float] | None = None,
    ) -> np.ndarray:
        """(sentences, features) float64 for the sentences `cut` of `passages`; with `cosines` of
        their embeddings the `EMBEDDED` ones come behind."""
        if not cut:
            return np.zeros((0, len(FEATURES) + (0 if cosines is None else len(EMBEDDED))))
        own = np.array(self._own(query, passages, cut))
        groups = np.array([part.passage for part in cut])
        columns = [own, _context(own, groups)]
        if cosines is not None:
            values = np.asarray(cosines, dtype=float)
            best = _best_within(values, groups)
            columns.append(
                np.stack([values, values - values.max(), values - best, best - values.max()], 1)
            )
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
        return np.hstack(columns)

    def _own(
        self, query: str, passages: Sequence[Passage], cut: Sequence[Part]
    ) -> list[list[float]]:
        asked = Counter(self._analysis.words(query))
        unit = self._unit(asked)
        weights = {word: self._idf(word) for word in asked}
        lower, wants = query.lower(), bool(_WANTS_NUMBER.search(query))
        top = max((passage.score for passage in passages), default=0.0)
        titles = [Counter(self._analysis.words(passage.title)) for passage in passages]
        wholes = [set(title) for title in titles]
        reads = [self._read(part.text) for part in cut]
        for part, read in zip(cut, reads, strict=True):
            wholes[part.passage] |= read.words.keys()
        sizes = Counter(part.passage for part in cut)
        seen: Counter[int] = Counter()
        rows = []
        for part, read in zip(cut, reads, strict=True):
            at = part.passage
            title = titles[at]
            with_title = read.words + title
            rest = {word: weight for word, weight in weights.items() if word not in title}
            place = seen[at]
            seen[at] += 1
            names = sum(name.lower() not in lower for name in read.capitals)
            rows.append(
                [
                    _dot(unit, self._unit(read.words)),
                    _dot(unit, self._unit(with_title)),
                    _covered(weights, read.words),
                    _covered(weights, with_title),
                    _covered(weights, wholes[at]),
                    _covered({word: self._idf(word) for word in title}, asked),
                    _covered(rest, read.words),
                    passages[at].score / top if top > 0 else 1.0,
                    float(at == 0),
                    at / 5,
                    float(place == 0),
                    min(place, 6) / 6,
                    1 / sizes[at],
                    math.log1p(read.length),
                    min(names, 6) / 6,
                    float(read.number),
                    float(wants and read.number),
                    float(wants and not read.number),
                ]
            )
        return rows

    def _read(self, text: str) -> _Read:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = _Read(
                Counter(self._analysis.words(text)),
                len(text.split()),
                tuple(_CAPITAL.findall(text)),
                bool(_NUMBER.search(text)),
            )
        else:
            self._known.move_to_end(text)
        return known

    def _unit(self, words: Words) -> dict[str, float]:
        weights = {word: n * self._idf(word) for word, n in words.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()} if length else {}


def _dot(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    return sum(weight * b[word] for word, weight in a.items() if word in b)


def _covered(weights: Mapping[str, float], words: Words | set[str]) -> float:
    """Share of the weight that is of `words`; 0 of no weight."""
    total = sum(weights.values())
    return sum(w for word, w in weights.items() if word in words) / total if total else 0.0


def _context(own: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(sentences, 8): the last features of `FEATURES`."""
    cosine, titled, rest = (
        own[:, FEATURES.index(n)] for n in ("cosine", "titled_cosine", "rest_covered")
    )
    best = _best_within(titled, groups)
    same = np.zeros(len(own) + 1, dtype=bool)  # whether i - 1 and i are of one passage
    same[1:-1] = groups[1:] == groups[:-1]
    before = np.where(same[:-1], np.roll(titled, 1), 0.0)
    after = np.where(same[1:], np.roll(titled, -1), 0.0)
    return np.stack(
        [
            cosine - cosine.max(),
            titled - titled.max(),
            rest - rest.max(),
            titled - best,
            rest - _best_within(rest, groups),
            before,
            after,
            best - titled.max(),
        ],
        axis=1,
    )


def _best_within(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """For each sentence the greatest value in its passage."""
    best = np.full(int(groups.max()) + 1, -np.inf)
    np.maximum.at(best, groups, values)
    found: np.ndarray = best[groups]
    return found
