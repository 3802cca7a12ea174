"""A synthetic corpus of any size, made from real records, to measure searches and builds on.

A record takes the shape of one real record (number of sentences, headings, authors, what is given)
and fills it from others: sentences, MeSH headings, authors, journals. The vocabulary so keeps real
frequencies; and since in real text new words never end (Heaps' law), a share of the sentences
gets a word that no record had before. Same seed, same corpus.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice

from actors.search.types import Record

_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[(])")
_FIRST_DAY, _LAST_DAY = date(1975, 1, 1), date(2024, 12, 31)
_GROWTH = 0.7  # records a year grow so that this many times as many fall into the later half
_CONSONANTS, _VOWELS = "bcdfghklmnprstvz", "aeiou"
_FIRST_ID = 40_000_001
_FRESH_A_SENTENCE = 0.1


def synthetic_records(records: Sequence[Record], count: int, seed: int = 0) -> Iterator[Record]:
    """Yield `count` records made from `records`, with ids above all real PMIDs, dates spread.

    Raises ValueError when there is nothing to make them from.
    """
    return islice(_endless(records, random.Random(seed)), count)


def _endless(records: Sequence[Record], rng: random.Random) -> Iterator[Record]:
    if not records:
        raise ValueError("no records to make synthetic ones from")
    shapes = [
        (record, record.title, len(_sentences(record.abstract)), len(record.mesh))
        for record in records
    ]
    sentences = [s for record in records for s in _sentences(record.abstract)] or [""]
    authors = [pair for record in records for pair in _author_pairs(record)] or [("", "")]
    titles = [record.title for record in records if record.title] or [""]
    meshed = [record for record in records if record.mesh] or list(records)
    days = (_LAST_DAY - _FIRST_DAY).days
    draw, number = rng.random, _FIRST_ID
    words = 0
    while True:
        shape, title, long, headings = shapes[int(draw() * len(shapes))]
        text = []
        for _ in range(long):
            sentence = sentences[int(draw() * len(sentences))]
            if draw() < _FRESH_A_SENTENCE:
                sentence = f"{sentence} {_fresh(words).capitalize()} was seen."
                words += 1
            text.append(sentence)
        donor = meshed[int(draw() * len(meshed))] if headings else shape
        names = [authors[int(draw() * len(authors))] for _ in shape.authors]
        day = _FIRST_DAY + timedelta(int(days * draw() ** _GROWTH))
        yield replace(
            shape,
            id=str(number),
            title=_spliced(title, titles[int(draw() * len(titles))]),
            abstract=" ".join(text),
            abstract_parts=(),
            authors=tuple([short for short, _ in names]),
            full_authors=tuple([full for _, full in names]) if shape.full_authors else (),
            mesh=(*shape.mesh[: headings // 2], *donor.mesh[headings // 2 : headings]),
            chemicals=donor.chemicals,
            published=day,
            published_precision="day",
            electronic=None,
            entered=day,
            created=day,
            completed=None,
            revised=None,
            mesh_dated=None,
            doi="",
            other_ids=(),
            references=(),
        )
        number += 1


def _sentences(text: str) -> list[str]:
    return _SENTENCES.split(text) if text else []


def _author_pairs(record: Record) -> list[tuple[str, str]]:
    full = record.full_authors
    if len(full) != len(record.authors):
        full = record.authors
    return list(zip(record.authors, full, strict=True))


def _spliced(first: str, second: str) -> str:
    """The beginning of one title and the end of another."""
    head, tail = first.split(), second.split()
    return " ".join([*head[: (len(head) + 1) // 2], *tail[len(tail) // 2 :]])


def _fresh(number: int) -> str:
    """A pronounceable word for each number: 0 is `xbabaq`, 1 `xbebaq`; no two are alike."""
    pairs = []
    for _ in range(2):
        number, rest = divmod(number, len(_CONSONANTS) * len(_VOWELS))
        pairs.append(_CONSONANTS[rest // len(_VOWELS)] + _VOWELS[rest % len(_VOWELS)])
    while number:
        number, rest = divmod(number - 1, len(_CONSONANTS) * len(_VOWELS))
        pairs.append(_CONSONANTS[rest // len(_VOWELS)] + _VOWELS[rest % len(_VOWELS)])
    return "x" + "".join(pairs) + "q"
