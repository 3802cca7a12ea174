"""A query tree to PubMed's own syntax, and what the translation could not keep.

PubMed has no truncation inside a phrase or a proximity search, no wildcard within a word, and
proximity in titles, abstracts and affiliations only (PubMed Help, "Proximity searching",
"Truncating search terms"). Where the tree says more, the nearest wider text is written and named in
`warnings`.
"""

import itertools
from collections import deque
from dataclasses import dataclass, field
from datetime import date

from actors.search.ovid.parser import parse
from actors.search.pubmed.fields import (
    FIELDS,
    NEAR_FIELDS,
    SHORT_TAGS,
    TITLE_ABSTRACT,
    Field,
)
from actors.search.pubmed.plan import concatenate, wrap
from actors.search.pubmed.terms import MIN_TRUNCATED
from actors.search.pubmed.tree import (
    DateRange,
    History,
    Ids,
    Near,
    Node,
    Operator,
    Term,
    Tree,
)
from actors.search.types import QueryError

MAX_VARIANTS = 1_000
"""Terms that one term may be written out to."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BY_LABEL = {one.label: one for one in FIELDS}


@dataclass(frozen=True, slots=True)
class PubMedText:
    """A PubMed query, and in words where it searches more or less than the tree it is from."""

    text: str
    warnings: tuple[str, ...] = ()


def to_pubmed(query: str) -> PubMedText | QueryError:
    """The PubMed query that an Ovid search stands for, or why the search cannot be read."""
    tree = parse(query)
    if isinstance(tree, QueryError):
        return tree
    rendered = render(tree)
    return PubMedText(rendered.text, (*tree.warnings, *rendered.warnings))


def render(tree: Tree) -> PubMedText:
    """`tree` in PubMed's syntax. PubMed reads from left to right: parentheses say the rest."""
    renderer = _Renderer()
    stack: list[tuple[deque[str], Operator | None]] = []
    for node in tree.nodes:
        if node is Operator.COMPLEMENT:
            text, operator = stack.pop()
            wrap(text, operator is not None)
            text.appendleft("NOT ")
            stack.append((text, Operator.COMPLEMENT))
        elif isinstance(node, Operator):
            right, right_operator = stack.pop()
            left, left_operator = stack.pop()
            wrap(left, left_operator not in (None, node))
            wrap(right, right_operator is not None)
            stack.append((concatenate(left, f" {node.value} ", right), node))
        else:
            stack.append((deque((renderer.leaf(node),)), None))
    return PubMedText("".join(stack[0][0]), tuple(renderer.warnings))


@dataclass(slots=True)
class _Renderer:
    warnings: dict[str, None] = field(default_factory=dict)

    def warn(self, message: str) -> None:
        self.warnings[message] = None

    def leaf(self, node: Node) -> str:
        if isinstance(node, Near):
            return self.near(node)
        if isinstance(node, DateRange):
            return self.dates(node)
        if isinstance(node, Ids):
            return _any([f"{one}[uid]" for one in node.ids])
        if isinstance(node, History):
            return f"#{node.number}"
        assert isinstance(node, Term)
        return self.term(node)

    def tag(self, wanted: Field) -> str:
        """The tag of `wanted`, or of PubMed's field of that name."""
        known = _BY_LABEL[wanted.label]
        if known != wanted:
            more = sorted({*known.stores} - {*wanted.stores})
            less = sorted({*wanted.stores} - {*known.stores})
            for difference, words in ((more, "also"), (less, "not")):
                if difference:
                    self.warn(f"[{SHORT_TAGS[known]}] searches {words} {', '.join(difference)}")
        return SHORT_TAGS[known]

    def term(self, term: Term) -> str:
        if term.field is None:
            words = " ".join("-".join(piece) for piece in term.pieces)
            return f'"{words}"' if term.quoted else words
        tag = self.tag(term.field)
        if term.field.kind == "text":
            return self.words(term, tag)
        value = " ".join(word for piece in term.pieces for word in piece)
        value = self.truncated(value) if "*" in value else value
        if term.qualifier:
            value = f"{value}/{term.qualifier}"
        if not term.explode and term.field.kind == "mesh":
            tag += ":noexp"
        return f'"{value}"[{tag}]' if term.quoted else f"{value}[{tag}]"

    def words(self, term: Term, tag: str) -> str:
        if len(term.pieces) == 1 and len(term.pieces[0]) == 1 and not term.quoted:
            return _any([f"{word}[{tag}]" for word in self.variants(term.pieces[0][0])])
        text = " ".join("-".join(piece) for piece in term.pieces)
        return f'"{text}"[{tag}]' if term.quoted else f"{text}[{tag}]"

    def variants(self, word: str) -> list[str]:
        """`word` without wildcards within: each letter that may stand there is written out."""
        marks = word.count("?") + word.count("#")
        if not marks:
            return [self.truncated(word)]
        self.warn(f"{word}: ? and # written out with letters only")
        if 27**marks > MAX_VARIANTS:
            stem = word[: min(i for i in (word.find("?"), word.find("#")) if i >= 0)]
            self.warn(f"{word}: too many wildcards, searched as {stem}*")
            return [self.truncated(f"{stem}*")]
        parts: list[tuple[str, ...]] = []
        for char in word:
            optional = ("", *_LETTERS)
            parts.append(optional if char == "?" else optional[1:] if char == "#" else (char,))
        return [self.truncated("".join(c), word) for c in itertools.product(*parts)]

    def truncated(self, word: str, written: str = "") -> str:
        stem, star, most = word.partition("*")
        if not star:
            return word
        if most:
            self.warn(f"{written or word}: PubMed's * stands for an ending of any length")
        if len(stem.split(" ")[-1]) < MIN_TRUNCATED:
            self.warn(f"{written or word}: * needs {MIN_TRUNCATED} characters before it: dropped")
            return stem
        return f"{stem}*"

    def near(self, near: Near) -> str:
        """Phrases and proximities written out; words joined by AND where PubMed has neither."""
        count = 1
        for group in near.groups:
            count *= len(group)
        middle = [word for group in near.groups[:-1] for word in group]
        last = near.groups[-1] if near.slop is None else ()
        everywhere = middle if near.slop is None else [*middle, *near.groups[-1]]
        plain = not any("*" in w or "?" in w or "#" in w for w in everywhere) and not any(
            "?" in w or "#" in w or len(w.partition("*")[0]) < MIN_TRUNCATED
            for w in last
            if "*" in w or "?" in w or "#" in w
        )
        if not plain or count > MAX_VARIANTS:
            self.warn(f"{near.text}: words that stand near each other searched anywhere (AND)")
            tag = self.tag(near.field)
            groups = [
                _any([f"{v}[{tag}]" for word in group for v in self.variants(word)])
                for group in near.groups
            ]
            return f"({' AND '.join(groups)})"
        slop = ""
        field_ = near.field
        if near.slop is not None:
            if field_.label not in NEAR_FIELDS:
                field_ = TITLE_ABSTRACT
                self.warn("proximity is for titles and abstracts: [tiab] in place of other fields")
            slop = f":~{near.slop}"
        tag = self.tag(field_) + slop
        return _any(
            [
                f'"{" ".join([*chosen[:-1], self.truncated(chosen[-1])])}"[{tag}]'
                for chosen in itertools.product(*near.groups)
            ]
        )

    def dates(self, node: DateRange) -> str:
        tag = self.tag(node.field) if node.field else "dp"
        if node.last is not None:
            return f'"last {node.last[0]} {node.last[1]}s"[{tag}]'
        if node.start is None or node.end is None:
            return f"{node.text}[{tag}]"
        return f"{_day(node.start)}:{_day(node.end)}[{tag}]"


def _day(day: date) -> str:
    if day == date.max:
        return "3000"
    return f"{day.year:04d}/{day.month:02d}/{day.day:02d}"


def _any(texts: list[str]) -> str:
    texts = list(dict.fromkeys(texts))
    return texts[0] if len(texts) == 1 else f"({' OR '.join(texts)})"
