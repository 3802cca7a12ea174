"""Automatic term mapping: which headings, journals and authors untagged words may mean.

PubMed's order: subjects (subheadings, publication types, MeSH with its entry terms, supplementary
concepts), then journals, then authors (PubMed Help, "Automatic Term Mapping"). The tables are the
index's own values; a MeSH vocabulary adds entry terms. What no record has is not mapped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from actors.search.lookup import Atom, Vocabulary
from actors.search.mesh import Mesh
from actors.search.pubmed.fields import (
    AUTHOR,
    JOURNAL,
    MESH,
    SUBHEADING,
    SUBSTANCE,
    TYPE,
    Field,
    field_of,
)
from actors.search.pubmed.terms import STOP_WORDS

MAX_WORDS = 12
"""Longest phrase that is looked up whole."""

_FULL_AUTHOR = field_of("fau") or AUTHOR
_INITIALS = 2
_CACHED = 20_000


class Meaning(NamedTuple):
    """A whole value that words may stand for, in `field`."""

    field: Field
    value: str


@dataclass(slots=True)
class Mapper:
    """Looks words up in the tables of one vocabulary."""

    vocabulary: Vocabulary
    mesh: Mesh | None
    hidden: frozenset[str] = frozenset()  # columns that the request hides
    _begins: dict[tuple[str, str], bool] = field(default_factory=dict)
    _meanings: dict[tuple[str, ...], tuple[Meaning, ...]] = field(default_factory=dict)
    _stores: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def meanings(self, words: tuple[str, ...]) -> tuple[Meaning, ...]:
        """What `words` as a whole map to; empty when nothing."""
        known = self._meanings.get(words)
        if known is None:
            if len(self._meanings) > _CACHED:
                self._meanings.clear()
            known = self._meanings[words] = self._find(words)
        return known

    def _find(self, words: tuple[str, ...]) -> tuple[Meaning, ...]:
        if len(words) == 1 and words[0] in STOP_WORDS:
            return ()
        value = " ".join(words)
        subjects = tuple(self._subjects(value))
        if subjects:
            return subjects
        if self.holds(JOURNAL, value):
            return (Meaning(JOURNAL, value),)
        if len(words) > 1 and all(word.isalpha() for word in words):
            return self._authors(words)
        return ()

    def may_begin(self, first: str, second: str) -> bool:
        """Whether any known phrase begins with these two words: spares the longer look-ups."""
        key = (first, second)
        known = self._begins.get(key)
        if known is None:
            if len(self._begins) > _CACHED:
                self._begins.clear()
            known = self._begins[key] = self._known_beginning(f"{first} {second}")
        return known

    def holds(self, found: Field, value: str) -> bool:
        """Whether a record has `value`, exactly or, for an author, truncated."""
        stores = self.stores(found)
        return bool(stores) and self.vocabulary.count(Atom(stores, (value,))) > 0

    def stores(self, found: Field) -> tuple[str, ...]:
        """The columns of `found` that exist and are not hidden."""
        known = self._stores.get(found.stores)
        if known is None:
            there = self.vocabulary.stores
            known = tuple(s for s in found.stores if s in there and s not in self.hidden)
            self._stores[found.stores] = known
        return known

    def _subjects(self, value: str) -> Iterator[Meaning]:
        if self.holds(SUBHEADING, value):
            yield Meaning(SUBHEADING, value)
        heading = self.mesh.heading(value) if self.mesh else None
        for found in (TYPE, MESH):
            for name in dict.fromkeys((heading or value, value)):
                if self._has_heading(found, name):
                    yield Meaning(found, name)
                    break
        if heading is None and not self.holds(MESH, value) and self.holds(SUBSTANCE, value):
            yield Meaning(SUBSTANCE, value)

    def _has_heading(self, found: Field, name: str) -> bool:
        if self.mesh is not None:
            return any(self.holds(found, below) for below in self.mesh.narrower(name))
        return self.holds(found, name) and not (found == MESH and self._is_qualified(name))

    def _is_qualified(self, value: str) -> bool:
        """Whether a value of the heading column is a heading with its subheading."""
        words = value.split()
        return any(
            self.holds(SUBHEADING, " ".join(words[i:])) and self.holds(MESH, " ".join(words[:i]))
            for i in range(1, len(words))
        )

    def _authors(self, words: tuple[str, ...]) -> tuple[Meaning, ...]:
        if len(words[-1]) <= _INITIALS and words[-1] not in STOP_WORDS:
            value = " ".join(words)
            if self.holds(AUTHOR, f"{value}*"):
                return (Meaning(AUTHOR, value),)
        for value in (" ".join(words), " ".join((words[-1], *words[:-1]))):
            if self.holds(_FULL_AUTHOR, value):
                return (Meaning(_FULL_AUTHOR, value),)
        return ()

    def _known_beginning(self, prefix: str) -> bool:
        if self.mesh is not None and self.mesh.may_begin(prefix):
            return True
        tables = (SUBHEADING, TYPE, MESH, SUBSTANCE, JOURNAL, AUTHOR, _FULL_AUTHOR)
        stores = tuple(s for table in tables for s in self.stores(table))
        if self.vocabulary.variations(stores, prefix, 1):
            return True
        first, second = prefix.split()  # `jane smith` is indexed as `smith jane`
        names = self.stores(_FULL_AUTHOR)
        return bool(names) and bool(self.vocabulary.variations(names, f"{second} {first}", 1))
