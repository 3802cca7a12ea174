"""Snippets of one text, by their offsets, put together so that nothing stands twice."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a section of an article; `offset` is where it begins there, in characters."""

    article: str
    section: str
    offset: int
    text: str


def merged(snippets: Iterable[Snippet]) -> list[Snippet]:
    """Snippets of one section in the order of their offsets, each stretch of text once.

    What lies inside another is dropped; what overlaps is joined where both agree on what they
    share. Where the offsets say that two overlap and the texts do not, both stay.
    """
    kept: list[Snippet] = []
    for snippet in sorted(snippets, key=lambda each: (each.offset, -len(each.text), each.text)):
        if not snippet.text or any(snippet.text in each.text for each in kept):
            continue
        joined = _join(kept[-1], snippet) if kept else None
        if joined is not None:
            kept.pop()
        new = joined or snippet
        kept = [each for each in kept if each.text not in new.text]
        kept.append(new)
    return kept


def _join(first: Snippet, second: Snippet) -> Snippet | None:
    shared = first.offset + len(first.text) - second.offset
    if shared <= 0 or not second.text.startswith(first.text[-shared:]):
        return None
    text = first.text + second.text[shared:]
    return Snippet(first.article, first.section, first.offset, text)
