"""Reading bodies that are not always what they claim to be: JSON, XML, error pages."""

import html
import json
import re
from typing import Any

import orjson
from lxml import etree

from actors.search.live.errors import TransientError

_EXCERPT = 200


def excerpt(body: bytes) -> str:
    """The start of a body as one line of text, markup of an error page dropped."""
    text = body[:20_000].decode("utf-8", "replace")
    if "<" in text:
        text = re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>", " ", text)
        text = html.unescape(text)
    text = " ".join(text.split())
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "..."


def is_markup(body: bytes) -> bool:
    """True for XML and HTML."""
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"


def read_json(body: bytes) -> Any:
    """A JSON body; control characters inside strings are taken as they stand.

    E-utilities put raw newlines into error texts (paperscraper issue 40). TransientError for
    anything that is not JSON: cut, empty, an HTML error page.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        raise TransientError(f"a malformed body: {excerpt(body) or 'empty'}") from None


def read_xml(body: bytes, *roots: str) -> etree._Element:
    """The root of an XML body, which must be one of `roots`. No DTD or entity is fetched.

    TransientError for anything else: cut, empty, an HTML error page.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    try:
        root = etree.fromstring(body.strip(), parser)
    except (etree.XMLSyntaxError, ValueError):
        raise TransientError(f"a malformed body: {excerpt(body) or 'empty'}") from None
    if root.tag not in roots:
        raise TransientError(f"an unexpected <{root.tag}> answer: {excerpt(body)}")
    return root


def text_of(element: etree._Element | None) -> str:
    """All text inside, nested markup as plain text, spaces made single."""
    return "" if element is None else " ".join("".join(element.itertext()).split())
