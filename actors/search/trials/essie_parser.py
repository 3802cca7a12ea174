"""Reads Essie expressions without recursion; faults are worded as the service words them.

Words side by side are one term; operands side by side are ANDed, as in `bethesda NOT maryland`.
Older names: COVER = COVERAGE, EXPAND = EXPANSION. Operators count in capitals only.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from actors.search.trials.essie import (
    COVERAGES,
    DOCUMENTS,
    EXPANSIONS,
    OPERATORS,
    All,
    And,
    Context,
    Distance,
    EssieError,
    Expression,
    Missing,
    Node,
    Not,
    Or,
    Range,
    Term,
    Unary,
    Word,
)

_CONTEXTS = {
    "AREA": "AREA",
    "SEARCH": "SEARCH",
    "COVERAGE": "COVERAGE",
    "COVER": "COVERAGE",
    "EXPANSION": "EXPANSION",
    "EXPAND": "EXPANSION",
    "TILT": "TILT",
}
_CHOICES = {"SEARCH": DOCUMENTS, "COVERAGE": COVERAGES, "EXPANSION": EXPANSIONS}
_STARTS = "'(', 'NOT', 'SEARCH', 'AREA', 'COVERAGE', 'EXPANSION', 'TILT', 'RANGE', 'DISTANCE', \
'MISSING', 'ALL', WORD, QUOTED"
_FOLLOWS = "<EOF>, '(', 'NOT', 'AND', 'OR', 'SEARCH', 'AREA', 'COVERAGE', 'EXPANSION', 'TILT', \
'RANGE', 'DISTANCE', 'MISSING', 'ALL', WORD, QUOTED"
_SOURCES: dict[str, Callable[..., Node]] = {
    "MISSING": Missing,
    "ALL": All,
    "RANGE": Range,
    "DISTANCE": Distance,
}
_PLAIN = re.compile(r'[^\s()\[\]"\\]+')
_QUOTES = {"“": '"', "”": '"', "„": '"', "＂": '"'}


@dataclass(slots=True)
class _Token:
    kind: str  # "word", "quoted", an operator, "(", ")", "[", "]" or "" at the end
    text: str
    start: int
    values: tuple[str, ...] = ()


def _parameter(text: str, at: int) -> tuple[str, int]:
    """The text in square brackets that begins at or after blanks from `at`, and its end."""
    while at < len(text) and text[at].isspace():
        at += 1
    shown = text[at : at + 1] or "<EOF>"
    if shown != "[":
        raise EssieError(f"mismatched input '{shown}' expecting '['", at)
    end = text.find("]", at)
    if end < 0:
        raise EssieError("missing ']' at '<EOF>'", at)
    return text[at + 1 : end], end + 1


def _quoted(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    i = at + 1
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text):
            out.append(text[i + 1])
            i += 2
        elif text[i] == '"':
            return "".join(out), i + 1
        else:
            out.append(text[i])
            i += 1
    raise EssieError(f"token recognition error at: '{text[at : at + 60]}'", at)


def _operator(name: str, text: str, start: int, end: int) -> tuple[_Token, int]:
    """The token of operator `name` with its parameters, and where it ends."""
    if name not in _CONTEXTS and name not in ("RANGE", "DISTANCE"):
        return _Token(name, name, start), end
    inner, after = _parameter(text, end)
    values = tuple(part.strip() for part in inner.split(","))
    written = f"{name}[{inner}]"
    want = {"RANGE": 2, "DISTANCE": 3}.get(name, 1)
    if len(values) != want or not all(values):
        named = {2: "two values", 3: "latitude, longitude and radius"}.get(want, "one name")
        raise EssieError(f"mismatched input '{written}' expecting {named}", start)
    operator = _CONTEXTS.get(name, name)
    choices = _CHOICES.get(operator)
    if choices and values[0] not in choices:
        listed = ", ".join(f"'{choice}'" for choice in choices)
        place = text.find(values[0], start + len(name))
        raise EssieError(f"mismatched input '{values[0]}' expecting {{{listed}}}", place)
    return _Token(operator, written, start, values), after


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c.isspace():
            i += 1
        elif c in "()[]":
            tokens.append(_Token(c, c, i))
            i += 1
        elif c == '"':
            inner, end = _quoted(text, i)
            tokens.append(_Token("quoted", inner, i))
            i = end
        else:
            plain = _PLAIN.match(text, i)
            if plain and text[plain.end() : plain.end() + 1] != "\\":
                word, start, i = plain[0], i, plain.end()
                if word in OPERATORS:
                    token, i = _operator(word, text, start, i)
                    tokens.append(token)
                else:
                    tokens.append(_Token("word", word, start))
                continue
            start, out = i, []
            while i < len(text) and not (text[i].isspace() or text[i] in '()[]"'):
                if text[i] == "\\":
                    i += 1
                    if i == len(text):
                        break
                out.append(text[i])
                i += 1
            word = "".join(out)
            if word:
                tokens.append(_Token("word", word, start))
    tokens.append(_Token("", "<EOF>", len(text)))
    return tokens


@dataclass(slots=True)
class _Group:
    """What stands open between two parentheses."""

    start: int
    unary: list[tuple[Unary, int]] = field(default_factory=list)  # still without an operand
    conjuncts: int = 0  # of the AND expression that is being read
    disjuncts: int = 0
    wants: bool = True  # an operand must follow


class _Parser:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.positions: list[int] = []
        self.groups = [_Group(0)]

    def emit(self, node: Node, position: int) -> None:
        self.nodes.append(node)
        self.positions.append(position)

    def unary(self, pending: list[tuple[Unary, int]]) -> None:
        while pending:
            self.emit(*pending.pop())

    def operand(self, count: int = 1) -> None:
        """An operand (or `count` conjuncts) of the open group is complete, but for its unaries."""
        group = self.groups[-1]
        self.unary(group.unary)
        group.conjuncts += count
        group.wants = False

    def close_and(self, group: _Group) -> None:
        if group.conjuncts > 1:
            self.emit(And(group.conjuncts), group.start)
        group.conjuncts = 0

    def disjunct(self) -> None:
        """The AND expression before an OR, or before the end, is complete."""
        group = self.groups[-1]
        last = self.nodes[-1]
        if group.conjuncts == 1 and isinstance(last, Or):  # `(a OR b) OR c` is one list
            group.disjuncts += last.arity
            self.nodes.pop()
            self.positions.pop()
            group.conjuncts = 0
        else:
            self.close_and(group)
            group.disjuncts += 1
        group.wants = True

    def close(self) -> None:
        """The innermost parenthesis closes: its content becomes an operand of the one around."""
        inner = self.groups[-1]
        self.disjunct()
        if inner.disjuncts > 1:
            self.emit(Or(inner.disjuncts), inner.start)
        self.groups.pop()
        if not self.groups:
            return
        group = self.groups[-1]
        last = self.nodes[-1]
        if isinstance(last, And) and not group.unary:  # `(a AND b) AND c` is one list
            self.nodes.pop()
            self.positions.pop()
            self.operand(last.arity)
        else:
            self.operand()


def _fault(token: _Token, expecting: str) -> EssieError:
    return EssieError(f"mismatched input '{token.text}' expecting {{{expecting}}}", token.start)


def parse(text: str) -> Expression:
    """The tree of `text`. Raises EssieError with the place of the first fault.

    A blank text is a fault too: callers that allow none ask beforehand.
    """
    for curly, straight in _QUOTES.items():
        text = text.replace(curly, straight)
    parser = _Parser()
    tokens = _tokens(text)
    i = 0
    while True:
        token = tokens[i]
        i += 1
        group = parser.groups[-1]
        match token.kind:
            case "word" | "quoted":
                words = [Word(token.text, token.kind == "quoted")]
                while tokens[i].kind in ("word", "quoted"):
                    words.append(Word(tokens[i].text, tokens[i].kind == "quoted"))
                    i += 1
                parser.emit(Term(tuple(words)), token.start)
                parser.operand()
            case "MISSING" | "ALL" | "RANGE" | "DISTANCE":
                parser.emit(_SOURCES[token.kind](*token.values), token.start)
                parser.operand()
            case "NOT":
                group.unary.append((Not(), token.start))
                group.wants = True
            case "AREA" | "COVERAGE" | "EXPANSION" | "SEARCH" | "TILT":
                group.unary.append((Context(token.kind, token.values[0]), token.start))
                group.wants = True
            case "(":
                parser.groups.append(_Group(token.start))
            case ")":
                if group.wants:
                    raise _fault(token, _STARTS)
                if len(parser.groups) == 1:
                    raise EssieError("extraneous input ')' expecting <EOF>", token.start)
                parser.close()
            case "AND":
                if group.wants:
                    raise _fault(token, _STARTS)
                while tokens[i].kind == "AND":
                    i += 1
                group.wants = True
            case "OR":
                if group.wants:
                    raise _fault(token, _STARTS)
                parser.disjunct()
            case "":
                if group.wants:
                    raise _fault(token, _STARTS)
                if len(parser.groups) > 1:
                    raise EssieError("missing ')' at '<EOF>'", token.start)
                parser.close()
                return Expression(tuple(parser.nodes), tuple(parser.positions))
            case _:
                raise _fault(token, _STARTS if group.wants else _FOLLOWS)
