"""What one term means in one index: the values it names, and what of it was not found."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from actors.search.lookup import Atom, Vocabulary
from actors.search.mesh import Mesh
from actors.search.pubmed.fields import (
    ALL,
    LANGUAGES,
    MAJOR,
    MESH,
    TYPE,
    UID,
    Field,
    owner,
)
from actors.search.pubmed.filters import FILTERS
from actors.search.pubmed.leaves import Leaves, Notes
from actors.search.pubmed.mapping import MAX_WORDS, Mapper, Meaning
from actors.search.pubmed.parser import parse
from actors.search.pubmed.plan import Leaf, Step, render
from actors.search.pubmed.terms import MIN_TRUNCATED, STOP_WORDS, Piece
from actors.search.pubmed.tree import Near as NearNode
from actors.search.pubmed.tree import Operator, Term, Tree

MAX_MAPPED = 2_000
"""Untagged words in a row that are mapped; later ones are searched as they are."""

_FACTS = ("facts_exact",)


class Reading(NamedTuple):
    """Steps in postfix order that make one operand; none when the term holds nothing."""

    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    mapped: tuple[tuple[str, str], ...] = ()


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
        self._mapping = mapping
        self._mapper = Mapper(vocabulary, mesh, hidden)
        self._leaves = Leaves(vocabulary, mesh, self._mapper, most_expansions)

    def read(self, node: Term | NearNode) -> Reading:
        """The reading of a term."""
        notes = Notes()
        found = node.field or ALL
        stores = self._leaves.stores(found)
        if not stores and found.kind != "filter":
            self.missing(found, notes.warnings)
        steps: list[Step]
        if isinstance(node, NearNode):
            steps = [self._leaves.near(node, stores, notes)]
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
        warnings: dict[str, None] = {}
        for i, id_ in enumerate(dict.fromkeys(ids)):
            atom = Atom(UID.stores, (id_,))
            if not self._vocabulary.count(atom):
                warnings[f"PhraseNotFound: {id_}[UID]"] = None
            steps.append(Leaf(f"{id_}[UID]", (atom,)))
            if i:
                steps.append(Operator.OR)
        return Reading(tuple(steps), tuple(warnings))

    def missing(self, found: Field, warnings: dict[str, None]) -> None:
        """Say that no column answers `found`."""
        names = ", ".join(dict.fromkeys(owner(s) for s in found.stores)) or found.label
        message = f"[{found.label}] finds nothing: {names} not in this index"
        warnings[f"OutputMessage: {message}"] = None

    # Text

    def _text(self, term: Term, found: Field, stores: tuple[str, ...], notes: Notes) -> list[Step]:
        parts = term.pieces
        whole = tuple(word for piece in parts for word in piece)
        if whole == ("hasabstract",) and self._leaves.exist(_FACTS):
            return [_fact("hasabstract[All Fields]", "has abstract")]
        if term.field is None and not term.quoted:
            return self._words(parts, stores, notes)
        if len(whole) == 1:
            return [self._known(whole, found, stores, notes, term.text)]
        if not any("*" in word for word in whole[:-1]):
            leaf = self._leaves.text(whole, found, stores, notes)
            if self._leaves.holds(leaf):
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

    def _words(self, parts: tuple[Piece, ...], stores: tuple[str, ...], notes: Notes) -> list[Step]:
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
        notes: Notes,
        typed: str = "",
    ) -> Leaf:
        """The leaf of `piece`, with a warning if no record has it."""
        leaf = self._leaves.text(piece, found, stores, notes)
        if stores and not self._leaves.holds(leaf):
            notes.warn("PhraseNotFound", typed or " ".join(piece))
        return leaf

    # Automatic term mapping

    def _map(self, parts: tuple[Piece, ...], stores: tuple[str, ...], notes: Notes) -> list[Step]:
        """Longest known phrases first, from the left; what is left over word by word."""
        operands: dict[tuple[str, ...], list[Step]] = {}  # by their words: none counts twice
        i, unmapped = 0, False
        while i < len(parts):
            used = 0
            steps: list[Step] = []
            if i < MAX_MAPPED:
                used, steps = self._longest(parts, i, stores, notes)
            elif not unmapped:
                unmapped = True
                notes.warn("OutputMessage", f"words after the first {MAX_MAPPED} are not mapped")
            if not used:
                used = 1
                piece = parts[i]
                if _is_stop(piece):
                    notes.warn("PhraseIgnored", piece[0])
                else:
                    steps = [self._known(piece, ALL, stores, notes)]
            if steps:
                name = tuple(word for piece in parts[i : i + used] for word in piece)
                operands.setdefault(name, steps)
            i += used
        out: list[Step] = []
        for number, steps in enumerate(operands.values()):
            out += steps
            if number:
                out.append(Operator.AND)
        return out

    def _longest(
        self, parts: tuple[Piece, ...], i: int, stores: tuple[str, ...], notes: Notes
    ) -> tuple[int, list[Step]]:
        """Pieces from `i` that map together, and to what; (0, []) when none do."""
        flat: list[str] = []
        ends = []
        for piece in parts[i : i + MAX_WORDS]:
            if piece[-1].endswith("*") or len(flat) + len(piece) > MAX_WORDS:
                break
            if flat and len(flat) < 2 and not self._mapper.may_begin(flat[0], piece[0]):
                break
            if len(piece) > 1 and not flat and not self._mapper.may_begin(piece[0], piece[1]):
                break
            flat += piece
            ends.append(len(flat))
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
        quiet = Notes()
        if meanings[0].field.kind == "author":
            leaf = self._leaves.author(meanings[0].value, meanings[0].field, quoted=False)
            return [leaf]
        for meaning in meanings:
            alternatives.append(
                [self._leaves.heading(meaning.value, meaning.field, True, "", quiet)]
            )
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
        quiet = Notes()
        single = [word for word in spelt if word not in STOP_WORDS]
        if len(spelt) > 1 and single:
            leaves = [
                self._leaves.text((word,), ALL, stores, quiet) for word in dict.fromkeys(single)
            ]
            alternatives.append(_joined(leaves, Operator.AND))
        alternatives.append([self._leaves.text(spelt, ALL, stores, quiet)])

    # Whole values

    def _values(
        self, term: Term, found: Field, stores: tuple[str, ...], notes: Notes
    ) -> list[Step]:
        value = " ".join(word for piece in term.pieces for word in piece)
        if found.kind == "author":
            leaf = self._leaves.author(value, found, term.quoted)
        elif found.kind == "language":
            leaf = self._leaves.exact(LANGUAGES.get(value, value), found, notes)
        elif found.kind == "mesh" and not value.endswith("*"):
            leaf = self._leaves.heading(value, found, term.explode, term.qualifier, notes)
        else:
            leaf = self._leaves.exact(value, found, notes)
        if stores and not self._leaves.holds(leaf):
            notes.warn("PhraseNotFound", term.text)
        elif stores and found.label in ("Journal", MESH.label, MAJOR.label, TYPE.label):
            notes.mapped[_straight(term.text), leaf.label] = None
        return [leaf]

    # Subsets

    def _filter(self, term: Term, notes: Notes) -> list[Step]:
        name = "".join(word for piece in term.pieces for word in piece)
        if name == "all":
            return [Leaf("all[sb]", everything=True)]
        known = FILTERS.get(name)
        label = f'"{" ".join(w for piece in term.pieces for w in piece)}"[Filter]'
        if known is None:
            notes.warn("PhraseNotFound", term.text)
            return [Leaf(label)]
        if not isinstance(known, str):
            there = [(s, v) for s, v in known if self._leaves.exist((s,))]
            if not there:
                notes.warn("OutputMessage", f"{term.text} finds nothing: not in this index")
            return [Leaf(label, tuple(Atom((s,), (v,)) for s, v in there))]
        tree = parse(known)
        assert isinstance(tree, Tree)
        out: list[Step] = []
        for node in tree.nodes:
            if isinstance(node, Term) and node.quoted and node.field is not None:
                stores = self._leaves.stores(node.field)
                out.append(self._leaves.text(node.pieces[0], node.field, stores, Notes()))
            elif isinstance(node, Term):
                out += self.read(node).steps
            elif isinstance(node, Operator):
                out.append(node)
        return out


def _fact(label: str, fact: str) -> Leaf:
    return Leaf(label, (Atom(_FACTS, (fact,)),))


def _long_enough(piece: Piece, typed: str, notes: Notes) -> Piece:
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
