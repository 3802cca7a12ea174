"""What an entity is, and how names are told from other capitalised words."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from actors.search.text import words
from pipelines.realm.uncertainty.common_words import STARTERS

WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;]['\"”’)\]]*\s|\n|[-*•]\s|[\"“(]\s*)\s*$")
_POSSESSIVE = re.compile(r"['’](?:s|S)$|['’]$")
_LOOK_BACK = 8


class Kind(StrEnum):
    """How an entity was found."""

    TITLE = "title"
    QUOTED = "quoted"
    DATE = "date"
    NUMBER = "number"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Entity:
    """`text` is `step[start:end]`; `title` the title of the index that it is, "" for none."""

    text: str
    kind: Kind
    start: int
    end: int
    title: str = ""

    @property
    def key(self) -> str:
        """What two spellings of one entity share."""
        return " ".join(words(self.text))


def begins_sentence(text: str, start: int) -> bool:
    """Whether a sentence, a line or a quotation begins at `start`."""
    return _SENTENCE_START.search(text[max(0, start - _LOOK_BACK) : start]) is not None


def ends_possessive(word: str) -> bool:
    """Whether `word` ends in `'s`."""
    return _POSSESSIVE.search(word) is not None


def bare(name: str) -> str:
    """`name` without an ending `'s`."""
    return _POSSESSIVE.sub("", name)


def is_common(word: str) -> bool:
    """Whether the lower-case `word`, or what stands before its apostrophe, is no name."""
    return word in STARTERS or re.split("['’]", word, maxsplit=1)[0] in STARTERS


def mentions(needle: str, text: str) -> bool:
    """Whether `text` has the words of `needle` side by side, case and accents aside."""
    sought = words(needle)
    return bool(sought) and f" {' '.join(sought)} " in _spaced(text)


@lru_cache(maxsize=20_000)
def _spaced(text: str) -> str:
    """The words of `text`, a space before and after each: passages are looked at time and again."""
    return f" {' '.join(words(text))} "
