"""One line of an Ovid strategy to tokens with positions. Accepts any text.

What only Ovid has is recognised here: headings (`exp X/dt, th`), field codes (`.ti,ab.`), sets
(`or/1-5`, `1-3/or`, `#4`), comments in brackets, hit counts, `adjN`.
"""

import re
from typing import NamedTuple

from actors.search.mesh_qualifiers import ABBREVIATIONS
from actors.search.ovid.fields import CODES
from actors.search.ovid.patterns import any_code
from actors.search.text import words

OPEN, CLOSE, WORD, QUOTED, NUMBER, HEADING, FIELD, OPERATOR, SETS = (
    "open", "close", "word", "quoted", "number", "heading", "field", "operator", "sets",
)  # fmt: skip
AND, OR, NOT, ADJ = "AND", "OR", "NOT", "ADJ"
MAX_HEADING = 200
"""Characters that a heading may have; the longest in MeSH has 104."""
MAX_LINE_NUMBER_DIGITS = 6

_CODE = any_code(CODES)
_LIST = rf"{_CODE}(?:\s*[,;]\s*{_CODE}|\s*\.\s*(?:ti|ab|kf|kw|tw)(?=[\s.]|$))*(?![\w*$?#])"
_FIELD = re.compile(rf"\s*\.\s*(?P<codes>{_LIST})\s*(?:\.(?!\d))?", re.IGNORECASE)
_NAMED = "(?:mesh|ti|ab|tw|kw)"
_LOOSE_FIELD = re.compile(
    rf"\s*\(\s*(?P<codes>{_NAMED}(?:\s*,\s*{_NAMED})*)\s*\)"
    rf"|\s+(?:in\s+)?(?P<bare>(?:ti|ab)\s*,\s*(?:ti|ab))(?=\s*$|\s*\)|\s+(?:and|or|not)\b)",
    re.IGNORECASE,
)
_FREQUENCY = re.compile(r"\s*/\s*freq\s*=\s*\d+", re.IGNORECASE)
_OPERATOR = re.compile(
    r"(?P<adj>adj(?:\s*(?P<n>\d{1,4})(?!\w))?|near\s*/?\s*(?P<m>\d{1,4})(?!\w)|near(?=\s*\())(?!\w)"
    r"|(?P<op>and|or|not)(?!\w|[-$*?])",
    re.IGNORECASE,
)
_NUMBERS = r"#?\d+(?:\s*[-–—]\s*#?\d+)?(?:[,\s]+#?\d+(?:\s*[-–—]\s*#?\d+)?){0,1000}"
_SETS = re.compile(
    rf"(?P<op>and|or)\s*/\s*(?P<numbers>{_NUMBERS})(?![\w*$])"
    rf"|(?P<numbers2>#?\d+(?:\s*[-–—,]\s*#?\d+){{0,50}})\s*/\s*(?P<op2>and|or)(?!\w)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"#\s*(\d+)(?![\w*$?#])|(\d+)(?=[\s)]|$)")
_RANGES = re.compile(r"#?(\d+)(?:\s*[-–—]\s*#?(\d+))?")
_NUMBER_RUN = re.compile(r"[#\d\s,–—-]+")
_EXPLODE = re.compile(r"(?:(?:exp|explode)\s+|\*\s*){0,3}", re.IGNORECASE)
_ENDS_NAME = re.compile(r"\s(?:and|or|not|adj\d*)\s|[\[\]]", re.IGNORECASE)
_SUB = any_code(ABBREVIATIONS)
_SUB_NAME = (
    "(?:"
    + "|".join(
        r"\s+(?:(?:and|&)\s+)?".join(name.split())
        for name in sorted(ABBREVIATIONS.values(), key=len, reverse=True)
    )
    + ")"
)
_SUB_CODES = re.compile(rf"\s*(?P<codes>{_SUB}(?:\s*,\s*{_SUB})*)(?![\w*$.,])", re.IGNORECASE)
_SUB_NAMES = re.compile(rf"\s*(?P<name>{_SUB_NAME})(?!\w)", re.IGNORECASE)
_SUB_START = re.compile(r"\s*([a-z]{3})", re.IGNORECASE)
_SUB_STARTS = frozenset(name[:3].lower() for name in ABBREVIATIONS.values())
_COMMENT = re.compile(r"\s*\[[^\[\]]*\](?![\w*$])")
_AFTER_SUBS = re.compile(r"\s*\([a-z&,\s]+\)(?=\s*$|\s+(?:and|or|not)\b)", re.IGNORECASE)
_WORD = re.compile(r"\.?[^\s()\"\[\]{},;/.]+|\.+")
_CURLY = dict.fromkeys(map(ord, "“”„‟«»″＂"), '"') | dict.fromkeys(map(ord, "‘’"), "'")
_COMMON = re.compile(
    r"\s*(?:(?!(?:and|or|not|exp|explode|adj|near)(?![a-z])|(?:ti|ab|in)\s)"
    rf"([a-z][a-z0-9*$?'-]*)(?=[\s)]|$|\.{_CODE}(?:[.,\s)]|$))"
    rf"|(and|or|not)(?=\s+[^\s/]|\()|(\()(?!\s*{_NAMED})|(\)))",
    re.IGNORECASE | re.ASCII,
)
"""What most of a query consists of: plain words, operators, parentheses, after white space."""
_WORD_AT, _OPERATOR_AT, _OPEN_AT = 1, 2, 3  # groups of `_COMMON`
_LETTERS = re.compile("[a-z]+")
_UNFINISHED = re.compile(r"\s(?:and|or|not|adj\d*)\b|[()\[\]/\n]|$", re.IGNORECASE)
_HOLDS_TERMS = re.compile(r"/|\.[a-z]{2}\b", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_MAX_GROUP = 5_000  # characters between [ and ] that may be read as a group


class Token(NamedTuple):
    """`text` of an operator is AND, OR, NOT or ADJ; of sets AND or OR; of a heading its name.

    `values`: field codes; line numbers as (first, last) of sets and numbers; qualifiers of a
    heading. `explode` and `focus` are of headings; `distance` is the N of adjN, None of `adj`.
    """

    kind: str
    text: str
    position: int
    values: tuple = ()
    explode: bool = False
    focus: bool = False
    distance: int | None = None


def plain(text: str) -> str:
    """`text` with typographic quotation marks made straight; no position changes."""
    return text if text.isascii() else text.translate(_CURLY)


def lex(text: str, start: int = 0, end: int | None = None) -> tuple[list[Token], list[str]]:
    """The tokens of `text[start:end]` (as `plain` gives it), and messages on what was ignored."""
    return _Lexer(text, start, len(text) if end is None else end).run()


_BEFORE = frozenset(["", " ", "\n", "\t", "(", ")"])
_OPERANDS = frozenset([WORD, QUOTED, NUMBER, CLOSE, HEADING])


class _Lexer:
    """What lies ahead, such as the next `/` or `]`, is kept until passed: nothing is read twice."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.at, self.end = text, start, end
        self.tokens: list[Token] = []
        self.messages: dict[str, None] = {}
        self.brackets = 0
        self.slash = self.closing = self.terms = start - 1  # the next ones; `end` if there is none
        self.no_name = start - 1  # no heading that ends at `slash` begins here or before
        self.numbers = start  # where a run of numbers, commas and hyphens ends
        self.alone: set[str] = set()  # marks that have no partner any more

    def run(self) -> tuple[list[Token], list[str]]:
        while self.at < self.end:
            if not self.common() and not self.step():
                self.at += 1
        return self.tokens, list(self.messages)

    def common(self) -> bool:
        """Read one token at `at` if it is as plain as most."""
        match = _COMMON.match(self.text, self.at, self.end)
        if match is None:
            return False
        group = match.lastindex
        assert group is not None
        at = match.start(group)
        if group in (_WORD_AT, _OPERATOR_AT):
            if self.text[at - 1 : at] not in _BEFORE:
                return False
            if group == _OPERATOR_AT:
                token = Token(OPERATOR, match[group].upper(), at)
            elif self.slash_after(at) - at < MAX_HEADING and at > self.no_name:
                return False
            else:
                token = Token(WORD, match[group], at)
        elif group == _OPEN_AT:
            token = Token(OPEN, "(", at)
        else:
            token = Token(CLOSE, ")", at)
        self.tokens.append(token)
        self.at = match.end()
        return True

    def step(self) -> bool:
        """Read one token at `at`; False if nothing there is worth one."""
        text, begin = self.text, self.at
        at = begin
        if text[at].isspace():
            space = _SPACE.match(text, at, self.end)
            at = space.end() if space else at + 1
            if at >= self.end:
                self.at = at
                return True
        char = text[at]
        after_operand = bool(self.tokens) and self.tokens[-1].kind in _OPERANDS
        if after_operand and (char in ".(" or (at > begin and char in "tTaAiI")) and self.field():
            return True
        self.at = at
        if char in ",;./}":
            return self.heading() if char == "/" and not after_operand else False
        if char == "(":
            return self.put(Token(OPEN, "(", at), 1)
        if char == ")":
            return self.put(Token(CLOSE, ")", at), 1)
        if char in '"{':
            return self.quoted(char)
        if char in "[]":
            return self.bracket(char)
        if at > 0 and (text[at - 1].isalnum() or text[at - 1] in "$*?#"):
            return self.word()
        if char in "#0123456789" or not char.isascii():
            if self.sets() or self.heading() or self.reference():
                return True
        elif (char in "aAoOnN" and (self.sets() or self.operator())) or self.heading():
            return True
        return self.word()

    def slash_after(self, at: int) -> int:
        if self.slash < at:
            found = self.text.find("/", at, self.end)
            self.slash = self.end if found < 0 else found
            self.no_name = at - 1
        return self.slash

    def put(self, token: Token, length: int) -> bool:
        self.tokens.append(token)
        self.at += length
        return True

    def field(self) -> bool:
        match = _FIELD.match(self.text, self.at, self.end)
        if match is None:
            match = _LOOSE_FIELD.match(self.text, self.at, self.end)
            if match is None:
                return False
            codes = match["codes"] or match["bare"]
        else:
            codes = match["codes"]
        names = tuple(c.replace("mesh", "mh") for c in _LETTERS.findall(codes.lower()))
        token = Token(FIELD, codes, match.start(), names)
        self.put(token, match.end() - match.start())
        if frequency := _FREQUENCY.match(self.text, self.at, self.end):
            self.messages["frequency operator ignored"] = None
            self.at = frequency.end()
        return True

    def operator(self) -> bool:
        match = _OPERATOR.match(self.text, self.at, self.end)
        if match is None:
            return False
        if match["op"]:
            token = Token(OPERATOR, match["op"].upper(), self.at)
        else:
            number = match["n"] or match["m"]
            if match["adj"][:4].lower() == "near":
                self.messages["near is not Ovid's: read as adj"] = None
                number = number or "10"
            token = Token(OPERATOR, ADJ, self.at, distance=int(number) if number else None)
        return self.put(token, match.end() - self.at)

    def sets(self) -> bool:
        if not self.text[self.at].isalpha() and not self.numbers_before_slash():
            return False
        match = _SETS.match(self.text, self.at, self.end)
        if match is None:
            return False
        numbers = match["numbers"] or match["numbers2"]
        ranges = []
        for one in _RANGES.finditer(numbers):
            first, last = _number(one[1]), _number(one[2] or one[1])
            ranges.append((min(first, last), max(first, last)))
        operator = (match["op"] or match["op2"]).upper()
        return self.put(Token(SETS, operator, self.at, tuple(ranges)), match.end() - match.start())

    def numbers_before_slash(self) -> bool:
        """Whether the numbers that stand at `at` end in a slash."""
        if self.numbers <= self.at:
            run = _NUMBER_RUN.match(self.text, self.at, self.end)
            self.numbers = run.end() if run else self.at
        return self.numbers < self.end and self.text[self.numbers] == "/"

    def reference(self) -> bool:
        match = _REFERENCE.match(self.text, self.at, self.end)
        if match is None:
            return False
        number = _number(match[1] or match[2])
        kind = SETS if match[1] else NUMBER
        text = OR if match[1] else match[2]
        token = Token(kind, text, self.at, ((number, number),))
        return self.put(token, match.end() - match.start())

    def heading(self) -> bool:
        """`exp X/`, `*X/`, `X/dt, th`; without `exp` only where a slash ends the name."""
        text, at = self.text, self.at
        lead = _EXPLODE.match(text, at, self.end) if text[at] in "eE*" else None
        begin = lead.end() if lead else at
        marks = text[at:begin].lower()
        if not marks and (
            self.slash_after(at) - at >= MAX_HEADING or (at <= self.no_name and text[at] != '"')
        ):
            return False
        name, slash = self.heading_name(begin, min(self.end, begin + MAX_HEADING))
        if slash < 0:
            return "exp" in marks and self.unfinished_heading(begin, marks)
        after, qualifiers = self.qualifiers(slash + 1)
        if after < self.end and (text[after].isalnum() or text[after] in "[("):
            return False
        token = Token(HEADING, name, at, qualifiers, "exp" in marks, "*" in marks)
        return self.put(token, after - at)

    def heading_name(self, begin: int, limit: int) -> tuple[str, int]:
        """The name that starts at `begin` and the place of its slash, -1 if it is no heading."""
        text = self.text
        slash = text.find("/", begin, limit)
        if begin < self.end and text[begin] == '"':
            close = text.find('"', begin + 1, limit)
            slash = text.find("/", close, limit)
            if close < 0 or slash < 0 or text[close + 1 : slash].strip():
                return "", -1
            return text[begin + 1 : close].strip(), slash
        if slash < 0:
            return "", -1
        name = text[begin:slash]
        plain_name = name.replace('"', " ")
        ends = [m.start() - 1 for m in _ENDS_NAME.finditer(f" {plain_name} ")]
        ends += [m.start() for m in _FIELD.finditer(name)]
        ends.append(name.rfind("\n"))
        if (last := max(ends)) >= 0:
            if slash == self.slash:  # what rules this name out rules out all up to there
                self.no_name = max(self.no_name, begin + last)
            return "", -1
        if (
            ends != [-1]
            or not any(c.isalnum() for c in name)
            or name.count("(") != name.count(")")
            or name.find(")") < name.find("(")
        ):
            return "", -1
        return " ".join(plain_name.split()), slash

    def qualifiers(self, at: int) -> tuple[int, tuple[str, ...]]:
        names: tuple[str, ...] = ()
        if match := _SUB_CODES.match(self.text, at, self.end):
            codes = _LETTERS.findall(match["codes"].lower())
            names = tuple(dict.fromkeys(ABBREVIATIONS[c] for c in codes))
        elif (start := _SUB_START.match(self.text, at, self.end)) and (
            start[1].lower() in _SUB_STARTS
        ):
            match = _SUB_NAMES.match(self.text, at, self.end)
            if match:
                names = (" ".join(w for w in words(match["name"]) if w != "and"),)
        if match:
            at = match.end()
            if note := _AFTER_SUBS.match(self.text, at, self.end):
                at = note.end()
        while note := _COMMENT.match(self.text, at, self.end):
            at = note.end()
        return at, names

    def unfinished_heading(self, begin: int, marks: str) -> bool:
        """`exp X` up to the next operator or bracket, if no field code follows it."""
        rest = self.text[begin : min(self.end, begin + MAX_HEADING)]
        stop = _UNFINISHED.search(rest)
        name = rest[: stop.start()] if stop else rest
        if not any(c.isalnum() for c in name) or _FIELD.search(name + " "):
            return False
        self.messages[f"/ missing after the heading {' '.join(name.split())}"] = None
        name = " ".join(name.replace('"', " ").split())
        token = Token(HEADING, name, self.at, (), True, "*" in marks)
        return self.put(token, begin - self.at + (stop.start() if stop else len(rest)))

    def quoted(self, char: str) -> bool:
        if self.heading():
            return True
        end = '"' if char == '"' else "}"
        close = -1 if end in self.alone else self.text.find(end, self.at + 1, self.end)
        if close < 0:
            self.alone.add(end)
            self.messages["quotation mark or bracket without its partner ignored"] = None
            return False
        if char == "{":
            self.messages["{ } read as quotation marks"] = None
        text = self.text[self.at + 1 : close]
        token = Token(QUOTED, text, self.at)
        return self.put(token, close + 1 - self.at)

    def bracket(self, char: str) -> bool:
        if char == "]":
            if self.brackets:
                self.brackets -= 1
                return self.put(Token(CLOSE, ")", self.at), 1)
            return False
        if self.closing < self.at:
            found = self.text.find("]", self.at, self.end)
            self.closing = self.end if found < 0 else found
        if self.terms < self.at:
            holds = _HOLDS_TERMS.search(self.text, self.at, self.end)
            self.terms = holds.start() if holds else self.end
        if self.terms < self.closing < min(self.end, self.at + _MAX_GROUP):
            self.messages["[ ] around terms read as ( )"] = None
            self.brackets += 1
            return self.put(Token(OPEN, "(", self.at), 1)
        if note := _COMMENT.match(self.text, self.at, self.end):
            self.at = note.end()
            return True
        return False

    def word(self) -> bool:
        """Up to white space, punctuation that ends a word, or a field code."""
        end = self.at
        while match := _WORD.match(self.text, end, self.end):
            end = match.end()
            if self.text[end : end + 1] != "." or _FIELD.match(self.text, end, self.end):
                break
        if end == self.at:
            return False
        token = Token(WORD, self.text[self.at : end], self.at)
        return self.put(token, end - self.at)


def _number(digits: str) -> int:
    """The value of `digits`; a number too long for a line counts as one that no strategy has."""
    return int(digits) if len(digits) <= MAX_LINE_NUMBER_DIGITS else 10**MAX_LINE_NUMBER_DIGITS
