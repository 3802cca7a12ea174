"""Characters of a PubMed query to tokens with positions. Accepts any text."""

import re
from typing import NamedTuple

OPEN, CLOSE, PHRASE, TAG, OPERATOR, COLON, WORD, STRAY = (
    "open", "close", "phrase", "tag", "operator", "colon", "word", "stray",
)  # fmt: skip
_TOKEN = re.compile(
    r'(?P<word>[^\s()"\[\]&|:]+)|(?P<open>\()|(?P<close>\))|"(?P<phrase>[^"]*)"'
    r'|\[(?P<tag>[^\[\]"]*)\]|(?P<operator>[&|])|(?P<colon>:)|(?P<stray>["\[\]])'
)
_CURLY_QUOTES = dict.fromkeys(map(ord, "“”„‟«»″＂"), '"')
_MAY_OPERATE = (WORD, OPERATOR)
_OPERATORS = {"AND": "AND", "OR": "OR", "NOT": "NOT", "&": "AND", "|": "OR"}


class Token(NamedTuple):
    """`text` is without quotes or brackets; an operator's is AND, OR or NOT, however spelt.

    `position` and `end` bound it in the query, quotes and brackets included.
    """

    kind: str
    text: str
    position: int
    end: int


def lex(query: str) -> list[Token]:
    """The tokens of `query`. AND, OR and NOT are operators in capitals only; `&` and `|` always.

    A quotation mark or bracket without its partner is a `stray` token.
    """
    tokens: list[Token] = []
    plain = query if query.isascii() else query.translate(_CURLY_QUOTES)
    new, append = tuple.__new__, tokens.append
    for match in _TOKEN.finditer(plain):
        kind = match.lastgroup or STRAY
        text = match[kind]
        start, end = match.span()
        if text in _OPERATORS and kind in _MAY_OPERATE:
            append(new(Token, (OPERATOR, _OPERATORS[text], start, end)))
        else:
            append(new(Token, (kind, text, start, end)))
    return tokens
