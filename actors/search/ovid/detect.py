"""Whether a text is Ovid syntax or PubMed's: for files that mix both and do not say."""

import re
from collections.abc import Sequence

from actors.search.ovid.fields import CODES
from actors.search.pubmed.fields import field_of

_CODE = "(?:" + "|".join(sorted(CODES)) + ")"
_OVID = re.compile(
    rf"[\w)\"*$?#\]]\s?\.\s?{_CODE}(?:\s?,\s?{_CODE})*(?=\s*(?:\.|$|\)|\[|\n|\bor\b|\band\b|\bnot\b))"
    r"|\b(?:or|and)\s*/\s*\d|\d\s*/\s*(?:or|and)\b"
    r"|\badj\d{1,2}\b|[)\"*$\w]\s+adj\s+[(\"\w]"
    r"|\bexp\s+\*?\"[^\"\n]{1,100}\"\s*/|\bexp\s+[*\"]?[A-Z][^()\[\]\n/]{1,100}/|[a-z]{2}\$(?=[\s)\d.,]|$)"
    r"|^[ \t]*(?:\d+[.)]?[ \t]+)?limit\s+#?\d+\s+to\b|\bremove duplicates from\b"
    r"|(?:^|[(\n]|\b(?:and|or|not)\s)[ \t]*(?:#?\d+[.)]?\s+)?\*?\"?[A-Z][\w', -]{2,100}\"?/"
    r"(?=\s*(?:$|\)|\n|\[)|\s+(?:and|or|not)\b|\s*(?!or\b)[a-z]{2}\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SETS = re.compile(
    r"[\s(]*(?:#?\d+[.)]?\s[\s(]*)?#?\d+[\s)]+(?:and|or|not)[\s(]+#?\d+", re.IGNORECASE
)
_TAG = re.compile(r"\[([^\[\]\n]{1,60})\]")


def has_tag(text: str) -> bool:
    """Whether one of PubMed's `[tags]` is in it."""
    return any(field_of(match[1]) is not None for match in _TAG.finditer(text))


def has_ovid(text: str) -> bool:
    """Whether something that only Ovid has is in it: field codes, headings, adj, sets, limits."""
    return _OVID.search(text) is not None


def looks_like_ovid(query: str) -> bool:
    """True if `query` is better read as Ovid syntax than as PubMed's.

    Numbered lines that refer to each other count as Ovid's, whatever their fields: PubMed itself
    takes one line.
    """
    if has_ovid(query):
        ovid = sum(1 for _ in _OVID.finditer(query))
        tags = sum(field_of(match[1]) is not None for match in _TAG.finditer(query))
        return ovid >= tags or "\n" in query.strip()
    rows = [row for row in query.splitlines() if row.strip()]
    if len(rows) < 3:
        return False
    return any(_SETS.match(row) for row in rows[1:])


def is_pubmed_strategy(lines: Sequence[str]) -> bool:
    """True if lines without a mark of either language are to be read as PubMed's."""
    return any(map(has_tag, lines)) and not any(has_ovid(one) for one in lines)


def is_pubmed_line(text: str, otherwise: bool) -> bool:
    """True if one line is PubMed's; `otherwise` decides where it shows no mark of either."""
    if has_ovid(text):
        return False
    return has_tag(text) or otherwise
