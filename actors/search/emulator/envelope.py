"""The wrapping that every E-utility shares: document types, escaping, XML and JSON bodies."""

import json as standard_json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from actors.search.http import Response

XML = "text/xml; charset=UTF-8"
JSON = "application/json; charset=UTF-8"
TEXT = "text/plain; charset=UTF-8"

_EUTILS = "https://eutils.ncbi.nlm.nih.gov/eutils/dtd"
# Name of the utility or format: (root element, public id, system id), as the service sends them.
DOCTYPES = {
    "esearch": ("eSearchResult", "esearch 20060628", f"{_EUTILS}/20060628/esearch.dtd"),
    "epost": ("ePostResult", "epost 20090526", f"{_EUTILS}/20090526/epost.dtd"),
    "einfo": ("eInfoResult", "einfo 20190110", f"{_EUTILS}/20190110/einfo.dtd"),
    "elink": ("eLinkResult", "elink 20101123", f"{_EUTILS}/20101123/elink.dtd"),
    "efetch": ("eFetchResult", "efetch 20131226", f"{_EUTILS}/20131226/efetch.dtd"),
    "esummary": ("eSummaryResult", "esummary v1 20041029", f"{_EUTILS}/20041029/esummary-v1.dtd"),
    "docsum": (
        "eSummaryResult",
        "esummary pubmed 20160808",
        f"{_EUTILS}/20160808/esummary_pubmed.dtd",
    ),
    "espell": (
        "eSpellResult",
        "eSpellResult, 23 November 2004",
        "https://www.ncbi.nlm.nih.gov/entrez/query/DTD/eSpell.dtd",
    ),
    "pubmed": (
        "PubmedArticleSet",
        "PubMedArticle, 1st January 2025",
        "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd",
    ),
}

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = re.compile('[^&<>"\r\n\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]*')


def clean(text: str) -> str:
    """`text` with every character that XML 1.0 cannot hold made a space."""
    return _NOT_XML.sub(" ", text)


def escape(text: str) -> str:
    """`text` as XML character data."""
    if _PLAIN.fullmatch(text):
        return text
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def element(name: str, text: object = "", **attributes: str) -> str:
    """`<name a="b">text</name>`; an empty text gives the pair of tags as well."""
    return f"<{name}{_attributes(attributes)}>{escape(str(text))}</{name}>"


def wrap(name: str, *inner: str, **attributes: str) -> str:
    """An element around markup that is already XML."""
    return f"<{name}{_attributes(attributes)}>{''.join(inner)}</{name}>"


def _attributes(attributes: Mapping[str, str]) -> str:
    if not attributes:
        return ""
    return "".join([f' {key}="{_quoted(value)}"' for key, value in attributes.items()])


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return escape(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


def xml(kind: str, inner: str, status: int = 200) -> Response:
    """The XML answer of `kind` (a key of `DOCTYPES`) around `inner`."""
    root, public, system = DOCTYPES[kind]
    body = (
        '<?xml version="1.0" encoding="UTF-8" ?>\n'
        f'<!DOCTYPE {root} PUBLIC "-//NLM//DTD {public}//EN" "{system}">\n'
        f"<{root}>{inner}</{root}>\n"
    )
    return Response(status, XML, body.encode())


def json(kind: str, content: Mapping[str, Any], status: int = 200) -> Response:
    """The JSON answer of utility `kind`: the service's header, then `content`."""
    whole = {"header": {"type": kind, "version": "0.3"}} | dict(content)
    try:
        body = orjson.dumps(whole)
    except TypeError:  # half of a surrogate pair, which orjson refuses
        body = standard_json.dumps(whole).encode()
    return Response(status, JSON, body + b"\n")


def text(content: str, status: int = 200) -> Response:
    """A plain text answer."""
    return Response(status, TEXT, clean(content).encode())
