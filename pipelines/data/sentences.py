"""Where sentences end, by rules for English prose as papers and encyclopedias have it.

A wrong cut breaks a statement in two, a missed one only makes a longer sentence: so where a full
stop is in doubt, the text goes on. Left out: languages that end sentences without punctuation.
"""

import re

Span = tuple[int, int]
"""Start and end of a piece of a text, without the white space around it."""

_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+[”’」』）]*|\n[^\S\n]*\n")
_OPENING = re.compile(r"[\"'“‘(\[]*")
_LAST_WORD = re.compile(r"[^\s\"'“‘(\[]*$")
_INITIALS = re.compile(r"(?:\w\.)*[^\W\d_]")  # of a name, or letters as in U.S.
_WORD = re.compile(r"\w+")
_NO_SPACE = re.compile(r"\S+")
_LOOK_BACK = 40  # characters; no abbreviation is longer

_NEVER = frozenset(
    "e.g i.e cf vs viz dr mr mrs ms prof st rev gen col capt lt sgt fig figs eq eqs ref refs tab "
    "sect sec vol vols ed eds ca resp dept univ gov m.d ph.d b.sc m.sc ph mt ft".split()
)
"""Words that a full stop shortens and that do not end a sentence."""
_SELDOM = frozenset(
    "al etc approx sp spp subsp var cv min max avg inc ltd co corp jr sr jan feb mar apr jun jul "
    "aug sept sep oct nov dec".split()
)
"""Words that a full stop shortens, and that may end a sentence too."""
_BEFORE_NUMBERS = frozenset("no nos p pp art ch chap nr cap".split())
_STARTERS = frozenset(
    "the this these those that we it in however our he she they there a an and but for as at on "
    "by to if when while although moreover furthermore thus therefore here both all no one two "
    "conclusion conclusions results methods background objective".split()
)
"""Words that more often begin a sentence than follow a capital letter with a full stop."""


def sentences(text: str) -> list[Span]:
    """The sentences of `text` in order. They hold every character of it but white space."""
    found: list[Span] = []
    start = 0
    for end in _END.finditer(text):
        if end[0].isspace() or not end[0].startswith(".") or _ends(text, end.start(), end.end()):
            _add(found, text, start, end.end())
            start = end.end()
    _add(found, text, start, len(text))
    return found


def words(text: str, start: int, end: int) -> list[Span]:
    """The words (runs of what is no white space) of `text[start:end]`."""
    return [match.span() for match in _NO_SPACE.finditer(text, start, end)]


def _add(found: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        found.append((start, start + len(stripped)))


def _ends(text: str, stop: int, after: int) -> bool:
    """Whether the full stop at `stop`, with what closes after it up to `after`, ends a sentence."""
    rest = text[after : after + _LOOK_BACK].lstrip()
    opened = _OPENING.match(rest)
    following = rest[opened.end() if opened else 0 :]
    first = following[:1]
    if first.islower():
        return False
    last = _LAST_WORD.search(text[max(0, stop - _LOOK_BACK) : stop])
    word = last[0].lower() if last else ""
    if word in _NEVER:
        return False
    if first.isdigit() and (word in _BEFORE_NUMBERS or word.isdigit()):
        return False
    if word in _SELDOM or _INITIALS.fullmatch(word):
        next_word = _WORD.match(following)
        return next_word is not None and next_word[0].lower() in _STARTERS
    return True
