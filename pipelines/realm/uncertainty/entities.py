"""The named entities of a step, without a model: capitalised runs, dates and years, numbers with
units, quoted names, and titles of the index.

Capitals mark names in English; a word that stands capitalised only because a sentence begins is
told by a list and by its ending. Left out: names in lower case that are no title, and scripts
without capitals.
"""

import re

from actors.search.text import fold
from pipelines.realm.uncertainty.common_words import CONNECTORS
from pipelines.realm.uncertainty.spans import (
    WORD,
    Entity,
    Kind,
    bare,
    begins_sentence,
    ends_possessive,
    is_common,
)
from pipelines.realm.uncertainty.titles import TitleIndex

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1\d{3}|20\d{2})"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?"
    rf"|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+{_YEAR})?"
    rf"|{_MONTH},?\s+{_YEAR}|\d{{1,4}}\s?(?:BCE?|CE|AD)|AD\s?\d{{1,4}}|{_YEAR}s?)\b(?![.,]\d)"
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
_ENDINGS = ("ing", "ly", "ed")
_MOST_QUOTED_WORDS = 8
_BARE_MONTH = re.compile(rf"{_MONTH}\Z")
_NUMERAL = re.compile(r"\d+\Z")


def find_entities(text: str, titles: TitleIndex | None = None) -> list[Entity]:
    """The entities of `text` in their order; of several that overlap the first by kind (titles,
    quotes, dates, numbers, names), then the longest. A name that is part of a longer one found is
    left out, as is a repetition."""
    titles = titles or TitleIndex()
    candidates = [*titles.find(text), *_quoted(text)]
    candidates += _matches(_DATE, Kind.DATE, text) + _matches(_NUMBER, Kind.NUMBER, text)
    candidates += _names(text, titles)
    order = list(Kind)
    kept: list[Entity] = []
    for entity in sorted(
        candidates, key=lambda e: (_rank(e, candidates, order), e.start - e.end, e.start)
    ):
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
    for match in WORD.finditer(text):
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
        if ends_possessive(word) and runs[-1]:
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
    begins = begins_sentence(text, run[0].start())
    whole = text[run[0].start() : run[-1].end()]
    if begins and not titles.title(bare(whole)):
        while run and is_common(run[0][0].lower()):
            run = run[1:]
            while run and run[0][0] in CONNECTORS:
                run = run[1:]
    if not run:
        return []
    start, end = run[0].start(), run[-1].end()
    name = bare(text[start:end])
    if len(run) == 1:
        lower = name.lower()
        if len(name) == 1 or is_common(lower) or _BARE_MONTH.match(name):
            return []
        if begins and start == run[0].start() and lower.endswith(_ENDINGS) and lower == fold(lower):
            return []
    return [Entity(name, Kind.NAME, start, start + len(name), titles.title(name))]
