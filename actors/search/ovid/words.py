"""Words of an Ovid term as patterns of the query tree.

Ovid: `$`, `*` and `:` end a word of any ending, with a number of at most so many characters; `?`
stands for at most one character, `#` for exactly one; a hyphen is a space (Ovid Online Help,
"Advanced Search Techniques": Truncation and Wild Cards). Neither may come first.
"""

import re

from actors.search.text import fold

_WORD = re.compile(
    r"(?P<stem>[^\W_][^\W_?#]*(?:[?#]+[^\W_?#]*)*)(?:(?P<mark>[$*:])[$*:]*(?P<most>\d{1,2})?)?"
)


def patterns(text: str) -> tuple[tuple[str, ...], bool]:
    """The words of `text` in the tree's notation, and whether a wildcard had to be ignored.

    `"Anti-tumo?r dos$2"` gives `("anti", "tumo?r", "dos*2")`.
    """
    folded = fold(text)
    if folded.isalnum():
        return (folded,), False
    out: list[str] = []
    end = 0
    ignored = any(char in "$*?" for char in _WORD.sub("", folded))
    for match in _WORD.finditer(folded):
        ignored |= match.start() == end > 0 and folded[end - 1] in "$*"
        end = match.end()
        stem, mark, most = match["stem"], match["mark"], match["most"]
        if mark == ":" and end < len(folded) and not folded[end].isspace():
            mark = ""  # a colon between words
        ending = str(int(most)) if most else ""
        out.append(f"{stem}*{ending}" if mark and ending != "0" else stem)
    return tuple(out), ignored
