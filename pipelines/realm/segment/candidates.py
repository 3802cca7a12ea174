"""Where a step could end: after a sentence, at the end of a line, around a tag such as </think>.

Whether a place is one is read from `LOOK_BACK` characters before it and `LOOK_AHEAD` behind it, so
a text fed in pieces of any size gives the same places as the whole, at most `LOOK_AHEAD` characters
late. Rather one place too many than one missing: the segmenters choose among them.
"""

import re
from dataclasses import dataclass

LOOK_BACK, LOOK_AHEAD = 48, 32  # characters

_TAG = r"</?[A-Za-z][\w-]{0,15}>"
_END = re.compile(rf"[.!?…][.!?…\"'”’)\]*]*|[。！？]+[”’」』）]*|\n|(?={_TAG})|{_TAG}", re.ASCII)
"""Signs that a step may be over. Nothing, before a tag: what stands before it ends."""
_ABBREVIATED = frozenset(
    "e.g i.e cf vs viz dr mr mrs ms prof st rev gen col capt lt sgt fig figs eq eqs ref refs "
    "approx ph.d m.d inc ltd co corp jr sr u.s u.k u.n d.c a.m p.m b.c a.d".split()
)
_LAST_WORD = re.compile(r"[^\s\"'“‘(\[$]*$")
_FIRST_WORD = re.compile(r"[\"'“‘(\[*]*([^\W\d_]+(?:['’][^\W\d_]+)?)")
_SPACE = re.compile(r"\s*")
_LIST_ITEM = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s")

_BEFORE_NUMBERS = frozenset("no nos p pp ch vol art sec eq fig".split())
STARTERS = frozenset(
    "the this these those that we it in however our he she they there a an and but for as at on "
    "by to if when while so then now first second third next finally let let's wait hmm maybe "
    "perhaps therefore thus hence since because okay ok alright well yes yep no not actually "
    "alternatively another also i i'm i'll my you your is are was were does do can could would "
    "should what which who where why how each all both given using plugging going option "
    "statement choice substituting looking just".split()
)
"""Words that begin a sentence after a single letter with a full stop (`the value of x. So ...`),
where another word would go on with a name (`J. Smith`)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a step could end: `text[:offset]` ends with no white space."""

    offset: int
    newlines: int
    """In the white space behind it: 0, 1, or 2 for two and more."""
    tag: bool
    """A tag stands right before or right behind it."""
    sentence: bool
    """A sentence ends here; False: only a line does."""
    opening: str
    """The next words in lower case, as far as they can be seen."""
    list_item: bool
    """What follows begins with a bullet or a number."""


class CandidateFinder:
    """Finds the candidates of a text that grows."""

    def __init__(self) -> None:
        self.text = ""
        self._scanned = 0
        self._last = 0

    def feed(self, text: str) -> list[Candidate]:
        """Takes more text; gives the candidates that are certain now, in order."""
        self.text += text
        return self._find(len(self.text) - LOOK_AHEAD)

    def finish(self) -> list[Candidate]:
        """The text ends: the candidates that waited."""
        return self._find(len(self.text))

    def _find(self, until: int) -> list[Candidate]:
        """Candidates whose end sign ends at or before `until`."""
        found: list[Candidate] = []
        for end in _END.finditer(self.text, self._scanned):
            if end.end() > until:
                break
            self._scanned = end.end()
            made = self._candidate(end.end(), end[0])
            if made is not None:
                found.append(made)
                self._last = made.offset
        return found

    def _candidate(self, place: int, sign: str) -> Candidate | None:
        before = self.text[max(0, place - LOOK_BACK) : place].rstrip()
        rest = self.text[place : place + LOOK_AHEAD]
        following = rest.lstrip()
        offset = place - (min(LOOK_BACK, place) - len(before))
        if not following or not before or offset <= self._last:
            return None
        tag = sign[:1] in ("", "<")
        line = sign == "\n"
        if not tag and not line and not _ends_sentence(before, sign, rest):
            return None
        gap = self.text[offset:place] + _SPACE.match(rest)[0]  # type: ignore[index]
        return Candidate(
            offset=offset,
            newlines=min(2, gap.count("\n")),
            tag=tag,
            sentence=not line or before[-1] in '.!?…。！？:"”’)]*',
            opening=opening(following),
            list_item=_LIST_ITEM.match(following) is not None,
        )


def candidates(text: str) -> list[Candidate]:
    """All candidates of a whole text."""
    finder = CandidateFinder()
    return finder.feed(text) + finder.finish()


def opening(following: str) -> str:
    """The words that `following` begins with, behind a bullet, up to three, in lower case, joined
    by a blank."""
    words: list[str] = []
    bullet = _LIST_ITEM.match(following)
    at = bullet.end() if bullet else 0
    while len(words) < 3 and (match := _FIRST_WORD.match(following, at)):
        if match.end() == len(following) and words:  # may be cut
            break
        words.append(match[1].lower().replace("’", "'"))
        at = _SPACE.match(following, match.end()).end()  # type: ignore[union-attr]
    return " ".join(words)


def _ends_sentence(before: str, sign: str, rest: str) -> bool:
    """Whether a sentence that ends in `before` is over. `rest` is what follows, as it stands."""
    following = rest.lstrip()
    if sign[0] in "。！？":
        return True
    if rest[0] not in " \t\n\r\u00a0" or following[0] in ",;":
        return False
    if sign[0] != ".":
        return sign[0] != "…" or not following[0].islower()
    stem = before[: len(before) - len(sign)]
    word = _LAST_WORD.search(stem)[0].lower()  # type: ignore[index]
    if following[0].islower():
        return False
    if len(sign) > 1:
        return True
    if word in _ABBREVIATED or (word in _BEFORE_NUMBERS and following[0].isdigit()):
        return False
    first = _FIRST_WORD.match(following)
    next_word = first[1].lower().replace("’", "'") if first else ""
    if len(word) == 1 and word.isalpha():
        return next_word in STARTERS
    line_start = stem.rstrip(word)[-1:] in ("", "\n")
    return not (word.isdigit() and len(word) <= 2 and line_start)  # the number of a list item
