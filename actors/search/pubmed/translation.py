"""Tree to leaves of the index, with PubMed's warnings and its way of writing how a query was read.

Warnings carry the names E-utilities give them: `PhraseNotFound`, `QuotedPhraseNotFound`,
`FieldNotFound`, `PhraseIgnored`, `OutputMessage`, then a colon.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple, Protocol

from actors.search.pubmed.fields import ALL, LANGUAGES, Field, owner
from actors.search.pubmed.terms import STOP_WORDS
from actors.search.pubmed.tree import DateRange, Operator, Term, Tree

MAX_EXPANSIONS = 600
"""Variations of a truncated word that are searched, in alphabetical order."""


class Atom(NamedTuple):
    """What the index looks up: a word, whole value or phrase in any of the store fields.

    A last word that ends in `*` is a prefix; `smith *` means `smith` and all that starts so.
    """

    stores: tuple[str, ...]
    words: tuple[str, ...]


class Hits(NamedTuple):
    """The records of an atom as a bitmap; `cut` when a truncation had too many variations."""

    bits: int
    cut: bool = False


class Lookup(Protocol):
    """What translation asks of an index."""

    def find(self, atom: Atom) -> Hits:
        """The records that hold `atom`."""

    def published(self, start: date, end: date) -> int:
        """The bitmap of records published from `start` to `end`, both included."""


class Leaf(NamedTuple):
    """A leaf of the translated query. `atom` is None where nothing can be ranked by it."""

    label: str
    bits: int
    atom: Atom | None = None


Step = Leaf | Operator


@dataclass(slots=True)
class Translation:
    """A query in terms of the index: steps in postfix order, and the warnings so far."""

    steps: list[Step] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)

    def __str__(self) -> str:
        return render(self.steps)


def translate(tree: Tree, lookup: Lookup, fields: Sequence[str]) -> Translation:
    """Look every term of `tree` up in those of its fields that are among `fields`."""
    translator = _Translator(lookup, fields, Translation(warnings=dict.fromkeys(tree.warnings)))
    steps = translator.out.steps
    for node in tree.nodes:
        if isinstance(node, Operator):
            steps.append(node)
        elif isinstance(node, DateRange):
            translator.date(node)
        else:
            translator.term(node)
    return translator.out


@dataclass(slots=True)
class _Translator:
    lookup: Lookup
    fields: Sequence[str]
    out: Translation
    stores: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def warn(self, kind: str, message: str) -> None:
        self.out.warnings[f"{kind}: {message}"] = None

    def date(self, node: DateRange) -> None:
        if node.start is None or node.end is None:
            self.warn("PhraseNotFound", f"{node.text}[dp]")
            self.out.steps.append(Leaf(f'"{node.text}"[Date - Publication]', 0))
            return
        bits = self.lookup.published(node.start, node.end)
        days = f"{node.start}:{node.end}".replace("-", "/")
        self.out.steps.append(Leaf(f"{days}[Date - Publication]", bits))

    def term(self, term: Term) -> None:
        found = term.field or ALL
        stores = self.stores.get(found.label)
        if stores is None:
            stores = tuple(s for s in found.stores if found.kind == "id" or owner(s) in self.fields)
            self.stores[found.label] = stores
        if not stores:
            names = ", ".join(dict.fromkeys(owner(s) for s in found.stores))
            self.warn("OutputMessage", f"[{found.label}] finds nothing: {names} not in this index")
        if found.kind == "text":
            self.text(term, found, stores)
        else:
            self.join(self.values(term, found, stores), Operator.OR)

    def text(self, term: Term, found: Field, stores: tuple[str, ...]) -> None:
        parts = term.pieces
        if len(parts) > 1 and term.field is not None:
            whole = tuple(word for piece in parts for word in piece)
            if not any(w.endswith("*") for w in whole[:-1]):
                phrase = self.leaf(Atom(stores, whole), found)
                if phrase.bits:
                    self.out.steps.append(phrase)
                    return
        elif term.quoted and len(parts[0]) > 1:
            phrase = self.leaf(Atom(stores, parts[0]), found)
            if phrase.bits:
                self.out.steps.append(phrase)
                return
            if stores:
                self.warn("QuotedPhraseNotFound", f'"{" ".join(parts[0])}"')
            parts = tuple((word,) for word in parts[0])
        if len(parts) > 1:
            parts = tuple(p for p in parts if len(p) > 1 or p[0] not in STOP_WORDS) or parts
        self.join([self.known(Atom(stores, piece), found) for piece in parts], Operator.AND)

    def values(self, term: Term, found: Field, stores: tuple[str, ...]) -> list[Leaf]:
        """Leaves of a term that names whole values."""
        if found.kind == "id":
            ids = [i for i in re.split(r"[\s,;]+", term.text) if i]
            return [self.known(Atom(stores, (i,)), found) for i in ids]
        value = " ".join(word for piece in term.pieces for word in piece)
        if found.kind == "language":
            value = LANGUAGES.get(value, value)
        if found.kind == "author" and not term.quoted and not value.endswith("*"):
            prefix = f"{value}*" if " " in value else f"{value} *"
            leaf = self.known(Atom(stores, (prefix,)), found)
            return [leaf._replace(label=f'"{value}"[{found.label}]')]
        return [self.known(Atom(stores, (value,)), found)]

    def known(self, atom: Atom, found: Field) -> Leaf:
        """The leaf of `atom`, with a warning if no record has it."""
        leaf = self.leaf(atom, found)
        if not leaf.bits and atom.stores:
            self.warn("PhraseNotFound", " ".join(atom.words))
        return leaf

    def leaf(self, atom: Atom, found: Field) -> Leaf:
        hits = self.lookup.find(atom)
        text = " ".join(atom.words)
        if hits.cut:
            self.warn(
                "OutputMessage", f"{text}: only the first {MAX_EXPANSIONS} variations searched"
            )
        return Leaf(f'"{text}"[{found.label}]', hits.bits, atom)

    def join(self, leaves: list[Leaf], operator: Operator) -> None:
        for i, leaf in enumerate(leaves):
            self.out.steps.append(leaf)
            if i:
                self.out.steps.append(operator)


def matches(steps: Sequence[Step], everything: int) -> int:
    """The bitmap of records that the steps select; `everything` is that of all records."""
    stack: list[int] = []
    for step in steps:
        if isinstance(step, Leaf):
            stack.append(step.bits)
        elif step is Operator.COMPLEMENT:
            stack[-1] = everything & ~stack[-1]
        else:
            right = stack.pop()
            if step is Operator.AND:
                stack[-1] &= right
            elif step is Operator.OR:
                stack[-1] |= right
            else:
                stack[-1] &= ~right
    return stack[0]


def ranking_atoms(steps: Sequence[Step]) -> Iterator[Atom]:
    """The atoms that make a record relevant: all that no NOT governs."""
    positive = [True]
    for step in reversed(steps):
        wanted = positive.pop()
        if isinstance(step, Leaf):
            if wanted and step.atom is not None and step.bits:
                yield step.atom
        elif step is Operator.COMPLEMENT:
            positive.append(False)
        else:
            positive += [wanted, wanted and step is not Operator.NOT]


def render(steps: Sequence[Step]) -> str:
    """The query as PubMed writes it: fields spelt out, parentheses where order needs them."""
    stack: list[tuple[deque[str], Operator | None]] = []
    for step in steps:
        if isinstance(step, Leaf):
            stack.append((deque((step.label,)), None))
        elif step is Operator.COMPLEMENT:
            text, inner = stack.pop()
            _wrap(text, inner is not None)
            text.appendleft("all[sb] NOT ")
            stack.append((text, Operator.NOT))
        else:
            right, right_operator = stack.pop()
            left, left_operator = stack.pop()
            _wrap(left, left_operator not in (None, step))
            _wrap(
                right,
                right_operator is not None and (right_operator is not step or step is Operator.NOT),
            )
            stack.append((_concatenate(left, f" {step.value} ", right), step))
    return "".join(stack[0][0])


def _wrap(text: deque[str], needed: bool) -> None:
    if needed:
        text.appendleft("(")
        text.append(")")


def _concatenate(left: deque[str], middle: str, right: deque[str]) -> deque[str]:
    """Moves the shorter side, so that no shape of tree costs more than n log n."""
    if len(left) >= len(right):
        left.append(middle)
        left.extend(right)
        return left
    right.appendleft(middle)
    right.extendleft(reversed(left))
    return right
