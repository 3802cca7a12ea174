"""One operand of a PubMed query to nodes: the terms, dates and ranges that stand side by side."""

import re
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

from actors.search.pubmed.dates import parse_date, parse_relative
from actors.search.pubmed.fields import NEAR_FIELDS, Field, Tag, read_tag
from actors.search.pubmed.lexer import COLON, PHRASE, STRAY, TAG, WORD, Token, lex
from actors.search.pubmed.terms import MIN_TRUNCATED, Piece, phrase, pieces
from actors.search.pubmed.tree import DateRange, History, Ids, Near, Operand, Term
from actors.search.text import words

_HISTORY = re.compile(r"#([0-9]{1,6})", re.ASCII)
_DATE_WORDS = 3  # `2010 Jan 5` and `last 5 years` are the longest dates
_UNTAGGED = Tag(None)
_CACHED_CHARACTERS = 200  # longer operands do not come twice

Said = Operand | str | None
"""What an operand puts out, in order: nodes that are ANDed, warnings; None: something blank."""


def read_operand(text: str) -> tuple[Said, ...]:
    """What an operand says, with positions in its text. Equal texts share their nodes."""
    return _cached(text) if len(text) <= _CACHED_CHARACTERS else _read(text)


def _read(text: str) -> tuple[Said, ...]:
    return _Operands(text, lex(text), "#" in text).run()


_cached = lru_cache(maxsize=32_768)(_read)


@dataclass(slots=True)
class _Operand:
    """Words or one phrase with the tag that follows; `end` is the index of the token after it."""

    tokens: list[Token]
    tag: Token | None
    meaning: Tag
    end: int

    @property
    def quoted(self) -> bool:
        return bool(self.tokens) and self.tokens[0].kind == PHRASE

    @property
    def dated(self) -> bool:
        return self.meaning.field is not None and self.meaning.field.kind == "date"


@dataclass(slots=True)
class _Operands:
    """Reads terms, dates and ranges that stand side by side."""

    query: str
    tokens: list[Token]
    numbered: bool
    out: list[Said] = field(default_factory=list)

    def run(self) -> tuple[Said, ...]:
        if any(token.kind == STRAY for token in self.tokens):
            self.warn("quotation mark or bracket without its partner ignored")
            self.tokens = [token for token in self.tokens if token.kind != STRAY]
        i = 0
        while i < len(self.tokens):
            i = self.operand_at(i)
        return tuple(self.out)

    def warn(self, message: str, kind: str = "OutputMessage") -> None:
        self.out.append(f"{kind}: {message}")

    def put(self, node: Operand) -> None:
        self.out.append(node)

    def blank(self) -> None:
        self.out.append(None)

    def operand_at(self, i: int) -> int:
        """Read a term or a date range that starts at token `i`; the index after it."""
        left = self.scan(i)
        while left.end < len(self.tokens) and self.tokens[left.end].kind == COLON:
            right = self.scan(left.end + 1)
            if left.dated or right.dated:
                return self.range(left, right)
            if left.tag or left.quoted or right.quoted:
                self.term(left)
                return left.end + 1
            left.tokens += right.tokens
            left.tag, left.meaning, left.end = right.tag, right.meaning, right.end
        if left.dated and left.tokens:
            self.day(left)
        else:
            self.term(left)
        return left.end

    def scan(self, i: int) -> _Operand:
        tokens = self.tokens
        end = i
        if end < len(tokens) and tokens[end].kind == PHRASE:
            end += 1
        else:
            while end < len(tokens) and tokens[end].kind == WORD:
                end += 1
        found = tokens[i:end]
        if end == len(tokens) or tokens[end].kind != TAG:
            return _Operand(found, None, _UNTAGGED, end)
        tag = tokens[end]
        meaning = read_tag(tag.text)
        if meaning.field is None and tag.text.strip():
            self.warn(" ".join(tag.text.split()), "FieldNotFound")
        if not found:
            self.warn(f"[{tag.text}] without a term before it ignored")
        return _Operand(found, tag, meaning, end + 1)

    def term(self, operand: _Operand) -> None:
        """Put out what is neither a date nor a range."""
        tokens, tag = operand.tokens, operand.meaning
        if not tokens:
            self.blank()
            return
        if self.numbered and not operand.quoted and any(t.text[0] == "#" for t in tokens):
            tokens = self.histories(tokens)
            if not tokens:
                return
        if tag.field is not None and tag.field.kind == "id":
            ids = re.split(r"[\s,;]+", " ".join(t.text for t in tokens))
            if found := tuple(i for i in ids if i):
                self.put(Ids(found, tokens[0].position))
            else:
                self.blank()
            return
        end = operand.tag.end if operand.tag and tag.field else tokens[-1].end
        text = self.query[tokens[0].position : end]
        qualifier = ""
        if tag.field is not None and tag.field.kind == "mesh" and "/" in text:
            tokens, qualifier = _split_qualifier(tokens)
        parts: tuple[Piece, ...]
        if tag.field is not None and tag.field.kind == "raw":
            value = " ".join(" ".join(t.text for t in tokens).lower().split())
            parts, ignored = ((value,),) if value else (), False
        else:
            parts, ignored = _pieces(tokens, tagged=operand.tag is not None)
        if ignored and not (tag.field and tag.field.kind == "author"):  # truncated anyhow
            self.warn(f"truncation ignored in {text}: * needs 4 characters and the end of a word")
        if not parts:
            self.blank()
            return
        position = tokens[0].position
        if tag.slop is not None and tag.field is not None:
            groups = tuple((word,) for piece in parts for word in piece)
            starred = "*" in text
            if len(groups) > 1 and not starred and tag.field.label in NEAR_FIELDS:
                self.put(Near(text, groups, tag.slop, position, tag.field))
                return
            self.warn(f"proximity ignored in {text}: {_why_not_near(starred, tag.field)}")
        quoted = operand.quoted
        self.put(Term(text, parts, position, tag.field, quoted, tag.explode, qualifier))

    def histories(self, tokens: list[Token]) -> list[Token]:
        """Put out each `#n` and the words before it; the words after the last one."""
        found: list[Token] = []
        for token in tokens:
            if match := _HISTORY.fullmatch(token.text):
                if found:
                    self.term(_Operand(found, None, _UNTAGGED, 0))
                self.put(History(int(match[1]), token.position))
                found = []
            else:
                found.append(token)
        return found

    def day(self, operand: _Operand) -> None:
        """Put out the date that ends an operand, and the words before it."""
        tokens = operand.tokens
        assert operand.tag is not None
        for count in range(min(_DATE_WORDS, len(tokens)), 0, -1):
            text = " ".join(token.text for token in tokens[-count:])
            last, days = parse_relative(text), parse_date(text)
            if last or days:
                break
        else:
            count = 1
        if not any(token.text.strip() for token in tokens):
            self.blank()
            return
        if len(tokens) > count:
            self.term(_Operand(tokens[:-count], None, _UNTAGGED, 0))
        start, end = days or (None, None)
        position = tokens[-count].position
        text = self.query[position : operand.tag.end]
        self.put(DateRange(text, start, end, position, operand.meaning.field, last))

    def range(self, left: _Operand, right: _Operand) -> int:
        """Put out `left:right`; the index after it. A missing end is open, no ends are blank."""
        starts = any(token.text.strip() for token in left.tokens)
        ends = any(token.text.strip() for token in right.tokens)
        if not starts and not ends:
            self.blank()
            return right.end
        first: date | None = date.min
        last: date | None = date.max
        position = (left.tokens or right.tokens)[0].position
        if starts:
            used, days = _date_at(left.tokens, before=True)
            first = days and days[0]
            position = left.tokens[-used].position
            if len(left.tokens) > used:
                self.term(_Operand(left.tokens[:-used], None, _UNTAGGED, 0))
        after = right.end
        if ends:
            used, days = _date_at(right.tokens, before=False)
            last = days and days[1]
            if right.tag is None:
                after -= len(right.tokens) - used
            elif used < len(right.tokens):
                self.warn(f"{right.tokens[used].text} ignored after a date")
        if first is None or last is None:
            first = last = None
        field_ = right.meaning.field if right.dated else left.meaning.field
        text = self.query[position : self.tokens[after - 1].end]
        self.put(DateRange(text, first, last, position, field_))
        return after


def _pieces(tokens: list[Token], tagged: bool) -> tuple[tuple[Piece, ...], bool]:
    """The pieces of a term, and whether a `*` had to be ignored."""
    if tokens[0].kind == PHRASE:
        found, ignored = phrase(tokens[0].text)
        return ((found,) if found else ()), ignored
    if len(tokens) == 1:
        return pieces(tokens[0].text)
    parts: list[Piece] = []
    ignored = False
    last = len(tokens) - 1
    for i, token in enumerate(tokens):
        before = tagged and i == last and sum(len(w) for p in parts for w in p) >= MIN_TRUNCATED
        some, bad = pieces(token.text, before)
        ignored |= bad
        parts += some
    return tuple(parts), ignored


def _date_at(tokens: list[Token], before: bool) -> tuple[int, tuple[date, date] | None]:
    """The date that ends (`before` a colon) or starts `tokens`: how many of them, and its days."""
    for count in range(min(_DATE_WORDS, len(tokens)), 0, -1):
        text = " ".join(t.text for t in (tokens[-count:] if before else tokens[:count]))
        if not before and text.lower() == "present":
            return count, (date.max, date.max)
        if days := parse_date(text):
            return count, days
    return 1, None


def _split_qualifier(tokens: list[Token]) -> tuple[list[Token], str]:
    """`heading/subheading`: the tokens of the heading, and the subheading."""
    for i, token in enumerate(tokens):
        head, slash, tail = token.text.partition("/")
        if slash:
            text = " ".join((tail, *(t.text for t in tokens[i + 1 :])))
            heading = [*tokens[:i], token._replace(text=head)] if head.strip() else tokens[:i]
            return heading or tokens, " ".join(words(text)) if heading else ""
    return tokens, ""


def _why_not_near(starred: bool, found: Field) -> str:
    if starred:
        return "no truncation in it"
    if found.label not in NEAR_FIELDS:
        return "only [ti], [tiab] and [ad] have it"
    return "it needs two words"
