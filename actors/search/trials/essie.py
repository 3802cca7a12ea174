"""The Essie expression language: text to tree and back, of any size and depth.

A tree is a tuple in postfix order: operands first, then the operator with the number it takes, so
that no step recurses and equal trees are equal tuples. Grammar and precedence:
https://clinicaltrials.gov/find-studies/constructing-complex-search-queries
"""

from dataclasses import dataclass
from typing import NamedTuple

COVERAGES = ("Contains", "FullMatch", "StartsWith", "EndsWith")
EXPANSIONS = ("None", "Term", "Concept", "Relaxation", "Lossy")
DOCUMENTS = ("Study", "Location")
OPERATORS = frozenset(
    "AND OR NOT AREA SEARCH COVERAGE COVER EXPANSION EXPAND TILT RANGE DISTANCE MISSING ALL".split()
)


class Word(NamedTuple):
    """A piece of a term as written: one word, or all that stood in quotation marks."""

    text: str
    quoted: bool = False


class Term(NamedTuple):
    """Words to be found, side by side in the query."""

    words: tuple[Word, ...]


class Range(NamedTuple):
    """Values from `low` to `high` as written; MIN and MAX leave an end open."""

    low: str
    high: str


class Distance(NamedTuple):
    """Places within `radius` (number and unit) of a point in degrees, all as written."""

    latitude: str
    longitude: str
    radius: str


class Missing(NamedTuple):
    """No value in the area."""

    name: str = "MISSING"


class All(NamedTuple):
    """Every study."""

    name: str = "ALL"


class Not(NamedTuple):
    """All but the operand."""

    name: str = "NOT"


class Context(NamedTuple):
    """`AREA`, `COVERAGE`, `EXPANSION`, `SEARCH` or `TILT` with its parameter, over the operand."""

    operator: str
    value: str


class And(NamedTuple):
    """All of the `arity` operands."""

    arity: int
    name: str = "AND"


class Or(NamedTuple):
    """Any of the `arity` operands."""

    arity: int
    name: str = "OR"


Leaf = Term | Range | Distance | Missing | All
Unary = Not | Context
Node = Leaf | Unary | And | Or
LEAVES = (Term, Range, Distance, Missing, All)


@dataclass(frozen=True, slots=True)
class Expression:
    """A tree in postfix order; `positions` are its nodes' offsets in the text that it came from."""

    nodes: tuple[Node, ...]
    positions: tuple[int, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.nodes == other.nodes

    def __hash__(self) -> int:
        return hash(self.nodes)


class EssieError(ValueError):
    """The expression cannot be read or run; `position` is the offset of the fault, if one place."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


_SPECIAL = frozenset('()[]"\\')


def _written(word: Word) -> str:
    if word.quoted:
        return '"' + word.text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = "".join("\\" + c if c in _SPECIAL or c.isspace() else c for c in word.text)
    return "\\" + text if text in OPERATORS else text


def _leaf(node: Leaf) -> str:
    if isinstance(node, Term):
        return " ".join(map(_written, node.words))
    if isinstance(node, Range):
        return f"RANGE[{node.low}, {node.high}]"
    if isinstance(node, Distance):
        return f"DISTANCE[{node.latitude}, {node.longitude}, {node.radius}]"
    return node.name


def to_text(expression: Expression) -> str:
    """`expression` as text that `parse` reads back to the same tree."""
    out: list[str] = []  # from the last to the first
    todo: list[str | int] = [0]  # texts, or an operand by the precedence that its place asks for
    nodes = iter(reversed(expression.nodes))
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        node = next(nodes)
        if isinstance(node, LEAVES):
            out.append(_leaf(node))
        elif isinstance(node, Not):
            todo += ["NOT ", 2]
        elif isinstance(node, Context):
            todo += [f"{node.operator}[{node.value}]", 2]
        elif isinstance(node, And | Or):
            level = 1 if isinstance(node, And) else 0
            brackets = item > level
            if brackets:
                todo.append("(")
            for place in range(node.arity):
                if place:
                    todo.append(f" {node.name} ")
                todo.append(level + 1)
            if brackets:
                todo.append(")")
    return "".join(reversed(out))
