"""PubMed query to tree. Any text gives a tree or a QueryError; nesting costs no recursion.

Operators apply strictly from left to right, without precedence; what stands side by side is ANDed,
except words, which form one term first: `a b OR c d` is `(a AND b) OR (c AND d)`.
Tolerated with a warning: unbalanced parentheses, quotation marks and brackets; operators that lack
an operand; of operators in a row the last one counts. A NOT with nothing before it is read as "all
records but". Operands that hold nothing, such as `[pdat]` or `()`, are absent, and so is the
operator before them; a query of nothing else is an error.
"""

import dataclasses
import re
from dataclasses import dataclass, field
from itertools import islice

from actors.search.pubmed.lexer import parts, starts
from actors.search.pubmed.operands import read_operand
from actors.search.pubmed.tree import History, Ids, Node, Operator, Tree
from actors.search.types import QueryError

_PMIDS = re.compile(r"[0-9]+[,;]?(?:\s+[0-9]+[,;]?)*")
_OPERATORS = {
    "AND": Operator.AND,
    "&": Operator.AND,
    "OR": Operator.OR,
    "|": Operator.OR,
    "NOT": Operator.NOT,
}


def parse(query: str) -> Tree | QueryError:
    """The tree of `query`, or why it cannot be run."""
    found = parts(query)
    if len(found) == 1 and _PMIDS.fullmatch(found[0]):
        ids = tuple(word.rstrip(",;") for word in found[0].split())
        return Tree((Ids(ids, 0),), position=next(starts(query)))
    positions = list(starts(query)) if "#" in query else []
    return _Parser(query, found, positions).run()


@dataclass(slots=True)
class _Parser:
    """Joins operands. `filled` and `operator` are of the innermost open parenthesis.

    They say whether it has an operand so far, and which operator waits for the next one; `outer`
    holds the same of those around it.
    """

    query: str
    parts: list[str]
    positions: list[int]  # of the parts, where there may be history entries
    out: list[Node] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    outer: list[tuple[bool, Operator | None]] = field(default_factory=list)
    filled: bool = False
    operator: Operator | None = None
    first: tuple[int, int] = (0, 0)  # of the node put out first: its part, its position in it

    def run(self) -> Tree | QueryError:
        for number, part in enumerate(self.parts):
            if part in _OPERATORS:
                self.operate(_OPERATORS[part])
            elif part == "(":
                self.outer.append((self.filled, self.operator))
                self.filled, self.operator = False, None
            elif part == ")":
                self.close()
            else:
                self.operand(number, part)
        if self.outer:
            self.warn("unbalanced parentheses: missing ) added")
            while self.outer:
                self.close()
        self.drop_operator()
        if not self.out:
            why = f" ({'; '.join(self.warnings)})" if self.warnings else ""
            message = f"the query is blank: it holds nothing to search for{why}"
            return QueryError(message, self.query, self.start(0))
        first, offset = self.first
        position = self.start(first) + offset
        return Tree(tuple(self.out), tuple(self.warnings), position)

    def start(self, number: int) -> int:
        """Where a part begins in the query."""
        return next(islice(starts(self.query), number, None), 0)

    def warn(self, message: str, kind: str = "OutputMessage") -> None:
        self.warnings[f"{kind}: {message}"] = None

    def close(self) -> None:
        if not self.outer:
            self.warn("unbalanced parentheses: extra ) ignored")
            return
        self.drop_operator()
        filled = self.filled
        self.filled, self.operator = self.outer.pop()
        if filled:
            self.join()
        else:
            self.operator = None

    def operate(self, operator: Operator) -> None:
        if not self.filled and operator is not Operator.NOT:
            self.warn("operator without a term before it ignored")
            return
        if self.operator is not None:
            self.warn("of several operators in a row the last one counts")
        self.operator = operator

    def drop_operator(self) -> None:
        if self.operator is not None:
            self.warn("operator without a term after it ignored")
            self.operator = None

    def operand(self, number: int, text: str) -> None:
        """Put out what an operand says. If it holds nothing, so is the operator before it."""
        for said in read_operand(text):
            if said is None:
                self.operator = None
            elif isinstance(said, str):
                self.warnings[said] = None
            else:
                if not self.out:
                    self.first = number, said.position
                if self.positions and isinstance(said, History):
                    position = self.positions[number] + said.position
                    said = dataclasses.replace(said, position=position)
                self.out.append(said)
                self.join()

    def join(self) -> None:
        """What was last put out becomes an operand of the group."""
        if self.filled:
            self.out.append(self.operator or Operator.AND)
        elif self.operator is Operator.NOT:
            self.warn("NOT without a term before it read as: all records NOT")
            self.out.append(Operator.COMPLEMENT)
        self.filled, self.operator = True, None
