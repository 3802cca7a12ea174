"""What readers of question sets share."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipelines.data.chunks import Document
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields, read_objects


def lines(path: str | Path) -> Iterator[Fields]:
    """Yield the objects of a file. Raises `CorpusError`."""
    for line, values in read_objects(path):
        yield Fields(values, path, line)


def once(known: dict[str, Any], place: str, id: str) -> None:
    """Raises `CorpusError` for an id that is known already."""
    if id in known:
        raise CorpusError(f"{place}: id {id} comes twice")


def not_empty(path: str | Path, documents: Iterable[Document]) -> tuple[Document, ...]:
    """The documents. Raises `CorpusError` where there are none."""
    found = tuple(documents)
    if not found:
        raise CorpusError(f"{path}: holds no document")
    return found


def texts(fields: Fields, *names: str) -> tuple[str, ...]:
    """The first field of these that is there, a text or a list of texts, without empty ones."""
    for name in names:
        if isinstance(fields.values.get(name), list):
            return tuple(text for each in fields.texts(name) if (text := clean(each)))
        if fields.text(name):
            return (clean(fields.text(name)),)
    return ()


def clean(text: str) -> str:
    """Text that can be encoded: half a surrogate pair becomes the replacement character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.strip()
