"""Words near each other: `(a or b) adj3 (c or d)` to alternatives that the tree can hold.

An alternative is a row of groups of words. Single words of one operand share one group, so
`(a or b) adj3 (c or d)` is one alternative of two groups; each phrase is an alternative of its own,
so a product remains only over phrases, and `MAX_ALTERNATIVES` bounds it.
A phrase next to something keeps its order by a second condition on the same record. Of
`a adj2 b adj3 c`, all three stand within the sum of both distances, and `a` and `b` within theirs.
"""

from dataclasses import dataclass
from typing import NamedTuple

from actors.search.ovid.grammar import Expression
from actors.search.ovid.lexer import ADJ, OR
from actors.search.ovid.words import patterns

MAX_ALTERNATIVES = 2_000
"""Rows that one adj expression may stand for."""
MAX_WORDS = 200
"""Words, groups of words or phrases that adj may join in a row."""
_SHOWN = 3  # words of a group that its text tells
Groups = tuple[tuple[str, ...], ...]


class Alternative(NamedTuple):
    """`groups` within `slop` other words (None: side by side in order), and further conditions."""

    groups: Groups
    slop: int | None = None
    conditions: tuple[tuple[Groups, int | None], ...] = ()


class TooManyError(Exception):
    """More than `MAX_ALTERNATIVES` or `MAX_WORDS`; `position` is that of the adj."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(slots=True)
class _Operand:
    """What an operand of adj stands for: single words, and rows."""

    words: dict[str, None]
    rows: list[Alternative]

    def alternatives(self) -> list[Alternative]:
        return [*([Alternative((tuple(self.words),))] if self.words else ()), *self.rows]

    def size(self) -> int:
        return len(self.words) + len(self.rows)


def phrase(expression: Expression) -> tuple[tuple[str, ...], bool]:
    """The words of a term, and whether a wildcard had to be ignored."""
    words: list[str] = []
    ignored = False
    for token in expression.tokens:
        found, bad = patterns(token.text)
        words += found
        ignored |= bad
    return tuple(words), ignored


def alternatives(expression: Expression) -> tuple[list[Alternative], bool]:
    """What a tree of OR and adj over words stands for, and whether a wildcard was ignored.

    Raises:
        TooManyError: with the position of the adj.
    """
    done: list[_Operand] = []
    waiting: list[tuple[Expression, bool]] = [(expression, False)]
    ignored = False
    while waiting:
        one, ready = waiting.pop()
        if one.kind not in (OR, ADJ):
            words, bad = phrase(one)
            ignored |= bad
            if len(words) == 1:
                done.append(_Operand({words[0]: None}, []))
            else:
                row = [Alternative(tuple((w,) for w in words))] if words else []
                done.append(_Operand({}, row))
        elif not ready:
            waiting.append((one, True))
            waiting += [(operand, False) for operand in reversed(one.operands)]
        else:
            right, left = done.pop(), done.pop()
            done.append(_either(left, right) if one.kind == OR else _near(left, right, one))
    return done[0].alternatives(), ignored


def _either(left: _Operand, right: _Operand) -> _Operand:
    """Moves the smaller side."""
    if left.size() < right.size():
        left, right = right, left
    left.words.update(right.words)
    left.rows += right.rows
    return left


def _near(left: _Operand, right: _Operand, adj: Expression) -> _Operand:
    before, after = left.alternatives(), right.alternatives()
    if not before or not after:
        return left if before else right
    if len(before) * len(after) > MAX_ALTERNATIVES:
        raise TooManyError(
            f"adj between phrases gives more than {MAX_ALTERNATIVES} combinations", adj.position
        )
    if max(len(a.groups) for a in before) + max(len(b.groups) for b in after) > MAX_WORDS:
        raise TooManyError(f"adj joins more than {MAX_WORDS} words", adj.position)
    return _Operand({}, [_combine(a, b, adj.distance) for a in before for b in after])


def _combine(left: Alternative, right: Alternative, distance: int | None) -> Alternative:
    groups = (*left.groups, *right.groups)
    conditions = left.conditions + right.conditions
    if distance is None and left.slop is None and right.slop is None and not conditions:
        return Alternative(groups)
    slop = (left.slop or 0) + (right.slop or 0) + max(distance or 1, 1) - 1
    parts = tuple((one.groups, one.slop) for one in (left, right) if len(one.groups) > 1)
    return Alternative(groups, slop, tuple(dict.fromkeys(conditions + parts)))


def words_of(groups: Groups) -> str:
    """`groups` as text, of large ones the first words."""
    return " ".join(
        "/".join(group) if len(group) <= _SHOWN else "/".join(group[:_SHOWN]) + "/..."
        for group in groups
    )
