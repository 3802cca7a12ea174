"""An expression to the nodes of the query tree. Nesting costs no recursion."""

from collections.abc import Callable, Mapping

from actors.search.mesh_qualifiers import ABBREVIATIONS
from actors.search.ovid.adjacency import (
    Alternative,
    Groups,
    TooManyError,
    alternatives,
    phrase,
    words_of,
)
from actors.search.ovid.fields import (
    DATES,
    DEFAULT,
    IDS,
    date_field,
    near_field,
    targets,
)
from actors.search.ovid.grammar import COMPLEMENT, READY, Expression
from actors.search.ovid.lexer import ADJ, HEADING, NUMBER, SETS
from actors.search.ovid.limits import days
from actors.search.pubmed.fields import ALL, MAJOR, MESH, SUBHEADING, Field
from actors.search.pubmed.tree import DateRange, Ids, Near, Node, Operator, Term
from actors.search.text import words

MAX_NODES = 100_000
"""Nodes that a strategy may have once its lines are put into one another."""
_PLACE = "* ends a word, ? and # stand after its first character"
Lines = Mapping[int, tuple[Node, ...]]


class OvidError(Exception):
    """What is wrong with a strategy, and where (a character offset)."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class MissingLineError(OvidError):
    """A reference to line `number`, which does not stand before."""

    def __init__(self, number: int, position: int) -> None:
        super().__init__(f"there is no line {number}", position)
        self.number = number


class Lowering:
    """Writes nodes. `lines` are the strategy's earlier lines, `warn` takes (message, kind)."""

    def __init__(self, lines: Lines, warn: Callable[[str, str], None]) -> None:
        self.lines = lines
        self.warn = warn
        self.out: list[Node] = []

    def run(self, expression: Expression) -> tuple[Node, ...]:
        """The nodes of `expression`, none if it holds nothing to search for.

        Raises:
            OvidError: a line that does not exist; too many alternatives or nodes.
        """
        waiting: list[tuple[Expression, tuple[str, ...] | None, bool]] = [(expression, None, False)]
        empty: list[bool] = []
        while waiting:
            one, codes, ready = waiting.pop()
            codes = one.codes if one.codes is not None else codes
            if ready:
                self._join(one, empty)
            elif one.kind == ADJ and one.is_text:
                before = len(self.out)
                self._near(one, codes)
                empty.append(len(self.out) == before)
            elif one.operands:
                waiting.append((one, codes, True))
                waiting += [(operand, codes, False) for operand in reversed(one.operands)]
            else:
                before = len(self.out)
                self._leaf(one, codes)
                empty.append(len(self.out) == before)
            if len(self.out) > MAX_NODES:
                raise OvidError(
                    f"the lines together hold more than {MAX_NODES} terms and operators; "
                    "refer to fewer lines",
                    one.position,
                )
        return tuple(self.out)

    def _join(self, one: Expression, empty: list[bool]) -> None:
        if one.kind == COMPLEMENT:
            if not empty[-1]:
                self.out.append(Operator.COMPLEMENT)
            return
        right, left = empty.pop(), empty.pop()
        empty.append(left and right)
        kind = one.kind
        if kind == ADJ:
            kind = "AND"
            self.warn(
                "missing operator read as AND" if one.implied else
                "adj between what is no text read as AND", "OutputMessage",
            )  # fmt: skip
        if not left and not right:
            self.out.append(Operator(kind))
        elif left and not right and kind == "NOT":
            self.out.append(Operator.COMPLEMENT)

    def _either(self, count: int) -> None:
        self.out += [Operator.OR] * (count - 1)

    def _leaf(self, one: Expression, codes: tuple[str, ...] | None) -> None:
        if one.kind == READY:
            self.out += one.tokens[0].values
        elif one.kind == SETS or (one.kind == NUMBER and codes is None):
            self._sets(one)
        elif one.kind == HEADING:
            self._heading(one)
        else:
            self._text(one, codes or DEFAULT)

    def _sets(self, one: Expression) -> None:
        token = one.tokens[0]
        operator = Operator.AND if token.text == "AND" else Operator.OR
        count = 0
        for first, last in token.values:
            for number in range(first, last + 1):
                nodes = self.lines.get(number)
                if nodes is None:
                    raise MissingLineError(number, token.position)
                self.out += nodes
                count += 1
                if count > 1:
                    self.out.append(operator)
                if len(self.out) > MAX_NODES:
                    return

    def _heading(self, one: Expression) -> None:
        token = one.tokens[0]
        field = MAJOR if token.focus else MESH
        pieces = (tuple(words(token.text)),)
        if not pieces[0]:
            self.warn(f"heading without a name ignored: {token.text}", "OutputMessage")
            return
        qualifiers = token.values or ("",)
        for qualifier in qualifiers:
            text = f"{token.text}/{qualifier}" if qualifier else token.text
            self.out.append(
                Term(text, pieces, token.position, field, True, token.explode, qualifier)
            )
        self._either(len(qualifiers))

    def _text(self, one: Expression, codes: tuple[str, ...]) -> None:
        """A word or phrase in all fields of `codes`, any of them."""
        found, ignored = phrase(one)
        text = " ".join(token.text for token in one.tokens)
        if ignored:
            self.warn(f"wildcard ignored in {text}: {_PLACE}", "OutputMessage")
        if not found:
            return
        count = self._dated(text, one.position, codes)
        if IDS & set(codes):
            self.out.append(Ids(found, one.position))
            count += 1
        places = self._places(codes, bool(count))
        for field, explode in places:
            if field.kind == "text":
                self.out.append(
                    Term(text, (found,), one.position, field)
                    if len(found) == 1
                    else Near(text, tuple((w,) for w in found), None, one.position, field)
                )
            else:
                value = found
                if field is SUBHEADING and len(found) == 1 and found[0] in ABBREVIATIONS:
                    value = tuple(ABBREVIATIONS[found[0]].split())
                self.out.append(Term(text, (value,), one.position, field, True, explode))
        self._either(count + len(places))

    def _places(self, codes: tuple[str, ...], found: bool) -> list[tuple[Field, bool]]:
        known, unknown = targets(codes)
        for code in unknown:
            self.warn(code, "FieldNotFound")
        places = [(target.field, target.explode) for target in known]
        return places or ([] if found else [(ALL, True)])

    def _dated(self, text: str, position: int, codes: tuple[str, ...]) -> int:
        wanted = [code for code in dict.fromkeys(codes) if code in DATES]
        for code in wanted:
            self.out.append(date_range(text, code, position))
            if days(text) is None:
                self.warn(f"no date in .{code}.: {text}", "OutputMessage")
        return len(wanted)

    def _near(self, one: Expression, codes: tuple[str, ...] | None) -> None:
        """`adj` over words and OR, in the text fields of `codes`."""
        inner = codes if codes is not None else _inner_codes(one)
        try:
            found, ignored = alternatives(one)
        except TooManyError as error:
            raise OvidError(f"{error}; split the line in two", error.position) from None
        if ignored:
            self.warn(f"wildcard ignored: {_PLACE}", "OutputMessage")
        field = near_field(inner or DEFAULT)
        if field is None:
            self.warn(f"adj does not apply to .{','.join(inner)}.", "OutputMessage")
            field = near_field(DEFAULT) or ALL
        for alternative in found:
            self._alternative(alternative, field, one.position)
            if len(self.out) > MAX_NODES:
                return
        self._either(len(found))

    def _alternative(self, one: Alternative, field: Field, position: int) -> None:
        rows = [(one.groups, one.slop), *one.conditions]
        for index, (groups, slop) in enumerate(rows):
            self.out.append(_near_node(groups, slop, field, position))
            if index:
                self.out.append(Operator.AND)


def _near_node(groups: Groups, slop: int | None, field: Field, position: int) -> Node:
    if len(groups) == 1 and len(groups[0]) == 1:
        return Term(groups[0][0], groups, position, field)
    return Near(words_of(groups), groups, slop, position, field)


def _inner_codes(one: Expression) -> tuple[str, ...]:
    """The codes inside an adj expression that has none itself, together."""
    waiting, codes = [one], dict[str, None]()
    while waiting:
        part = waiting.pop()
        codes.update(dict.fromkeys(part.codes or ()))
        waiting += part.operands
    return tuple(codes)


def date_range(text: str, code: str, position: int) -> DateRange:
    """The days that `text` names in the date field `code`."""
    found = days(text)
    first, last = found if found else (None, None)
    return DateRange(text, first, last, position, date_field(code))
