"""Leaves of an expression against an index: which studies (or sites) hold them, and how well.

A text leaf's relevance is BM25 of its words in each piece, times the piece's weight in the area;
studies that hold other names only, or the words apart, score a part of that (`CONCEPT`,
`RELAXED`, `LOSSY`), as the language documents in words but not in numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from pyroaring import BitMap

from actors.search.index.cache import ByteCache
from actors.search.index.postings import bitmap, numbers_of
from actors.search.lookup import Atom
from actors.search.trials.areas import Area
from actors.search.trials.documents import CODES, OTHER, OWN
from actors.search.trials.index import TrialsIndex
from actors.search.trials.synonyms import Synonyms, Words

CONCEPT, RELAXED, LOSSY = 0.9, 0.3, 0.1
_CACHE_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Hits:
    """What a leaf finds: `scores` (float32) of `ordinals` (uint32, ascending), those of `bits`."""

    bits: BitMap
    ordinals: np.ndarray
    scores: np.ndarray


_T = TypeVar("_T", Hits, BitMap)


class Matcher:
    """Answers text leaves over the studies or, with `document` "Location", over the sites.

    Answers are kept within `cache_bytes`; safe for threads.
    """

    def __init__(
        self,
        index: TrialsIndex,
        synonyms: Synonyms,
        document: str = "Study",
        cache_bytes: int = _CACHE_BYTES,
    ) -> None:
        lookup = index.studies if document == "Study" else index.locations
        assert lookup is not None
        self.lookup = lookup
        self.synonyms = synonyms
        self.own = OWN if document == "Study" else lookup.stores
        self._statistics = lookup.statistics()
        self._cache = ByteCache(cache_bytes)

    def atoms(self, area: Area, words: Words) -> list[Atom]:
        """`words` side by side in any piece of `area`; "" is the edge of a value."""
        own = tuple(piece for piece, _, _ in area.weights if piece in self.own)
        atoms = [Atom(own, words)] if own else []
        for piece, _, _ in area.weights:
            if piece not in self.own and OTHER in self.lookup.stores:
                code = CODES[piece]
                atoms.append(Atom((OTHER,), tuple(code + w if w else "" for w in words)))
        return atoms

    def phrase(self, area: Area, words: Words) -> BitMap:
        """Where `words`, also with compounds joined or split, stand side by side."""

        def compute() -> BitMap:
            found = BitMap()
            for spelling in self.synonyms.spellings(words):
                for atom in self.atoms(area, spelling):
                    found |= self.lookup.find(atom)
            return found

        return self._kept(("phrase", area.name, words), compute)

    def concept(self, area: Area, words: Words) -> BitMap:
        """Where `words` or any other name of the same stand, synonyms only where they may count."""
        named = _with_synonyms(area)
        found = self.phrase(area, words)
        if named is not None:
            for other in self.synonyms.of(words):
                found = found | self.phrase(named, other)
        return found

    def relevance(self, area: Area, words: Iterable[str]) -> np.ndarray:
        """(documents,) float32: BM25 of all `words` by piece and weight."""
        total = np.zeros(self.lookup.size, dtype=np.float32)
        for word in words:
            hits = self._word(area, word)
            total[hits.ordinals] += hits.scores
        return total

    def text(
        self, area: Area, parts: Sequence[Words], quoted: bool, expansion: str, coverage: str
    ) -> Hits:
        """Hits of a term: `parts` are its words, those of one hyphenated or `quoted` together.

        `expansion` None counts as Term here: the caller checks case and accents.
        """
        key = ("text", area.name, tuple(parts), quoted, expansion, coverage)
        return self._kept(key, lambda: self._text(area, parts, quoted, expansion, coverage))

    def _text(
        self, area: Area, parts: Sequence[Words], quoted: bool, expansion: str, coverage: str
    ) -> Hits:
        words = tuple(word for part in parts for word in part)
        if not words:
            return _hits(BitMap(), np.zeros(self.lookup.size, dtype=np.float32))
        before = ("",) if coverage in ("FullMatch", "StartsWith") else ()
        after = ("",) if coverage in ("FullMatch", "EndsWith") else ()
        full = self.phrase(area, before + words + after)
        relevance = self.relevance(area, words)
        if expansion in ("None", "Term"):
            return _hits(full, relevance)
        score = np.zeros(self.lookup.size, dtype=np.float32)
        found = BitMap(full)
        named = _with_synonyms(area)
        loose = expansion in ("Relaxation", "Lossy") and coverage == "Contains"
        if loose and len(parts) > 1:
            apart = self._apart(area, parts, quoted)
            if expansion == "Lossy":
                some = BitMap.union(*(self.concept(area, part) for part in parts))
                _raise_to(score, some, relevance * LOSSY)
                found |= some
            _raise_to(score, apart, relevance * RELAXED)
            found |= apart
        if named is not None:
            for other in self.synonyms.of(words):
                bits = self.phrase(named, before + other + after)
                if bits:
                    _raise_to(score, bits, self.relevance(named, other) * CONCEPT)
                    found |= bits
        _raise_to(score, full, relevance)
        return _hits(found, score)

    def _apart(self, area: Area, parts: Sequence[Words], quoted: bool) -> BitMap:
        """Where each of `parts` stands somewhere; names of several words count as one as well."""
        found = BitMap.intersection(*(self.concept(area, part) for part in parts))
        if not quoted:
            words = tuple(word for part in parts for word in part)
            units, i = [], 0
            while i < len(words):
                size = self.synonyms.longest(words, i)
                units.append(words[i : i + size])
                i += size
            if 1 < len(units) < len(words):
                found = found | BitMap.intersection(*(self.concept(area, u) for u in units))
        return found

    def _word(self, area: Area, word: str) -> Hits:
        def compute() -> Hits:
            total = np.zeros(self.lookup.size, dtype=np.float32)
            for piece, weight, _ in area.weights:
                if piece in self.own:
                    atom = Atom((piece,), (word,))
                elif OTHER in self.lookup.stores:
                    atom = Atom((OTHER,), (CODES[piece] + word,))
                else:
                    continue
                counts = self.lookup.frequencies(atom)
                if any(counts):
                    ordinals, scores = self.lookup.scores(atom, counts, self._statistics)
                    total[ordinals] += np.float32(weight) * scores
            ordinals = np.flatnonzero(total).astype(np.uint32)
            return Hits(bitmap(ordinals), ordinals, total[ordinals])

        return self._kept(("word", area.name, word), compute)

    def _kept(self, key: object, compute: Callable[[], _T]) -> _T:
        def sized() -> tuple[_T, int]:
            found = compute()
            count = len(found.ordinals) if isinstance(found, Hits) else len(found)
            return found, 200 + (12 if isinstance(found, Hits) else 4) * count

        kept: _T = self._cache.get(key, sized)
        return kept


def _with_synonyms(area: Area) -> Area | None:
    """The part of `area` where synonyms count, None if there is none."""
    parts = tuple(part for part in area.parts if part.synonyms)
    if not parts:
        return None
    return area if len(parts) == len(area.parts) else Area(area.name + "~", "", "", parts)


def _raise_to(score: np.ndarray, bits: BitMap, to: np.ndarray) -> None:
    at = numbers_of(bits)
    score[at] = np.maximum(score[at], to[at])


def _hits(bits: BitMap, relevance: np.ndarray) -> Hits:
    ordinals = numbers_of(bits)
    return Hits(bits, ordinals, relevance[ordinals])
