"""A parsed PubMed query: a tree written in postfix order, so that no depth is too deep.

`(a OR b) NOT c` is `a b OR c NOT`: operands first, then what joins them.
"""

from dataclasses import dataclass
from datetime import date
from enum import Enum

from actors.search.pubmed.fields import Field


class Operator(Enum):
    """AND, OR and NOT take two operands; COMPLEMENT, a NOT with nothing before it, takes one."""

    AND = "AND"
    OR = "OR"
    NOT = "NOT"
    COMPLEMENT = "COMPLEMENT"


@dataclass(frozen=True, slots=True)
class Term:
    """Words that one tag governs. `field` None means that there was no tag.

    `pieces` are the parts that white space and punctuation separate, each a tuple of words: more
    than one where a hyphen or an apostrophe joins them. A last word in `*` is truncated.
    A quoted term is one piece.
    """

    text: str
    pieces: tuple[tuple[str, ...], ...]
    position: int
    field: Field | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class DateRange:
    """Publication dates from `start` to `end`, both included; None when the text is no date."""

    text: str
    start: date | None
    end: date | None
    position: int


Node = Term | DateRange | Operator


@dataclass(frozen=True, slots=True)
class Tree:
    """`nodes` in postfix order (never empty), and what was tolerated while parsing."""

    nodes: tuple[Node, ...]
    warnings: tuple[str, ...] = ()
