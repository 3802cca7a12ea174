"""What one term means in one index: the values it names, and what of it was not found."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from actors.search.lookup import Atom, Near, Vocabulary
from actors.search.mesh import Mesh, narrower_qualifiers, qualifier
from actors.search.pubmed.fields import (
    ALL,
    LANGUAGES,
    MAJOR,
    MESH,
    SUBHEADING,
    TYPE,
    UID,
    Field,
    owner,
)
from actors.search.pubmed.filters import FILTERS
from actors.search.pubmed.mapping import MAX_WORDS, Mapper, Meaning
from actors.search.pubmed.parser import parse
from actors.search.pubmed.plan import Leaf, Step, render
from actors.search.pubmed.terms import MIN_TRUNCATED, STOP_WORDS, Piece
from actors.search.pubmed.tree import Near as NearNode
from actors.search.pubmed.tree import Operator, Term, Tree
from actors.search.text import words

MAX_EXPANSIONS = 600
"""Variations of a truncated word that are searched, in alphabetical order."""

_MAX_PATTERN = 50_000  # words that a pattern is tried on
_MAX_OPTIONAL = 8  # each doubles the ways that a pattern can match
_PATTERN = re.compile(r"[?#]|\*[0-9]|\*(?!$)")
_FACTS = ("facts_exact",)


class Reading(NamedTuple):
    """Steps in postfix order that make one operand; none when the term holds nothing."""

    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    mapped: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Notes:
    """What there is to say about one term."""

    warnings: dict[str, None] = field(default_factory=dict)
    mapped: dict[tuple[str, str], None] = field(default_factory=dict)

    def warn(self, kind: str, message: str) -> None:
        self.warnings[f"{kind}: {' '.join(message.split())}"] = None


class Reader:
    """Reads terms against one vocabulary. `hidden` columns are as if they were not there."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        mesh: Mesh | None,
        hidden: frozenset[str],
        mapping: bool,
        most_expansions: int | None,
    ) -> None:
        self._vocabulary = vocabulary
        self._mesh = mesh
        self._mapping = mapping
        self._most = most_expansions
        self._mapper = Mapper(vocabulary, mesh, hidden)
        self._stores: dict[Field, tuple[str, ...]] = {}

    def read(self, node: Term | NearNode) -> Reading:
        """The reading of a term."""
        notes = _Notes()
        found = node.field or ALL
        stores = self.stores(found)
        if not stores and found.kind != "filter":
            self.missing(found, notes.warnings)
        if isinstance(node, NearNode):
            steps = self._near(node, stores, notes)
        elif found.kind == "filter":
            steps = self._filter(node, notes)
        elif found.kind == "text":
            steps = self._text(node, found, stores, notes)
        else:
            steps = self._values(node, found, stores, notes)
        return Reading(tuple(steps), tuple(notes.warnings), tuple(notes.mapped))

    def ids(self, ids: Sequence[str]) -> Reading:
        """Any of `ids`."""
        steps: list[Step] = []
        warnings = {}
        for i, id_ in enumerate(dict.fromkeys(ids)):
            atom = Atom(UID.stores, (id_,))
            if not self._vocabulary.count(atom):
                warnings[f"PhraseNotFound: {id_}[UID]"] = None
            steps.append(Leaf(f"{id_}[UID]", (atom,)))
            if i:
                steps.append(Operator.OR)
        return Reading(tuple(steps), tuple(warnings))

    def stores(self, found: Field) -> tuple[str, ...]:
        """The columns of `found` that exist and are not hidden."""
        stores = self._stores.get(found)
        if stores is None:
            stores = self._stores[found] = self._mapper.stores(found)
        return stores

    def missing(self, found: Field, warnings: dict[str, None]) -> None:
        """Say that no column answers `found`."""
        names = ", ".join(dict.fromkeys(owner(s) for s in found.stores)) or found.label
        message = f"[{found.label}] finds nothing: {names} not in this index"
        warnings[f"OutputMessage: {message}"] = None

    # Text

    def _text(self, term: Term, found: Field, stores: tuple[str, ...], notes: _Notes) -> list[Step]:
        parts = term.pieces
        whole = tuple(word for piece in parts for word in piece)
        if whole == ("hasabstract",) and self.exist(_FACTS):
            return [_fact("hasabstract[All Fields]", "has abstract")]
        if term.field is None and not term.quoted:
            return self._words(parts, stores, notes)
        if len(whole) == 1:
            return [self._known(whole, found, stores, notes, term.text)]
        if not any("*" in word for word in whole[:-1]):
            leaf = self._leaf(whole, found, stores, notes)
            if self._holds(leaf):
                return [leaf]
            if len(parts) == 1 and not term.quoted:  # hyphenated
                if stores:
                    notes.warn("PhraseNotFound", term.text)
                return [leaf]
        if term.quoted:
            if stores:
                notes.warn("QuotedPhraseNotFound", _straight(term.text))
            parts = tuple((word,) for word in whole)
            if term.field is None:
                return self._words(parts, stores, notes)
        kept = [piece for piece in parts if not _is_stop(piece)] or parts
        whole_enough = [_long_enough(piece, term.text, notes) for piece in kept]
        return _joined([self._known(p, found, stores, notes) for p in whole_enough], Operator.AND)

    def _words(
        self, parts: tuple[Piece, ...], stores: tuple[str, ...], notes: _Notes
    ) -> list[Step]:
        """Untagged words: mapped, or all of them wanted."""
        parts = tuple(_long_enough(piece, " ".join(piece), notes) for piece in parts)
        if self._mapping:
            return self._map(parts, stores, notes)
        kept = []
        for piece in parts:
            if _is_stop(piece):
                notes.warn("PhraseIgnored", piece[0])
            else:
                kept.append(self._known(piece, ALL, stores, notes))
        return _joined(kept, Operator.AND)

    def _known(
        self,
        piece: Piece,
        found: Field,
        stores: tuple[str, ...],
        notes: _Notes,
        typed: str = "",
    ) -> Leaf:
        """The leaf of `piece`, with a warning if no record has it."""
        leaf = self._leaf(piece, found, stores, notes)
        if stores and not self._holds(leaf):
            notes.warn("PhraseNotFound", typed or " ".join(piece))
        return leaf

    def _leaf(self, piece: Piece, found: Field, stores: tuple[str, ...], notes: _Notes) -> Leaf:
        text = " ".join(piece)
        label = f'"{text}"[{found.label}]'
        if not stores:
            return Leaf(label)
        if any(_PATTERN.search(word) for word in piece):
            return self._pattern(piece, label, stores, notes)
        return Leaf(label, (self._truncated(Atom(stores, piece), notes),))

    def _truncated(self, atom: Atom, notes: _Notes) -> Atom:
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

    def _pattern(self, piece: Piece, label: str, stores: tuple[str, ...], notes: _Notes) -> Leaf:
        groups = tuple(self._alternatives(word, stores, notes) for word in piece)
        if not all(groups):
            return Leaf(label)
        if len(groups) == 1:
            return Leaf(label, tuple(Atom(stores, (word,)) for word in groups[0]))
        return Leaf(label, near=Near(stores, groups))

    def _alternatives(self, word: str, stores: tuple[str, ...], notes: _Notes) -> tuple[str, ...]:
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

    def _near(self, node: NearNode, stores: tuple[str, ...], notes: _Notes) -> list[Step]:
        inside = " ".join(g[0] if len(g) == 1 else f"({' OR '.join(g)})" for g in node.groups)
        slop = "" if node.slop is None else f":~{node.slop}"
        label = f'"{inside}"[{node.field.label}{slop}]'
        if not stores:
            return [Leaf(label)]
        groups = tuple(
            tuple(
                dict.fromkeys(w for word in group for w in self._alternatives(word, stores, notes))
            )
            for group in node.groups
        )
        if not all(groups):
            notes.warn("PhraseNotFound", node.text)
            return [Leaf(label)]
        if all(len(g) == 1 and not g[0].endswith("*") for g in groups):
            atom = Atom(stores, tuple(g[0] for g in groups), node.slop)
            if not self._vocabulary.count(atom):
                notes.warn("PhraseNotFound", node.text)
            return [Leaf(label, (atom,))]
        return [Leaf(label, near=Near(stores, groups, node.slop))]

    # Automatic term mapping

    def _map(self, parts: tuple[Piece, ...], stores: tuple[str, ...], notes: _Notes) -> list[Step]:
        """Longest known phrases first, from the left; what is left over word by word."""
        operands: list[list[Step]] = []
        i = 0
        while i < len(parts):
            used, steps = self._longest(parts, i, stores, notes)
            if not used:
                used = 1
                piece = parts[i]
                if _is_stop(piece):
                    notes.warn("PhraseIgnored", piece[0])
                else:
                    steps = [self._known(piece, ALL, stores, notes)]
            if steps:
                operands.append(steps)
            i += used
        out: list[Step] = []
        for number, steps in enumerate(operands):
            out += steps
            if number:
                out.append(Operator.AND)
        return out

    def exist(self, stores: Iterable[str]) -> bool:
        """Whether the index has all of `stores`."""
        return all(store in self._vocabulary.stores for store in stores)

    def _longest(
        self, parts: tuple[Piece, ...], i: int, stores: tuple[str, ...], notes: _Notes
    ) -> tuple[int, list[Step]]:
        """Pieces from `i` that map together, and to what; (0, []) when none do."""
        flat: list[str] = []
        ends = []
        for piece in parts[i : i + MAX_WORDS]:
            if piece[-1].endswith("*") or len(flat) + len(piece) > MAX_WORDS:
                break
            flat += piece
            ends.append(len(flat))
        if len(flat) > 1 and not self._mapper.may_begin(flat[0], flat[1]):
            ends = ends[:1] if ends[0] == 1 else []
        for count in range(len(ends), 0, -1):
            found = tuple(flat[: ends[count - 1]])
            if meanings := self._mapper.meanings(found):
                steps = self._spelt_out(found, meanings, stores)
                notes.mapped[" ".join(found), render(steps)] = None
                return count, steps
        return 0, []

    def _spelt_out(
        self, typed: tuple[str, ...], meanings: Sequence[Meaning], stores: tuple[str, ...]
    ) -> list[Step]:
        """`child rearing`: the heading, or both words, or the phrase."""
        alternatives: list[list[Step]] = []
        texts: dict[tuple[str, ...], None] = {}
        quiet = _Notes()
        if meanings[0].field.kind == "author":
            leaf = self._author(meanings[0].value, meanings[0].field, quoted=False)
            return [leaf]
        for meaning in meanings:
            alternatives.append([self._heading(meaning.value, meaning.field, True, "", quiet)])
            if meaning.field.label != "Journal":
                spelt = tuple(meaning.value.split())
                self._add_texts(spelt, texts, alternatives, stores)
        self._add_texts(typed, texts, alternatives, stores)
        out = alternatives[0]
        for steps in alternatives[1:]:
            out = [*out, *steps, Operator.OR]
        return out

    def _add_texts(
        self,
        spelt: tuple[str, ...],
        texts: dict[tuple[str, ...], None],
        alternatives: list[list[Step]],
        stores: tuple[str, ...],
    ) -> None:
        if spelt in texts or not stores:
            return
        texts[spelt] = None
        quiet = _Notes()
        single = [word for word in spelt if word not in STOP_WORDS]
        if len(spelt) > 1 and single:
            leaves = [self._leaf((word,), ALL, stores, quiet) for word in dict.fromkeys(single)]
            alternatives.append(_joined(leaves, Operator.AND))
        alternatives.append([self._leaf(spelt, ALL, stores, quiet)])

    # Whole values

    def _values(
        self, term: Term, found: Field, stores: tuple[str, ...], notes: _Notes
    ) -> list[Step]:
        value = " ".join(word for piece in term.pieces for word in piece)
        if found.kind == "author":
            leaf = self._author(value, found, term.quoted)
        elif found.kind == "language":
            leaf = self._exact(LANGUAGES.get(value, value), found, notes)
        elif found.kind == "mesh" and not value.endswith("*"):
            leaf = self._heading(value, found, term.explode, term.qualifier, notes)
        else:
            leaf = self._exact(value, found, notes)
        if stores and not self._holds(leaf):
            notes.warn("PhraseNotFound", term.text)
        elif stores and found.label in ("Journal", MESH.label, MAJOR.label, TYPE.label):
            notes.mapped[_straight(term.text), leaf.label] = None
        return [leaf]

    def _exact(self, value: str, found: Field, notes: _Notes) -> Leaf:
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

    def _author(self, value: str, found: Field, quoted: bool) -> Leaf:
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

    def _heading(
        self, value: str, found: Field, explode: bool, subheading: str, notes: _Notes
    ) -> Leaf:
        """A heading and, if it explodes, those below it; with `subheading` on each of them."""
        stores = self.stores(found)
        label = found.label if explode else f"{found.label}:noexp"
        if found is SUBHEADING:
            value = self._qualifier(value)
            names = self._narrower_qualifiers(value) if explode else (value,)
        else:
            if self._mesh is not None:
                value = self._mesh.heading(value) or value
                names = self._mesh.narrower(value) if explode else (value,)
            else:
                names = (value,)
                if explode and stores and found is not TYPE:
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

    # Subsets

    def _filter(self, term: Term, notes: _Notes) -> list[Step]:
        name = "".join(word for piece in term.pieces for word in piece)
        if name == "all":
            return [Leaf("all[sb]", everything=True)]
        known = FILTERS.get(name)
        label = f'"{" ".join(w for piece in term.pieces for w in piece)}"[Filter]'
        if known is None:
            notes.warn("PhraseNotFound", term.text)
            return [Leaf(label)]
        if not isinstance(known, str):
            there = [(s, v) for s, v in known if self.exist((s,))]
            if not there:
                notes.warn("OutputMessage", f"{term.text} finds nothing: not in this index")
            return [Leaf(label, tuple(Atom((s,), (v,)) for s, v in there))]
        tree = parse(known)
        assert isinstance(tree, Tree)
        out: list[Step] = []
        for node in tree.nodes:
            if isinstance(node, Term) and node.quoted and node.field is not None:
                stores = self.stores(node.field)
                out.append(self._leaf(node.pieces[0], node.field, stores, _Notes()))
            elif isinstance(node, Term):
                out += self.read(node).steps
            elif isinstance(node, Operator):
                out.append(node)
        return out

    def _holds(self, leaf: Leaf) -> bool:
        """Whether any record has the leaf; a pattern over several words is taken at its word."""
        return leaf.near is not None or any(self._vocabulary.count(a) for a in leaf.atoms)


def _fact(label: str, fact: str) -> Leaf:
    return Leaf(label, (Atom(_FACTS, (fact,)),))


def _long_enough(piece: Piece, typed: str, notes: _Notes) -> Piece:
    """`piece`, whose truncation is dropped where only its phrase was long enough for one."""
    if not piece[-1].endswith("*") or sum(map(len, piece)) > MIN_TRUNCATED:
        return piece
    notes.warn("OutputMessage", f"truncation ignored in {typed}: * needs 4 characters")
    return (*piece[:-1], piece[-1][:-1])


def _is_stop(piece: Piece) -> bool:
    return len(piece) == 1 and piece[0] in STOP_WORDS


def _joined(leaves: Sequence[Leaf], operator: Operator) -> list[Step]:
    steps: list[Step] = []
    for i, leaf in enumerate(leaves):
        steps.append(leaf)
        if i:
            steps.append(operator)
    return steps


def _straight(text: str) -> str:
    return re.sub(r"[“”„‟«»″＂]", '"', text)


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
