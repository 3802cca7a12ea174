"""A parsed query: a tree written in postfix order, so that no depth is too deep.

`(a OR b) NOT c` is `a b OR c NOT`: operands first, then what joins them. PubMed and Ovid share it;
a language writes only the nodes that it has. Positions do not count in comparisons.

A word of a term is letters and digits, or a pattern over the index's words: a `*` at its end stands
for any ending, `*2` for an ending of at most two characters, `?` for at most one character, `#` for
exactly one.
"""

import dataclasses
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
    than one where a hyphen or an apostrophe joins them. A quoted term is one piece.
    `qualifier` is the subheading of `heading/subheading`; `explode` False is `:noexp`, or an Ovid
    heading without `exp`. Both mean nothing outside the fields of controlled vocabularies.
    """

    text: str = dataclasses.field(compare=False)
    pieces: tuple[tuple[str, ...], ...]
    position: int = dataclasses.field(compare=False)
    field: Field | None = None
    quoted: bool = False
    explode: bool = True
    qualifier: str = ""


@dataclass(frozen=True, slots=True)
class Near:
    """Words that stand near each other in one value of a text field: no mapping, no explosion.

    Each of `groups` is a set of alternative words or patterns. `slop` N: in any order, with at most
    N other words between (`"a b"[ti:~N]`; Ovid's `adjM` is N = M - 1); None: side by side in this
    order.
    """

    text: str = dataclasses.field(compare=False)
    groups: tuple[tuple[str, ...], ...]
    slop: int | None
    position: int = dataclasses.field(compare=False)
    field: Field


@dataclass(frozen=True, slots=True)
class DateRange:
    """Days from `start` to `end` in the date column of `field`, both included.

    `last` (N, "day" | "week" | "month" | "year") counts back from the day of the search, with
    `start` and `end` None. All three None: the text is no date. `field` None: publication.
    """

    text: str = dataclasses.field(compare=False)
    start: date | None
    end: date | None
    position: int = dataclasses.field(compare=False)
    field: Field | None = None
    last: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Ids:
    """Records by their ids, any of them."""

    ids: tuple[str, ...]
    position: int = dataclasses.field(compare=False)


@dataclass(frozen=True, slots=True)
class History:
    """`#number`: the result of an earlier query of the same session, 1 the first."""

    number: int
    position: int = dataclasses.field(compare=False)


Operand = Term | Near | DateRange | Ids | History
Node = Operand | Operator


@dataclass(frozen=True, slots=True)
class Tree:
    """`nodes` in postfix order (never empty), and what was tolerated while parsing.

    `position` is where the first of them stands in the query. A PubMed node's own position counts
    from the start of its operand, since equal operands share their nodes; that of a `History` and
    all of Ovid's count from the start of the query.
    """

    nodes: tuple[Node, ...]
    warnings: tuple[str, ...] = ()
    position: int | None = dataclasses.field(default=None, compare=False)
