"""A whole Ovid search, one line or many, to one query tree.

A line may refer to earlier ones; the last line is the result. Lines in PubMed's own syntax (review
authors mix both) are read by PubMed's parser. What Ovid would refuse is a QueryError with the
place; what it would shrug off, or what no index here can answer, is a warning.
"""

import dataclasses
import re
from collections.abc import Sequence

from actors.search.ovid.detect import is_pubmed_line, is_pubmed_strategy
from actors.search.ovid.fields import DATES
from actors.search.ovid.grammar import READY, parse_tokens
from actors.search.ovid.lexer import CLOSE, OPEN, OPERATOR, Token, lex, plain
from actors.search.ovid.limits import days, limit_items, limit_syntax
from actors.search.ovid.lines import Line, split_lines
from actors.search.ovid.lowering import Lowering, MissingLineError, OvidError, date_range
from actors.search.pubmed.parser import parse as parse_pubmed
from actors.search.pubmed.tree import History, Node, Operator, Tree
from actors.search.types import QueryError

_LIMIT = re.compile(
    r"\s*(?:limit|\.\.l/?)\s*#?\s*(?P<line>\d{1,6})\s*(?:to\b|\s)\s*(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_DUPLICATES = re.compile(r"\s*remove\s+duplicates\s+from\s+#?(?P<line>\d{1,6})\s*", re.IGNORECASE)
_KEEP = re.compile(r"\s*from\s+#?(?P<line>\d{1,6})\s+keep\s[\d,\s–-]+", re.IGNORECASE)
_PUBMED_LIMITS = re.compile(r"(?<!\s)\s+limits?\s*:\s*(?P<what>.*)", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(r"(\d{4}(?:/\d{1,2}){0,2})\s*(?:to|:)\s*(\d{4}(?:/\d{1,2}){0,2})")
MAX_LINES = 5_000
MAX_LIMITS = 500
"""Parts of one `limit` line."""
MAX_TOTAL_NODES = 1_000_000
"""Nodes of all lines together, each with the lines put in that it refers to."""
_SETS_ONLY = re.compile(r"(?:\d|and|or|not|[\s()#])+", re.IGNORECASE)


def parse(query: str) -> Tree | QueryError:
    """The tree of an Ovid search, or why it cannot be run. Never raises, whatever the text."""
    try:
        return _Strategy(query).run()
    except OvidError as error:
        return QueryError(str(error), query, error.position)


def _why_missing(number: int, line: Line, lines: Sequence[Line]) -> str:
    """What Ovid would refuse: a set that does not exist when the line is run."""
    if number == line.number:
        return f"line {number} refers to itself"
    if any(one.number == number for one in lines):
        return f"line {line.number} refers to line {number}, which comes later or holds nothing"
    return f"line {line.number} refers to line {number}, which does not exist"


class _Strategy:
    def __init__(self, query: str) -> None:
        self.query = query
        self.text = plain(query)
        self.lines: dict[int, tuple[Node, ...]] = {}
        self.warnings: dict[str, None] = {}

    def run(self) -> Tree | QueryError:
        lines, skipped = split_lines(self.text)
        for text in skipped:
            self.warn(f"no search in: {text}")
        pubmed = is_pubmed_strategy([self.text[one.start : one.end] for one in lines])
        if len(lines) > MAX_LINES:
            raise OvidError(f"more than {MAX_LINES} lines", lines[MAX_LINES].start)
        nodes: tuple[Node, ...] = ()
        total = 0
        for line in lines:
            try:
                nodes = self.line(line, pubmed)
            except MissingLineError as error:
                raise OvidError(_why_missing(error.number, line, lines), error.position) from None
            total += len(nodes)
            if total > MAX_TOTAL_NODES:
                raise OvidError(
                    f"the lines refer to each other too often: more than {MAX_TOTAL_NODES} terms "
                    "and operators in all",
                    line.start,
                )
            if nodes:
                self.lines[line.number] = nodes
            elif line is not lines[-1]:
                self.warn(f"line {line.number} holds nothing to search for")
        if not nodes:
            position = lines[-1].start if lines else 0
            return QueryError("the query holds nothing to search for", self.query, position)
        return Tree(nodes, tuple(self.warnings))

    def warn(self, message: str, kind: str = "OutputMessage") -> None:
        self.warnings[f"{kind}: {message}"] = None

    def line(self, line: Line, pubmed: bool) -> tuple[Node, ...]:
        if found := _LIMIT.fullmatch(self.text, line.start, line.end):
            return self.limit(found)
        if found := _DUPLICATES.fullmatch(self.text, line.start, line.end):
            return self.earlier(found)
        if found := _KEEP.fullmatch(self.text, line.start, line.end):
            self.warn(f"keep takes records by their place in a list: all of {found['line']} kept")
            return self.earlier(found)
        text = self.text[line.start : line.end]
        if _SETS_ONLY.fullmatch(text) is None and is_pubmed_line(text, pubmed):
            return self.pubmed(text, line.start)
        return self.ovid(*lex(self.text, line.start, line.end))

    def ovid(self, tokens: Sequence[Token], messages: Sequence[str] = ()) -> tuple[Node, ...]:
        expression, more = parse_tokens(tokens)
        for message in (*messages, *more):
            self.warn(message)
        if expression is None:
            return ()
        return Lowering(self.lines, self.warn).run(expression)

    def earlier(self, found: "re.Match[str]") -> tuple[Node, ...]:
        nodes = self.lines.get(int(found["line"]))
        if nodes is None:
            raise MissingLineError(int(found["line"]), found.start("line"))
        return nodes

    def limit(self, found: "re.Match[str]") -> tuple[Node, ...]:
        base = self.earlier(found)
        offset = found.start("what")
        tokens = []
        for count, (kind, key, value, at) in enumerate(limit_items(found["what"])):
            position = offset + at
            if count == MAX_LIMITS:
                raise OvidError(f"more than {MAX_LIMITS} parts in one limit", position)
            if kind == "mark":
                name = {"(": OPEN, ")": CLOSE}.get(value, OPERATOR)
                tokens.append(Token(name, value.upper(), position))
            elif nodes := self.restriction(kind, key, value, position):
                tokens.append(Token(READY, value, position, nodes))
        expression, _ = parse_tokens(tokens)
        if expression is None:
            return base
        nodes = Lowering(self.lines, self.warn).run(expression)
        return (*base, *nodes, Operator.AND) if nodes else base

    def restriction(self, kind: str, key: str, value: str, position: int) -> tuple[Node, ...]:
        if kind == "date":
            if key in DATES and days(value) is not None:
                return (date_range(value, key, position),)
            self.warn(f"limit ignored: {key}={value}")
            return ()
        syntax = limit_syntax(value)
        if syntax is None:
            self.warn(f"limit ignored: {value}")
            return ()
        tokens, _ = lex(syntax)
        return self.ovid([token._replace(position=position) for token in tokens])

    def pubmed(self, text: str, start: int) -> tuple[Node, ...]:
        """A line in PubMed's syntax, with its `Limits:` and references to other lines."""
        dates = ""
        if limits := _PUBMED_LIMITS.search(text):
            if between := _BETWEEN.search(limits["what"]):
                dates = f" AND {between[1]}:{between[2]}[dp]"
            else:
                self.warn(f"limit ignored: {limits['what'].strip()}")
            text = text[: limits.start()]
        tree = parse_pubmed(f"({text}){dates}" if dates else text)
        if isinstance(tree, QueryError):
            if not text.strip() or "nothing to search" in tree.message:
                return ()
            raise OvidError(tree.message, start + (tree.position or 0))
        for warning in tree.warnings:
            self.warnings[warning] = None
        out: list[Node] = []
        for node in tree.nodes:
            if isinstance(node, History):
                nodes = self.lines.get(node.number)
                if nodes is None:
                    raise MissingLineError(node.number, start + node.position)
                out += nodes
            elif isinstance(node, Operator):
                out.append(node)
            else:
                out.append(dataclasses.replace(node, position=start + node.position))
        return tuple(out)
