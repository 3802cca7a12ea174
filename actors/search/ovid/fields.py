"""Ovid's two-letter codes: fields of MEDLINE, and subheadings.

Source: Ovid MEDLINE Database Guide (fields), MeSH qualifiers (subheadings). What a code searches is
told in PubMed's fields, as far as PubMed has them.
"""

from functools import lru_cache
from typing import NamedTuple

from actors.search.pubmed.fields import (
    ALL,
    FIELDS,
    SUBSTANCE,
    TITLE_ABSTRACT,
    Field,
    field_of,
)

DEFAULT = ("mp",)
"""What a term without a field code is searched in (Ovid: "default fields for unqualified")."""

_TITLE_ABSTRACT = ("title", "abstract")
_WORDS = {
    "ti": ("title",),
    "ab": ("abstract",),
    "tw": _TITLE_ABSTRACT,
    "kf": ("keywords",),
    "kw": ("keywords",),
    "ot": ("title",),
    "hw": ("mesh",),
    "nm": ("chemicals",),
    "jw": ("journal",),
    "in": ("affiliations",),
    "mp": (*_TITLE_ABSTRACT, "keywords", "mesh", "chemicals"),
    "af": ALL.stores,
}
_EXACT = {
    "sh": "mh", "pt": "pt", "fs": "sh", "xs": "sh", "rn": "rn", "au": "au", "fa": "1au",
    "jn": "ta", "ta": "ta", "la": "la", "lg": "la", "cp": "pl", "is": "is", "sb": "sb", "mh": "mh",
    "rs": "nm", "ps": "nm", "os": "nm", "so": "ta", "vo": "vi", "ip": "ip", "pg": "pg",
}  # fmt: skip
_EXPLODED = frozenset({"xs", "mh"})
DATES = {
    "yr": "dp", "dp": "dp", "ep": "epdat", "ed": "mhda", "em": "mhda", "dc": "crdt", "dt": "crdt",
    "da": "crdt", "ez": "edat", "up": "edat", "rd": "lr",
}  # fmt: skip
"""Date codes. Ovid's entry date (`ed`) is the day a record enters MEDLINE proper: PubMed's mhda."""

IDS = frozenset({"ui", "pm", "an"})
_UNANSWERED = frozenset({"cm", "ai", "sa", "sl", "pu", "nj", "gi", "gs", "bt", "do", "st", "ar"})
CODES = frozenset([*_WORDS, *_EXACT, *DATES, *IDS, *_UNANSWERED])
"""All codes that can follow a term."""


class Target(NamedTuple):
    """A field and whether its headings explode."""

    field: Field
    explode: bool = True


@lru_cache(maxsize=4096)
def targets(codes: tuple[str, ...]) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Fields to search for `codes`, word-indexed ones joined into one, and codes nobody has."""
    stores: dict[str, None] = {}
    others: dict[Target, None] = {}
    unknown = []
    for code in dict.fromkeys(codes):
        if code in _WORDS:
            stores.update(dict.fromkeys(_WORDS[code]))
        elif code in _EXACT and (found := field_of(_EXACT[code])) is not None:
            others[Target(found, found.kind != "mesh" or code in _EXPLODED)] = None
        elif code not in DATES and code not in IDS:
            unknown.append(code)
    text = (Target(_text_field(tuple(stores))),) if stores else ()
    return (*text, *others), tuple(unknown)


def _text_field(stores: tuple[str, ...]) -> Field:
    """PubMed's own field where it reads the same columns; else one named as its nearest."""
    wanted = set(stores)
    for field in FIELDS:
        if field.kind == "text" and set(field.stores) == wanted:
            return field
    if wanted <= {*_TITLE_ABSTRACT, "keywords"}:
        return Field(TITLE_ABSTRACT.label, "text", stores)
    if wanted == {"chemicals"}:
        return Field(SUBSTANCE.label, "text", stores)
    return Field("Text Word", "text", stores)


_NEAR_WORDS = {
    "sh": "mesh", "mh": "mesh", "pt": "publication_types", "au": "authors", "jn": "journal",
}  # fmt: skip


@lru_cache(maxsize=4096)
def near_field(codes: tuple[str, ...]) -> Field | None:
    """Where words of `codes` can stand near each other: text columns, of headings too."""
    stores = [s for code in codes for s in _WORDS.get(code, ())]
    stores += [_NEAR_WORDS[code] for code in codes if code in _NEAR_WORDS]
    return _text_field(tuple(dict.fromkeys(stores))) if stores else None


def date_field(code: str) -> Field | None:
    """The date field of a code, None for publication or if PubMed's fields lack it."""
    return field_of(DATES[code]) if DATES[code] != "dp" else None
