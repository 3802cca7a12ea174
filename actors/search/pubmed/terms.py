"""The words inside one term: pieces, truncation, stop words."""

import re
from functools import lru_cache

from actors.search.text import fold, words

MIN_TRUNCATED = 4
"""Characters that must stand before `*`, in a phrase all its words together."""

_STOP_WORDS = """
a about again all almost also although always among an and another any are as at be because been
before being between both but by can could did do does done due during each either enough
especially etc for found from further had has have having here how however i if in into is it
its itself just kg km made mainly make may mg might ml mm most mostly must nearly neither no nor
obtained of often on our overall perhaps pmc quite rather really regarding seem seen several
should show showed shown shows significantly since so some such than that the their theirs them
then there therefore these they this those through thus to upon use used using various very was
we were what when which while with within without would
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""PubMed's stop words (PubMed Help, "Stopwords"): ignored in unquoted text, kept in phrases."""

_PIECE = re.compile(r"[^\W_]+(?:[-‐'’][^\W_]+)*(?P<star>\*(?![^\W_]))?")
_PHRASE_STAR = re.compile(r"[^\W_]\*[^\w]*$")

_CACHED_CHARACTERS = 200  # longer texts do not come twice

Piece = tuple[str, ...]


def pieces(raw: str, before: bool = False) -> tuple[tuple[Piece, ...], bool]:
    """The pieces of an unquoted word as typed, and whether a `*` in it had to be ignored.

    `before`: enough characters of the same phrase stand before it to truncate any word.
    `low-dose` is one piece of two words, `0.5` two pieces, `diabet*` a piece that ends in `*`.
    """
    if raw.isascii() and raw.isalnum():
        return ((raw.lower(),),), False
    return (_pieces if len(raw) <= _CACHED_CHARACTERS else _pieces.__wrapped__)(raw, before)


@lru_cache(maxsize=16384)
def _pieces(raw: str, before: bool) -> tuple[tuple[Piece, ...], bool]:
    out, ignored = [], False
    folded = fold(raw)
    for match in _PIECE.finditer(folded):
        piece = tuple(words(match[0]))
        if match["star"]:
            if before or sum(map(len, piece)) >= MIN_TRUNCATED:
                piece = (*piece[:-1], piece[-1] + "*")
            else:
                ignored = True
        out.append(piece)
    used = sum(piece[-1].endswith("*") for piece in out)
    return tuple(out), ignored or folded.count("*") > used


def phrase(raw: str) -> tuple[Piece, bool]:
    """The words between two quotation marks, and whether a `*` among them had to be ignored."""
    return (_phrase if len(raw) <= _CACHED_CHARACTERS else _phrase.__wrapped__)(raw)


@lru_cache(maxsize=16384)
def _phrase(raw: str) -> tuple[Piece, bool]:
    found = words(raw)
    if "*" not in raw or not found:
        return tuple(found), "*" in raw
    if _PHRASE_STAR.search(fold(raw)) and sum(map(len, found)) >= MIN_TRUNCATED:
        return (*found[:-1], found[-1] + "*"), raw.count("*") > 1
    return tuple(found), True
