"""PubMed query to tree. Any text gives a tree or a QueryError; nesting costs no recursion.

Operators apply strictly from left to right, without precedence; what stands side by side is ANDed,
except words, which form one term first: `a b OR c d` is `(a AND b) OR (c AND d)`.
Tolerated with a warning: unbalanced parentheses, quotation marks and brackets; operators that lack
an operand; of operators in a row the last one counts. A NOT with nothing before it is read as "all
records but". Left out: mapping of terms, explosion, history (`#1`), proximity, relative dates; the
last three give a QueryError.
"""

import re
from dataclasses import dataclass, field
from datetime import date

from actors.search.pubmed.dates import parse_date
from actors.search.pubmed.fields import DATE, UID, Field, field_of
from actors.search.pubmed.lexer import (
    CLOSE,
    COLON,
    OPEN,
    OPERATOR,
    PHRASE,
    STRAY,
    TAG,
    WORD,
    Token,
    lex,
)
from actors.search.pubmed.terms import STOP_WORDS, phrase, pieces
from actors.search.pubmed.tree import DateRange, Node, Operator, Term, Tree
from actors.search.types import QueryError

_PROXIMITY = re.compile(r":\s*~\s*\d+\s*$")
_RELATIVE_DATE = re.compile(r"last\s+\d+\s+(day|week|month|year)s?", re.IGNORECASE)
_HISTORY = re.compile(r"#\d+")
_PMID = re.compile(r"\d+[,;]?", re.ASCII)
_DATE_WORDS = 3  # `2010 Jan 5` is the longest date


class _UnsupportedError(Exception):
    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} is not supported")
        self.position = position


@dataclass(slots=True)
class _Group:
    """An open parenthesis: whether it has an operand so far, and the operator that waits."""

    filled: bool = False
    operator: Operator | None = None


@dataclass(slots=True)
class _Operand:
    """Words or one phrase with the tag that follows; `end` is the index of the token after it."""

    tokens: list[Token]
    tag: Token | None
    field: Field | None
    end: int

    @property
    def quoted(self) -> bool:
        return bool(self.tokens) and self.tokens[0].kind == PHRASE


def parse(query: str) -> Tree | QueryError:
    """The tree of `query`, or why it cannot be run."""
    tokens = lex(query)
    if tokens and all(t.kind == WORD and _PMID.fullmatch(t.text) for t in tokens):
        return Tree((_pmids(tokens),))
    try:
        return _Parser(tokens).run(query)
    except _UnsupportedError as error:
        return QueryError(str(error), query, error.position)


def _pmids(tokens: list[Token]) -> Term:
    ids = [t.text.rstrip(",;") for t in tokens]
    return Term(" ".join(ids), tuple((i,) for i in ids), tokens[0].position, UID)


@dataclass(slots=True)
class _Parser:
    tokens: list[Token]
    out: list[Node] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    warnings: dict[str, None] = field(default_factory=dict)

    def run(self, query: str) -> Tree | QueryError:
        if any(t.kind == STRAY for t in self.tokens):
            self.warn("quotation mark or bracket without its partner ignored")
            self.tokens = [t for t in self.tokens if t.kind != STRAY]
        i = 0
        while i < len(self.tokens):
            token = self.tokens[i]
            if token.kind == OPEN:
                self.groups.append(_Group())
            elif token.kind == CLOSE:
                self.close()
            elif token.kind == OPERATOR:
                self.operator(Operator(token.text))
            else:
                i = self.operand_at(i)
                continue
            i += 1
        if len(self.groups) > 1:
            self.warn("unbalanced parentheses: missing ) added")
            while len(self.groups) > 1:
                self.close()
        self.drop_operator()
        if not self.out:
            position = self.tokens[0].position if self.tokens else 0
            why = f" ({'; '.join(self.warnings)})" if self.warnings else ""
            return QueryError(f"the query holds nothing to search for{why}", query, position)
        return Tree(tuple(self.out), tuple(self.warnings))

    def warn(self, message: str, kind: str = "OutputMessage") -> None:
        self.warnings[f"{kind}: {message}"] = None

    def close(self) -> None:
        if len(self.groups) == 1:
            self.warn("unbalanced parentheses: extra ) ignored")
            return
        self.drop_operator()
        if self.groups.pop().filled:
            self.join()
        else:
            self.blank()

    def operator(self, operator: Operator) -> None:
        group = self.groups[-1]
        if not group.filled and operator is not Operator.NOT:
            self.warn("operator without a term before it ignored")
            return
        if group.operator is not None:
            self.warn("of several operators in a row the last one counts")
        group.operator = operator

    def drop_operator(self) -> None:
        if self.groups[-1].operator is not None:
            self.warn("operator without a term after it ignored")
            self.groups[-1].operator = None

    def blank(self) -> None:
        """An operand that holds nothing is absent, and so is the operator before it."""
        self.groups[-1].operator = None

    def join(self) -> None:
        """What was last put out becomes an operand of the group."""
        group = self.groups[-1]
        if group.filled:
            self.out.append(group.operator or Operator.AND)
        elif group.operator is Operator.NOT:
            self.warn("NOT without a term before it read as: all records NOT")
            self.out.append(Operator.COMPLEMENT)
        group.filled, group.operator = True, None

    def operand_at(self, i: int) -> int:
        """Read a term or a date range that starts at token `i`; the index after it."""
        left = self.scan(i)
        while left.end < len(self.tokens) and self.tokens[left.end].kind == COLON:
            right = self.scan(left.end + 1)
            if DATE in (left.field, right.field):
                return self.range(left, right)
            if left.tag or left.quoted or right.quoted:
                self.term(left)
                return left.end + 1
            left.tokens += right.tokens
            left.tag, left.field, left.end = right.tag, right.field, right.end
        if left.field is DATE and left.tokens:
            words, start, end, text = self.last_date(left)
            if words:
                self.term(_Operand(words, None, None, 0))
            self.date(text, start, end, left.tokens[-1].position)
        else:
            self.term(left)
        return left.end

    def scan(self, i: int) -> _Operand:
        end = i
        if end < len(self.tokens) and self.tokens[end].kind == PHRASE:
            end += 1
        else:
            while end < len(self.tokens) and self.tokens[end].kind == WORD:
                end += 1
        tokens = self.tokens[i:end]
        if end == len(self.tokens) or self.tokens[end].kind != TAG:
            return _Operand(tokens, None, None, end)
        tag = self.tokens[end]
        if _PROXIMITY.search(tag.text):
            raise _UnsupportedError(f"proximity search [{tag.text}]", tag.position)
        known = field_of(tag.text)
        if known is None and tag.text.strip():
            self.warn(tag.text.strip(), "FieldNotFound")
        if not tokens:
            self.warn(f"[{tag.text}] without a term before it ignored")
        return _Operand(tokens, tag, known, end + 1)

    def term(self, operand: _Operand) -> None:
        tokens = operand.tokens
        text = " ".join(token.text for token in tokens)
        if operand.quoted:
            found, ignored = phrase(text)
            parts = [found] if found else []
        else:
            parts, ignored = self.pieces(tokens, operand.tag is None)
        if ignored:
            self.warn(f"truncation ignored in {text}: * needs 4 characters and the end of a word")
        if not parts:
            self.blank()
            return
        self.out.append(Term(text, tuple(parts), tokens[0].position, operand.field, operand.quoted))
        self.join()

    def pieces(self, tokens: list[Token], untagged: bool) -> tuple[list[tuple[str, ...]], bool]:
        parts: list[tuple[str, ...]] = []
        ignored = False
        for token in tokens:
            if token.text[0] == "#" and _HISTORY.fullmatch(token.text):
                raise _UnsupportedError(f"search history ({token.text})", token.position)
            found, bad = pieces(token.text)
            ignored |= bad
            for piece in found:
                if untagged and len(piece) == 1 and piece[0] in STOP_WORDS:
                    self.warn(piece[0], "PhraseIgnored")
                else:
                    parts.append(piece)
        return parts, ignored

    def last_date(self, operand: _Operand) -> tuple[list[Token], date | None, date | None, str]:
        """The date that ends an operand, and the words before it."""
        tokens = operand.tokens
        whole = " ".join(token.text for token in tokens)
        if _RELATIVE_DATE.fullmatch(whole.strip()):
            raise _UnsupportedError(f"the relative date {whole!r}", tokens[0].position)
        for count in range(min(_DATE_WORDS, len(tokens)), 0, -1):
            text = " ".join(token.text for token in tokens[-count:])
            if days := parse_date(text):
                return tokens[:-count], *days, text
        return tokens[:-1], None, None, tokens[-1].text

    def range(self, left: _Operand, right: _Operand) -> int:
        """Put out `left:right`; the index after it. A missing end is open, no ends are blank."""
        starts = any(token.text.strip() for token in left.tokens)
        ends = any(token.text.strip() for token in right.tokens)
        if not starts and not ends:
            self.blank()
            return right.end
        first: date | None = date.min
        last: date | None = date.max
        from_text = to_text = ""
        if starts:
            words, first, _, from_text = self.last_date(left)
            if words:
                self.term(_Operand(words, None, None, 0))
        after = right.end
        if ends:
            used = 1
            last, to_text = None, right.tokens[0].text
            for count in range(min(_DATE_WORDS, len(right.tokens)), 0, -1):
                text = " ".join(token.text for token in right.tokens[:count])
                if days := parse_date(text):
                    used, last, to_text = count, days[1], text
                    break
            if right.tag is None:
                after -= len(right.tokens) - used
            elif used < len(right.tokens):
                self.warn(f"{right.tokens[used].text} ignored after a date")
        position = (left.tokens or right.tokens)[0].position
        self.date(f"{from_text}:{to_text}", first, last, position)
        return after

    def date(self, text: str, start: date | None, end: date | None, position: int) -> None:
        if start is None or end is None:
            start = end = None
        self.out.append(DateRange(text, start, end, position))
        self.join()
