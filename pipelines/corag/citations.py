"""Which chunks an answer rests on: by its [n] marks or, where it has none, by its words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.corag.rouge import stems
from pipelines.data.chunks import Chunk

CITED, INFERRED, NONE = "cited", "inferred", "none"
LEAST_SHARE = 0.5
"""Share of a sentence's content words that a chunk must hold to be inferred as its source."""
_MARK = re.compile(r"\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")
_MARK_AND_BLANKS = re.compile(rf"\s*{_MARK.pattern}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FUNCTION_WORDS = frozenset(
    "a about after all also an and any are as at be because been but by can could did do does for "
    "from had has have how if in into is it its may might more most no not of on one or other our "
    "out over should so some such than that the their them then there these they this those to "
    "under up was we were what when where which while who will with would yes you your".split()
)


@dataclass(frozen=True, slots=True)
class Citations:
    """`ids` of chunks, first used first.

    `kind` says how they are known: `cited` (the answer has [n] marks), `inferred` (it has none that
    count; its sentences share at least half of their content words with these chunks) or `none`.
    `wrong_marks` counts marks of a number that no chunk has.
    """

    ids: tuple[str, ...]
    kind: str
    wrong_marks: int = 0


def without_marks(text: str) -> str:
    """The answer without [n] marks: what is scored, for reference answers have none."""
    return _MARK_AND_BLANKS.sub("", text).strip()


def citations(text: str, chunks: Sequence[Chunk]) -> Citations:
    """What the answer `text` cites of `chunks`, numbered from 1."""
    numbers = [int(n) for marks in _MARK.findall(text) for n in re.split(r"[,;]", marks)]
    known = [chunks[n - 1].id for n in numbers if 1 <= n <= len(chunks)]
    wrong = len(numbers) - len(known)
    if known:
        return Citations(tuple(dict.fromkeys(known)), CITED, wrong)
    inferred = _inferred(without_marks(text), chunks)
    return Citations(inferred, INFERRED if inferred else NONE, wrong)


def _inferred(text: str, chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """For every sentence the chunk that holds most of its content words, the first of equals."""
    held = [_content(chunk.text) for chunk in chunks]
    found: dict[str, None] = {}
    for sentence in _SENTENCE.split(text):
        words = _content(sentence)
        if not words or not held:
            continue
        shares = [len(words & there) / len(words) for there in held]
        if max(shares) >= LEAST_SHARE:
            found[chunks[shares.index(max(shares))].id] = None
    return tuple(found)


def _content(text: str) -> frozenset[str]:
    return frozenset(stems(text)) - _FUNCTION_WORDS
