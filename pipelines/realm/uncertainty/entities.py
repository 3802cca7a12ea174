"""The named entities of a step, without a model: capitalised runs, dates and years, numbers with
units, quoted names, and titles of the index.

Capitals mark names in English; a word that stands capitalised only because a sentence begins is
told by a list and by its ending. Left out: names in lower case that are no title, and scripts
without capitals.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from actors.search.text import fold, words
from pipelines.realm.uncertainty.common_words import CONNECTORS, STARTERS


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


_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1\d{3}|20\d{2})"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?"
    rf"|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+{_YEAR})?"
    rf"|{_MONTH},?\s+{_YEAR}|{_YEAR}s?)\b(?![.,]\d)"
)
_UNITS = (
    r"%|per\s?cent\b|°[CF]\b|(?:(?:square|cubic)\s+)?(?:"
    "km²|km2|km|kilomet(?:er|re)s?|m²|met(?:er|re)s?|cm|mm|miles?|feet|foot|ft|inch(?:es)?|acres?|"
    "hectares?|kg|kilograms?|grams?|tonn?es?|tons?|pounds?|lbs?|lit(?:er|re)s?|gallons?|"
    "mph|kmh|km/h|hours?|minutes?|seconds?|days?|weeks?|months?|years?|"
    "hundred|thousand|million|billion|trillion|people|inhabitants|residents|seats|episodes|"
    r"dollars?|euros?|yen|goals|points|votes)\b"
)
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:[$€£¥]\s?\d[\d,]*(?:\.\d+)?(?:\s+(?:million|billion|trillion))?"
    rf"|\d[\d,]*(?:\.\d+)?(?:\s|-)?(?:{_UNITS}))"
)
_QUOTED = re.compile(r'"([^"\n]{2,80})"|“([^”\n]{2,80})”|‘([^’\n]{2,80})’')
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;]['\"”’)\]]*\s|\n|[-*•]\s|[\"“(]\s*)\s*$")
_POSSESSIVE = re.compile(r"['’](?:s|S)$|['’]$")
_ENDINGS = ("ing", "ly", "ed")
_MOST_QUOTED_WORDS = 8
_BARE_MONTH = re.compile(rf"{_MONTH}\Z")
_NUMERAL = re.compile(r"\d+\Z")


class TitleIndex:
    """The titles of an index, found in texts by their words. `Inception (film)` also goes by what
    stands before its bracket. Titles of one common word alone are not looked for."""

    def __init__(self, titles: Iterable[str] = ()) -> None:
        self._titles: dict[tuple[str, ...], str] = {}
        self._longest: dict[str, int] = {}
        for title in titles:
            self._add(title, title)
            bare = re.sub(r"\s*\([^)]*\)\s*$", "", title)
            if bare != title:
                self._add(bare, title)

    def __len__(self) -> int:
        return len(self._titles)

    def title(self, name: str) -> str:
        """The title that `name` is, "" for none."""
        return self._titles.get(tuple(words(name)), "")

    def find(self, text: str) -> list[Entity]:
        """Titles in `text`, longest first at each word, none inside another."""
        if not self._titles:
            return []
        spans = [match.span() for match in _WORD.finditer(text)]
        spelled = [tuple(words(text[start:end])) for start, end in spans]
        found, place = [], 0
        while place < len(spans):
            width = self._match(text, spans, spelled, place)
            if width:
                start, end = spans[place][0], spans[place + width - 1][1]
                end = start + len(_POSSESSIVE.sub("", text[start:end]))
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
            name = _POSSESSIVE.sub("", text[start:end])
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
    begins = _SENTENCE_START.search(text[:start][-8:] if start else "") is not None
    return not (begins and all(part.lower() in STARTERS for part in meant))


def find_entities(text: str, titles: TitleIndex | None = None) -> list[Entity]:
    """The entities of `text` in their order; of several that overlap the first by kind (titles,
    quotes, dates, numbers, names), then the longest. A name that is part of a longer one found is
    left out, as is a repetition."""
    titles = titles or TitleIndex()
    candidates = [*titles.find(text), *_quoted(text)]
    candidates += _matches(_DATE, Kind.DATE, text) + _matches(_NUMBER, Kind.NUMBER, text)
    candidates += _names(text, titles)
    order = list(Kind)
    candidates.sort(key=lambda e: (_rank(e, candidates, order), e.start - e.end, e.start))
    kept: list[Entity] = []
    for entity in candidates:
        if all(entity.end <= other.start or other.end <= entity.start for other in kept):
            kept.append(entity)
    return _unique(sorted(kept, key=lambda e: e.start))


def _rank(entity: Entity, candidates: list[Entity], order: list[Kind]) -> int:
    """A title that is only a part of a longer name gives way to it."""
    if entity.kind is Kind.TITLE and any(
        other.kind is Kind.NAME
        and other.start <= entity.start
        and entity.end <= other.end
        and other.end - other.start > entity.end - entity.start
        for other in candidates
    ):
        return len(order)
    return order.index(entity.kind)


def _unique(entities: list[Entity]) -> list[Entity]:
    keys = [f" {entity.key} " for entity in entities]
    return [
        entity
        for place, (entity, key) in enumerate(zip(entities, keys, strict=True))
        if key.strip()
        and key not in keys[:place]
        and not any(
            key in other and key != other
            for other, longer in zip(keys, entities, strict=True)
            if longer.kind not in (Kind.DATE, Kind.NUMBER)
        )
    ]


def _quoted(text: str) -> list[Entity]:
    found = []
    for match in _QUOTED.finditer(text):
        group = next(number for number in (1, 2, 3) if match[number] is not None)
        start, end = match.span(group)
        name = text[start:end].rstrip(" ,.;:")
        name = name.lstrip()
        start = text.index(name, start) if name else start
        first = name[:1]
        if (
            name
            and (first.isupper() or first.isdigit())
            and len(name.split()) <= _MOST_QUOTED_WORDS
        ):
            found.append(Entity(name, Kind.QUOTED, start, start + len(name)))
    return found


def _matches(pattern: re.Pattern[str], kind: Kind, text: str) -> list[Entity]:
    return [Entity(match[0], kind, *match.span()) for match in pattern.finditer(text)]


def _names(text: str, titles: TitleIndex) -> list[Entity]:
    """Runs of capitalised words, with connectors (`of`, `de`) inside."""
    runs: list[list[re.Match[str]]] = [[]]
    waiting: list[re.Match[str]] = []
    last_end = 0
    for match in _WORD.finditer(text):
        apart = text[last_end : match.start()]
        broken = bool(apart.strip(" \t-–'’.")) or "\n" in apart or _full_stop(text, apart, runs)
        if broken:
            runs.append([])
            waiting = []
        last_end = match.end()
        word = match[0]
        if word[0].isupper() or (runs[-1] and not waiting and _NUMERAL.match(word)):
            runs[-1] += [*waiting, match]
            waiting = []
        elif runs[-1] and word in CONNECTORS and len(waiting) < 2:
            waiting.append(match)
        elif runs[-1]:
            runs.append([])
            waiting = []
        if _POSSESSIVE.search(word) and runs[-1]:
            runs.append([])
            waiting = []
    return [entity for run in runs if run for entity in _trimmed(text, run, titles)]


def _full_stop(text: str, apart: str, runs: list[list[re.Match[str]]]) -> bool:
    """Whether the gap ends a sentence: a full stop that no initial or title (`J.`, `St.`) asks."""
    if "." not in apart:
        return False
    last = runs[-1][-1][0] if runs[-1] else ""
    return not (len(last) == 1 or last in ("St", "Dr", "Mr", "Mrs", "Ms", "Jr", "Sr", "Mt", "Ft"))


def _trimmed(text: str, run: list[re.Match[str]], titles: TitleIndex) -> list[Entity]:
    """The run as a name: without what a sentence capitalised, and without an ending `'s`."""
    begins = _SENTENCE_START.search(text[max(0, run[0].start() - 8) : run[0].start()]) is not None
    whole = text[run[0].start() : run[-1].end()]
    if begins and not titles.title(_POSSESSIVE.sub("", whole)):
        while run and run[0][0].lower() in STARTERS:
            run = run[1:]
            while run and run[0][0] in CONNECTORS:
                run = run[1:]
    if not run:
        return []
    start, end = run[0].start(), run[-1].end()
    name = _POSSESSIVE.sub("", text[start:end])
    if len(run) == 1:
        lower = name.lower()
        if len(name) == 1 or lower in STARTERS or _BARE_MONTH.match(name):
            return []
        if begins and start == run[0].start() and lower.endswith(_ENDINGS) and lower == fold(lower):
            return []
    return [Entity(name, Kind.NAME, start, start + len(name), titles.title(name))]


def mentions(needle: str, text: str) -> bool:
    """Whether `text` has the words of `needle` side by side, case and accents aside."""
    sought = words(needle)
    return bool(sought) and f" {' '.join(sought)} " in f" {' '.join(words(text))} "
