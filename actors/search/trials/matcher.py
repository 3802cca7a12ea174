"""Leaves of an expression against an index: which studies (or sites) hold them, and how well.

A text leaf's relevance is BM25 of its words in each piece, times the piece's weight in the area;
studies that hold other names only, or the words apart, score a part of that (`CONCEPT`,
`RELAXED`, `LOSSY`), as the language documents in words but not in numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from pyroaring import BitMap

from actors.search.index.cache import ByteCache
from actors.search.index.postings import numbers_of
from actors.search.lookup import Atom
from actors.search.trials.areas import Area
from actors.search.trials.documents import CODES, OTHER, OWN
from actors.search.trials.index import TrialsIndex
from actors.search.trials.synonyms import Synonyms, Words

CONCEPT, RELAXED, LOSSY = 0.9, 0.3, 0.1
_CACHE_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Hits:
    """Scores (float32) of `ordinals` (uint32, ascending)."""

    ordinals: np.ndarray
    scores: np.ndarray


class Sought(NamedTuple):
    """A text leaf. `parts` are a term's words, those of one hyphenated or quoted together.

    `expansion` None counts as Term here: the caller checks case and accents.
    """

    area: Area
    parts: tuple[Words, ...]
    quoted: bool
    expansion: str
    coverage: str

    @property
    def words(self) -> Words:
        """All words, in order."""
        return tuple(word for part in self.parts for word in part)

    @property
    def edges(self) -> tuple[Words, Words]:
        """The value edges that coverage wants before and after the words."""
        before = ("",) if self.coverage in ("FullMatch", "StartsWith") else ()
        after = ("",) if self.coverage in ("FullMatch", "EndsWith") else ()
        return before, after

    @property
    def loose(self) -> bool:
        """True when the parts may stand apart."""
        free = self.expansion in ("Relaxation", "Lossy") and self.coverage == "Contains"
        return free and len(self.parts) > 1


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
        self._statistics = lookup.statistics()
        filled = {store for store, words in self._statistics.lengths.items() if words}
        self._own = filled & (OWN if document == "Study" else lookup.stores)
        self._ordered = tuple(sorted(self._own))
        self._others = OTHER in filled
        self._cache = ByteCache(cache_bytes)
        self._parts: dict[str, Area | None] = {}  # of areas by name, where synonyms count

    def atoms(self, area: Area, words: Words) -> list[Atom]:
        """`words` side by side in any piece of `area`; "" is the edge of a value."""
        own = [piece for piece, _, _ in area.weights if piece in self._own]
        for word in words:
            if word and own:
                where = self._where(word)
                own = [piece for piece in own if piece in where]
        atoms = [Atom(tuple(own), words)] if own else []
        for piece, _, _ in area.weights if self._others else ():
            if piece not in OWN:
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
        named = self._synonymous(area)
        found = self.phrase(area, words)
        if named is not None:
            for other in self.synonyms.of(words):
                found = found | self.phrase(named, other)
        return found

    def find(self, sought: Sought) -> BitMap:
        """The documents of a leaf."""
        key = ("find", sought.area.name, *sought[1:])
        return self._kept(key, lambda: self._find(sought))

    def score(self, sought: Sought) -> Hits:
        """How well documents hold a leaf; those that do not may be among them."""
        key = ("score", sought.area.name, *sought[1:])
        return self._kept(key, lambda: self._score(sought))

    def _find(self, sought: Sought) -> BitMap:
        area, (before, after) = sought.area, sought.edges
        if not sought.parts:
            return BitMap()
        found = BitMap(self.phrase(area, before + sought.words + after))
        if (named := self._named(sought)) is not None:
            for other in self.synonyms.of(sought.words):
                found |= self.phrase(named, before + other + after)
        if sought.loose:
            if sought.expansion == "Lossy":
                found |= BitMap.union(*(self.concept(area, part) for part in sought.parts))
            else:
                found |= self._apart(area, sought.parts, sought.quoted)
        return found

    def _score(self, sought: Sought) -> Hits:
        area, (before, after) = sought.area, sought.edges
        relevance = self._relevance(area, sought.words)
        score = np.zeros(self.lookup.size, dtype=np.float32)
        if not sought.parts:
            return Hits(np.empty(0, dtype=np.uint32), score[:0])
        if sought.loose:
            if sought.expansion == "Lossy":
                some = BitMap.union(*(self.concept(area, part) for part in sought.parts))
                _raise_to(score, some, relevance * LOSSY)
            apart = self._apart(area, sought.parts, sought.quoted)
            _raise_to(score, apart, relevance * RELAXED)
        if (named := self._named(sought)) is not None:
            for other in self.synonyms.of(sought.words):
                bits = self.phrase(named, before + other + after)
                if bits:
                    _raise_to(score, bits, self._relevance(named, other) * CONCEPT)
        _raise_to(score, self.phrase(area, before + sought.words + after), relevance)
        ordinals = np.flatnonzero(score).astype(np.uint32)
        return Hits(ordinals, score[ordinals])

    def _relevance(self, area: Area, words: Iterable[str]) -> np.ndarray:
        """(documents,) float32: BM25 of all `words` by piece and weight."""
        total = np.zeros(self.lookup.size, dtype=np.float32)
        for word in words:
            hits = self._word(area, word)
            total[hits.ordinals] += hits.scores
        return total

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
                if piece in self._own:
                    atom = Atom((piece,), (word,))
                elif self._others and piece not in OWN:
                    atom = Atom((OTHER,), (CODES[piece] + word,))
                else:
                    continue
                own = atom.stores[0] != OTHER
                counts = (
                    (self._where(word).get(piece, 0),) if own else self.lookup.frequencies(atom)
                )
                if any(counts):
                    ordinals, scores = self.lookup.scores(atom, counts, self._statistics)
                    total[ordinals] += np.float32(weight) * scores
            ordinals = np.flatnonzero(total).astype(np.uint32)
            return Hits(ordinals, total[ordinals])

        return self._kept(("word", area.name, word), compute)

    def _named(self, sought: Sought) -> Area | None:
        """Where other names of the same count for a leaf, None if nowhere."""
        return None if sought.expansion in ("None", "Term") else self._synonymous(sought.area)

    def _synonymous(self, area: Area) -> Area | None:
        if area.name not in self._parts:
            self._parts[area.name] = area.with_synonyms()
        return self._parts[area.name]

    def _where(self, word: str) -> dict[str, int]:
        """Piece -> number of documents, for pieces with columns of their own that hold `word`."""

        def compute() -> tuple[dict[str, int], int]:
            counts = self.lookup.frequencies(Atom(self._ordered, (word,)))
            pairs = zip(self._ordered, counts, strict=True)
            found = {piece: count for piece, count in pairs if count}
            return found, 100 + 50 * len(found)

        kept: dict[str, int] = self._cache.get(("where", word), compute)
        return kept

    def _kept(self, key: object, compute: Callable[[], _T]) -> _T:
        def sized() -> tuple[_T, int]:
            found = compute()
            count = len(found.ordinals) if isinstance(found, Hits) else len(found)
            return found, 200 + (12 if isinstance(found, Hits) else 4) * count

        kept: _T = self._cache.get(key, sized)
        return kept


def _raise_to(score: np.ndarray, bits: BitMap, to: np.ndarray) -> None:
    at = numbers_of(bits)
    score[at] = np.maximum(score[at], to[at])
