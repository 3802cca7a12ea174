"""The titles of an index, as names in a text."""

import re
from collections.abc import Iterable

from actors.search.text import words
from pipelines.realm.uncertainty.common_words import CONNECTORS, STARTERS
from pipelines.realm.uncertainty.spans import WORD, Entity, Kind, bare, begins_sentence

_BRACKET = re.compile(r"\s*\([^)]*\)\s*$")


class TitleIndex:
    """The titles of an index, found in texts by their words. `Inception (film)` also goes by what
    stands before its bracket. Titles of one common word alone are not looked for."""

    def __init__(self, titles: Iterable[str] = ()) -> None:
        self._titles: dict[tuple[str, ...], str] = {}
        self._longest: dict[str, int] = {}
        for title in titles:
            self._add(title, title)
            short = _BRACKET.sub("", title)
            if short != title:
                self._add(short, title)

    def __len__(self) -> int:
        return len(self._titles)

    def title(self, name: str) -> str:
        """The title that `name` is, "" for none."""
        return self._titles.get(tuple(words(name)), "")

    def find(self, text: str) -> list[Entity]:
        """Titles in `text`, longest first at each word, none inside another."""
        if not self._titles:
            return []
        spans = [match.span() for match in WORD.finditer(text)]
        spelled = [tuple(words(text[start:end])) for start, end in spans]
        found, place = [], 0
        while place < len(spans):
            width = self._match(text, spans, spelled, place)
            if width:
                start, end = spans[place][0], spans[place + width - 1][1]
                end = start + len(bare(text[start:end]))
                name = text[start:end]
                found.append(Entity(name, Kind.TITLE, start, end, self.title(name)))
            place += width or 1
        return found

    def _match(
        self,
        text: str,
        spans: list[tuple[int, int]],
        spelled: list[tuple[str, ...]],
        place: int,
    ) -> int:
        """Number of text words of the longest title at `place`; 0 for none."""
        first = spelled[place][0] if spelled[place] else ""
        longest = self._longest.get(first, 0)
        for width in range(min(longest, len(spans) - place), 0, -1):
            start, end = spans[place][0], spans[place + width - 1][1]
            name = bare(text[start:end])
            key = tuple(words(name))
            if key in self._titles and _is_name(text, start, name):
                return width
        return 0

    def _add(self, name: str, title: str) -> None:
        key = tuple(words(name))
        if not key or (len(key) == 1 and key[0] in STARTERS):
            return
        self._titles.setdefault(key, title)
        self._longest[key[0]] = max(self._longest.get(key[0], 0), len(name.split()) + 1)


def _is_name(text: str, start: int, name: str) -> bool:
    """Whether `name` is written as one: long enough, or with capitals that no sentence asks for."""
    parts = name.split()
    meant = [part for part in parts if part.lower() not in CONNECTORS]
    if len(parts) >= 3 and len(meant) >= 2:
        return True
    if name.isdigit():
        return False
    upper = [part for part in meant if part[:1].isupper() or part[:1].isdigit()]
    if len(upper) < max(1, len(meant)):
        return False
    begins = begins_sentence(text, start)
    return not (begins and all(part.lower() in STARTERS for part in meant))
