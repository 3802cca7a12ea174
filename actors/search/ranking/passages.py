"""What a passage is, to an index: an id, a title and a text."""

import hashlib
import json
from collections.abc import Iterable
from typing import Protocol


class Passage(Protocol):
    """One document of a collection; `title` may be empty."""

    @property
    def id(self) -> str:
        """Unique in its collection."""

    @property
    def title(self) -> str:
        """May be empty."""

    @property
    def text(self) -> str:
        """The body."""


def contents(passage: Passage) -> str:
    """What is indexed: title and text, the title once where the text begins with it."""
    title, text = passage.title.strip(), passage.text.strip()
    if not title or text.startswith(title):
        return text
    return f"{title} {text}".strip()


def passages_hash(passages: Iterable[Passage]) -> str:
    """SHA-256, in hexadecimal, over ids, titles and texts in their order."""
    digest = hashlib.sha256()
    for passage in passages:
        line = json.dumps([passage.id, passage.title, passage.text], ensure_ascii=False)
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()
