"""Elements of PubMed XML as text, read fast."""

from collections.abc import Callable
from typing import Any

from lxml import etree

_REMEMBERED = 100_000
_UNKNOWN: Any = object()


def text_of(element: etree._Element) -> str:
    """All text inside, nested markup such as <i> and <sup> as plain text, spaces made single."""
    text = _inner(element) if len(element) else element.text
    if not text:
        return ""
    if text.isascii() and "\n" not in text and "  " not in text and "\t" not in text:
        return text.strip()
    return " ".join(text.split())


def _inner(element: etree._Element) -> str:
    return etree.tostring(element, method="text", encoding="unicode", with_tail=False)


def texts_of(parent: etree._Element, tag: str) -> tuple[str, ...]:
    """The texts of the children with this tag, but empty ones."""
    return tuple([text for child in parent if child.tag == tag and (text := text_of(child))])


def child_text(element: etree._Element, tag: str) -> str:
    """The text of the first child with this tag, or ""."""
    for child in element:
        if child.tag == tag:
            return text_of(child)
    return ""


class Known:
    """What elements that come again and again were read as, by how they are written.

    Writing an element out is several times cheaper than looking at it from Python. Safe in threads.
    """

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read
        self._found: dict[bytes, Any] = {}

    def get(self, element: etree._Element) -> Any:
        """`element` read, or remembered."""
        return self._at(etree.tostring(element, with_tail=False), element)

    def each(self, parent: etree._Element, end: bytes, up_to: bytes = b"") -> list[Any]:
        """Every child read, or remembered; all end with the tag `end`.

        What a child holds from `up_to` on does not matter to what is read.
        """
        written = etree.tostring(parent, with_tail=False).split(end)[:-1]
        if len(written) != len(parent):
            return [self._read(child) for child in parent]
        if up_to:
            written = [one.partition(up_to)[0] for one in written]
        found = [self._found.get(one, _UNKNOWN) for one in written]
        if _UNKNOWN in found:
            pairs = zip(found, written, parent, strict=True)
            return [self._at(w, child) if f is _UNKNOWN else f for f, w, child in pairs]
        return found

    def _at(self, key: bytes, element: etree._Element) -> Any:
        value = self._found.get(key, _UNKNOWN)
        if value is _UNKNOWN:
            if len(self._found) > _REMEMBERED:
                self._found.clear()
            value = self._found[key] = self._read(element)
        return value
