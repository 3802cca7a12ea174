"""Characters of a PubMed query to tokens with positions. Accepts any text.

A query is first cut into parts: parentheses, operators, and the operands between them. An operand
means the same wherever it stands, so it is read once; its tokens are words, phrases, tags, colons.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

PHRASE, TAG, COLON, WORD, STRAY = "phrase", "tag", "colon", "word", "stray"

_WORD = r'[^\s()"\[\]&|:]+'
_PHRASE = r'"[^"]*"'
_TAG = r'\[[^\[\]"]*\]'
_OPERATOR = r'(?:AND|OR|NOT)(?![^\s()"\[\]&|:])'
_PART = re.compile(
    rf"[()&|]|{_OPERATOR}|"
    rf'(?:{_WORD}|{_PHRASE}|{_TAG}|[:"\[\]])'
    rf'(?:\s*(?!{_OPERATOR})(?:{_WORD}|{_PHRASE}|{_TAG}|[:"\[\]]))*+'
)
_TOKEN = re.compile(
    rf'(?P<word>{_WORD})|"(?P<phrase>[^"]*)"|\[(?P<tag>[^\[\]"]*)\]'
    r'|(?P<colon>:)|(?P<stray>["\[\]])'
)
_CURLY_QUOTES = dict.fromkeys(map(ord, "“”„‟«»″＂"), '"')


class Token(NamedTuple):
    """`text` is without quotes or brackets.

    `position` and `end` bound it in its operand, quotes and brackets included.
    """

    kind: str
    text: str
    position: int
    end: int


def parts(query: str) -> list[str]:
    """`query` without the space between its parts: `(`, `)`, operators, operands.

    AND, OR and NOT are operators in capitals only; `&` and `|` always.
    """
    plain = _straight(query)
    if plain is query:
        return _PART.findall(query)
    return [query[match.start() : match.end()] for match in _PART.finditer(plain)]


def starts(query: str) -> Iterator[int]:
    """The position of each of the `parts` of `query`."""
    return (match.start() for match in _PART.finditer(_straight(query)))


def lex(operand: str) -> list[Token]:
    """The tokens of an operand. A quotation mark or bracket without its partner is a `stray`."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(_straight(operand)):
        kind = match.lastgroup or STRAY
        tokens.append(Token(kind, match[kind], *match.span()))
    return tokens


def _straight(text: str) -> str:
    """`text` with typographic quotation marks made straight; no position changes."""
    return text if text.isascii() else text.translate(_CURLY_QUOTES)
