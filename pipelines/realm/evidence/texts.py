"""How passages read once they stand in a chain."""

from collections.abc import Sequence

from pipelines.realm.types import Passage


def titled(title: str, text: str) -> str:
    """`Title: text`; the text alone where it begins with its title, or has none."""
    title, text = title.strip(), text.strip()
    if not title or text.startswith(title):
        return text
    return f"{title}: {text}".strip()


def whole(passages: Sequence[Passage]) -> str:
    """All of every passage, one a line, in their order."""
    return "\n".join(filter(None, (titled(each.title, each.text) for each in passages)))
