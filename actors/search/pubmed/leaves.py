"""Leaves of a plan: which values of one index a word, phrase, heading or author stands for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from actors.search.lookup import Atom, Near, Vocabulary
from actors.search.mesh import Mesh, narrower_qualifiers, qualifier
from actors.search.pubmed.fields import SUBHEADING, TYPE, Field
from actors.search.pubmed.mapping import Mapper
from actors.search.pubmed.plan import Leaf
from actors.search.pubmed.terms import Piece
from actors.search.pubmed.tree import Near as NearNode
from actors.search.text import words

MAX_EXPANSIONS = 600
"""Variations of a truncated word that are searched, in alphabetical order."""

MAX_PHRASE = 1_000
"""Words of a longer phrase are not looked up side by side: no value holds them."""

_MAX_PATTERN = 50_000  # words that a pattern is tried on
_MAX_OPTIONAL = 8  # each doubles the ways that a pattern can match
_PATTERN = re.compile(r"[?#]|\*[0-9]|\*(?!$)")


@dataclass(slots=True)
class Notes:
    """What there is to say about one term."""

    warnings: dict[str, None] = field(default_factory=dict)
    mapped: dict[tuple[str, str], None] = field(default_factory=dict)

    def warn(self, kind: str, message: str) -> None:
        """Note a warning of one of the kinds that esearch names."""
        self.warnings[f"{kind}: {' '.join(message.split())}"] = None


class Leaves:
    """Makes leaves from one vocabulary. `most_expansions` None leaves truncation unbounded."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        mesh: Mesh | None,
        mapper: Mapper,
        most_expansions: int | None,
    ) -> None:
        self._vocabulary = vocabulary
        self._mesh = mesh
        self._mapper = mapper
        self._most = most_expansions
        self._stores: dict[Field, tuple[str, ...]] = {}

    def stores(self, found: Field) -> tuple[str, ...]:
        """The columns of `found` that exist and are not hidden."""
        stores = self._stores.get(found)
        if stores is None:
            stores = self._stores[found] = self._mapper.stores(found)
        return stores

    def exist(self, stores: Iterable[str]) -> bool:
        """Whether the index has all of `stores`."""
        return all(store in self._vocabulary.stores for store in stores)

    def holds(self, leaf: Leaf) -> bool:
        """Whether any record has the leaf; a pattern over several words is taken at its word."""
        return leaf.near is not None or any(self._vocabulary.count(a) for a in leaf.atoms)

    def text(self, piece: Piece, found: Field, stores: tuple[str, ...], notes: Notes) -> Leaf:
        """A word or phrase of a text field, truncated or a pattern as may be."""
        text = " ".join(piece)
        label = f'"{text}"[{found.label}]'
        if not stores or len(piece) > MAX_PHRASE:
            return Leaf(label)
        if any(_PATTERN.search(word) for word in piece):
            return self._pattern(piece, label, stores, notes)
        return Leaf(label, (self._truncated(Atom(stores, piece), notes),))

    def _truncated(self, atom: Atom, notes: Notes) -> Atom:
        """`atom`, bounded where its truncation has too many variations."""
        last = atom.words[-1]
        if not last.endswith("*") or self._most is None:
            return atom
        variations = self._vocabulary.variations(atom.stores, last[:-1], self._most + 1)
        if len(variations) <= self._most:
            return atom
        notes.warn(
            "OutputMessage",
            f"{' '.join(atom.words)}: only the first {self._most} variations searched",
        )
        return atom._replace(until=variations[self._most - 1])

    def _pattern(self, piece: Piece, label: str, stores: tuple[str, ...], notes: Notes) -> Leaf:
        groups = tuple(self._alternatives(word, stores, notes) for word in piece)
        if not all(groups):
            return Leaf(label)
        if len(groups) == 1:
            return Leaf(label, tuple(Atom(stores, (word,)) for word in groups[0]))
        return Leaf(label, near=Near(stores, groups))

    def _alternatives(self, word: str, stores: tuple[str, ...], notes: Notes) -> tuple[str, ...]:
        """The words of the index that a pattern stands for; plain and truncated words as is."""
        if not _PATTERN.search(word):
            return (word,)
        if word.count("?") > _MAX_OPTIONAL:
            notes.warn(
                "OutputMessage", f"{word}: more than {_MAX_OPTIONAL} wildcards, not searched"
            )
            return ()
        prefix = re.split(r"[?#*]", word, maxsplit=1)[0]
        known = self._vocabulary.variations(stores, prefix, _MAX_PATTERN)
        if len(known) == _MAX_PATTERN:
            notes.warn("OutputMessage", f"{word}: only the first {_MAX_PATTERN} words tried")
        matches = re.compile(_expression(word)).fullmatch
        return tuple(w for w in known if matches(w))

    def near(self, node: NearNode, stores: tuple[str, ...], notes: Notes) -> Leaf:
        """Words that stand near each other."""
        inside = " ".join(g[0] if len(g) == 1 else f"({' OR '.join(g)})" for g in node.groups)
        slop = "" if node.slop is None else f":~{node.slop}"
        label = f'"{inside}"[{node.field.label}{slop}]'
        if not stores or len(node.groups) > MAX_PHRASE:
            return Leaf(label)
        groups = tuple(
            tuple(
                dict.fromkeys(w for word in group for w in self._alternatives(word, stores, notes))
            )
            for group in node.groups
        )
        if not all(groups):
            notes.warn("PhraseNotFound", node.text)
            return Leaf(label)
        if all(len(g) == 1 and not g[0].endswith("*") for g in groups):
            atom = Atom(stores, tuple(g[0] for g in groups), node.slop)
            if not self._vocabulary.count(atom):
                notes.warn("PhraseNotFound", node.text)
            return Leaf(label, (atom,))
        return Leaf(label, near=Near(stores, groups, node.slop))

    def exact(self, value: str, found: Field, notes: Notes) -> Leaf:
        """A whole value, truncated as may be."""
        stores = self.stores(found)
        label = f'"{value}"[{found.label}]'
        if not stores or not value:
            return Leaf(label)
        if value.endswith("*"):
            return Leaf(label, (self._truncated(Atom(stores, (value,)), notes),))
        names = [value]
        if self._mesh and found.label == "Supplementary Concept":
            names.append(self._mesh.heading(value) or value)
        return Leaf(label, tuple(Atom(stores, (name,)) for name in dict.fromkeys(names)))

    def author(self, value: str, found: Field, quoted: bool) -> Leaf:
        """A name: right-truncated unless quoted; a full one in either order."""
        stores = self.stores(found)
        exact = quoted or value.endswith("*")
        label = f'"{value}"[{found.label}]' if exact else f"{value}[{found.label}]"
        if not stores:
            return Leaf(label)
        if found.label == "Author - Full":
            given = value.split()
            names = dict.fromkeys((value, " ".join((given[-1], *given[:-1]))))
            return Leaf(label, tuple(Atom(stores, (name,)) for name in names))
        if not exact:
            value = f"{value}*" if " " in value else f"{value} *"
        return Leaf(label, (Atom(stores, (value,)),))

    def heading(
        self, value: str, found: Field, explode: bool, subheading: str, notes: Notes
    ) -> Leaf:
        """A heading and, if it explodes, those below it; with `subheading` on each of them."""
        stores = self.stores(found)
        label = found.label if explode else f"{found.label}:noexp"
        if found == SUBHEADING:
            value = self._qualifier(value)
            names = self._narrower_qualifiers(value) if explode else (value,)
        else:
            if self._mesh is not None:
                value = self._mesh.heading(value) or value
                names = self._mesh.narrower(value) if explode else (value,)
            else:
                names = (value,)
                if explode and stores and found != TYPE:
                    notes.warn(
                        "OutputMessage", "headings are not exploded: no MeSH vocabulary was given"
                    )
        shown = value
        if subheading:
            name = self._qualifier(" ".join(words(subheading)))
            shown = f"{value}/{name}"
            below = self._narrower_qualifiers(name) if explode else (name,)
            names = tuple(f"{heading} {q}" for heading in names for q in below)
        shown = f'"{shown}"[{label}]'
        atoms = (Atom(stores, (name,)) for name in names) if stores else ()
        if len(names) > 1:
            return Leaf(shown, tuple(a for a in atoms if self._vocabulary.count(a)))
        return Leaf(shown, tuple(atoms))

    def _qualifier(self, name: str) -> str:
        found = self._mesh.qualifier(name) if self._mesh else qualifier(name)
        return found.replace(" and ", " ")

    def _narrower_qualifiers(self, name: str) -> tuple[str, ...]:
        return self._mesh.narrower_qualifiers(name) if self._mesh else narrower_qualifiers(name)


def _expression(pattern: str) -> str:
    """A pattern over words as a regular expression; it cannot backtrack far."""
    parts = []
    for token in re.findall(r"\*[0-9]|[*?#]|[^*?#]+", pattern):
        if token == "?":
            parts.append(".?")
        elif token == "#":
            parts.append(".")
        elif token == "*":
            parts.append(".*")
        elif token[0] == "*":
            parts.append(f".{{0,{token[1]}}}")
        else:
            parts.append(re.escape(token))
    return "".join(parts)
