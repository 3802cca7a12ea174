"""How passages read once they stand in a chain."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.data.sentences import sentences
from pipelines.realm.types import Passage


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence of the passage at position `passage`, as it stands there."""

    passage: int
    text: str
    title: str

    @property
    def read(self) -> str:
        """With its passage's title: most sentences name their subject as "he" or "the film"."""
        return titled(self.title, self.text)


def parts(passages: Sequence[Passage]) -> list[Part]:
    """The sentences of all passages, in reading order. A passage without text has its title."""
    found: list[Part] = []
    for position, passage in enumerate(passages):
        spans = sentences(passage.text)
        texts = [passage.text[start:end] for start, end in spans] or [passage.title.strip()]
        found.extend(Part(position, text, passage.title) for text in texts if text)
    return found


def titled(title: str, text: str) -> str:
    """`Title: text`; the text alone where it begins with its title, or has none."""
    title, text = title.strip(), text.strip()
    if not title or text.startswith(title):
        return text
    return f"{title}: {text}".strip()


def whole(passages: Sequence[Passage]) -> str:
    """All of every passage, one a line, in their order."""
    return "\n".join(filter(None, (titled(each.title, each.text) for each in passages)))
