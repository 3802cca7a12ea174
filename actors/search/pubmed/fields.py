"""PubMed's search tags: their spellings, and the columns of the index that each one reads.

Source: PubMed Help, "Search field tags" and "Search field descriptions"; labels as esearch's query
translations and einfo write them.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Field:
    """A search field. `kind` says how its terms are read.

    `text`: words and phrases; `exact`: whole values; `raw`: whole values with their punctuation;
    `mesh`: whole values of a vocabulary that explodes; `author`: whole values, truncated on the
    right; `language`: a code or an English name; `date`: a day, month, year or range; `id`: PMIDs;
    `filter`: named subsets.
    A field without `stores` is one that no index of ours has a column for.
    """

    label: str
    kind: str
    stores: tuple[str, ...] = ()


_TITLE_ABSTRACT = ("title", "abstract", "keywords")
_TEXT_WORD = (*_TITLE_ABSTRACT, "mesh", "publication_types", "chemicals")
ALL = Field("All Fields", "text", (*_TEXT_WORD, "authors", "journal", "languages", "affiliations"))
TITLE_ABSTRACT = Field("Title/Abstract", "text", _TITLE_ABSTRACT)
MESH = Field("MeSH Terms", "mesh", ("mesh_exact",))
MAJOR = Field("MeSH Major Topic", "mesh", ("major_exact",))
SUBHEADING = Field("MeSH Subheading", "mesh", ("qualifier_exact",))
TYPE = Field("Publication Type", "mesh", ("publication_types_exact",))
SUBSTANCE = Field("Supplementary Concept", "exact", ("chemicals_exact",))
JOURNAL = Field("Journal", "exact", ("journal_exact",))
AUTHOR = Field("Author", "author", ("authors_exact",))
DATE = Field("Date - Publication", "date", ("published",))
UID = Field("UID", "id", ("id",))
FILTER = Field("Filter", "filter")

_FIELDS = {
    ALL: "all, all fields, all field",
    Field("Title", "text", ("title",)): "ti, titl, title",
    Field("Abstract", "text", ("abstract",)): "ab, abstract",
    TITLE_ABSTRACT: "tiab, title/abstract, title abstract",
    Field("Text Word", "text", _TEXT_WORD): "tw, word, text word, text words, text",
    Field("Other Term", "text", ("keywords",)): "ot, otrm, other term, other terms, keyword, kw",
    Field("Affiliation", "text", ("affiliations",)): "ad, affl, affiliation, address",
    MESH: "mh, mesh, mesh terms, mesh term, mesh heading, mesh headings",
    MAJOR: (
        "majr, mj, mesh major topic, mesh major topics, major topic, mesh major, mesh major terms"
    ),
    SUBHEADING: ("sh, subh, mesh subheading, mesh subheadings, subheading, subheadings, qualifier"),
    SUBSTANCE: (
        "nm, subs, supplementary concept, substance name, substance, pharmacological substance"
    ),
    TYPE: "pt, publication type, publication types, ptyp",
    AUTHOR: "au, auth, author, authors, author name",
    Field("Author - First", "author", ("first_author_exact",)): (
        "1au, faut, author - first, first author, first author name"
    ),
    Field("Author - Last", "author", ("last_author_exact",)): (
        "lastau, laut, author - last, last author, last author name"
    ),
    Field("Author - Full", "author", ("full_authors_exact",)): (
        "fau, full, author - full, full author name, full author"
    ),
    Field("Author - Corporate", "author", ("authors_exact",)): (
        "cn, coln, author - corporate, corporate author"
    ),
    JOURNAL: "ta, journal, jour, journal title, so",
    Field("Language", "language", ("languages_exact",)): "la, lang, language",
    Field("Volume", "exact", ("volume_exact",)): "vi, vol, volume",
    Field("Issue", "exact", ("issue_exact",)): "ip, iss, issue",
    Field("Pagination", "exact", ("pages_exact",)): "pg, page, pagination",
    Field("ISSN", "exact", ("issn_exact",)): "is, issn",
    Field("Place of Publication", "exact", ("country_exact",)): (
        "pl, cnty, place of publication, country"
    ),
    Field("Location ID", "raw", ("ids_exact",)): (
        "lid, aid, doi, pid, pmc, pmcid, pii, location id, article identifier, publisher id"
    ),
    DATE: "dp, pdat, date - publication, publication date, date of publication",
    Field("Print Publication Date", "date", ("published",)): (
        "ppdat, ppdt, print publication date, print date of publication, date - print"
    ),
    Field("Electronic Publication Date", "date", ("electronic",)): (
        "epdat, epdt, electronic publication date, electronic date of publication, "
        "date - electronic"
    ),
    Field("Date - Entry", "date", ("entered",)): (
        "edat, date - entry, date - entrez, entrez date, entry date"
    ),
    Field("Date - Create", "date", ("created",)): (
        "crdt, date - create, create date, date created, date - created"
    ),
    Field("Date - MeSH", "date", ("mesh_dated",)): "mhda, date - mesh, mesh date",
    Field("Date - Completion", "date", ("completed",)): (
        "dcom, cdat, date - completion, completion date, date completed"
    ),
    Field("Date - Modification", "date", ("revised",)): (
        "lr, mdat, date - modification, modification date, date last revised, date - last revised"
    ),
    UID: "uid, pmid",
    FILTER: "sb, filter, filt, subset",
    Field("EC/RN Number", "exact"): "rn, ecno, ec/rn number, rn number",
    Field("Investigator", "author"): "ir, invr, investigator",
    Field("Investigator - Full", "author"): "fir, finv, investigator - full, full investigator",
    Field("Grants and Funding", "exact"): (
        "gr, grnt, grant number, grants and funding, grants & funding"
    ),
    Field("Personal Name as Subject", "author"): "ps, subject - personal name",
    Field("Pharmacological Action", "mesh"): "pa, papx, pharmacological action",
    Field("Secondary Source ID", "exact"): "si, secondary source id",
    Field("Transliterated Title", "text"): "tt, transliterated title, vernacular title",
    Field("NLM Unique ID", "exact", ("issn_exact",)): "jid, nlm unique id",
    Field("Author - Identifier", "exact"): "auid, author identifier, author - identifier",
    Field("Book", "text"): "book, bookaccession",
    Field("Editor", "author"): "ed, editor",
    Field("Publisher", "text"): "pubn, publisher",
    Field("ISBN", "exact"): "isbn",
    Field("Owner", "exact"): "owner",
    Field("Conflict of Interest Statements", "text"): (
        "cois, conflict of interest statements, conflict of interest"
    ),
}
_BY_NAME = {
    "".join(name.split()): field for field, names in _FIELDS.items() for name in names.split(",")
}
FIELDS = tuple(_FIELDS)
"""All fields that a tag can name."""

SHORT_TAGS = {field: "".join(names.split(",")[0].split()) for field, names in _FIELDS.items()}
"""One tag of each field."""

NEAR_FIELDS = frozenset({"Title", "Title/Abstract", "Affiliation"})
"""Labels of the fields that take a proximity search."""

_OWNERS = {"major_exact": "mesh", "qualifier_exact": "mesh", "major_qualifier_exact": "mesh"} | {
    f"{which}_exact": "authors"
    for which in ("authors", "first_author", "last_author", "full_authors")
}

LANGUAGES = {
    "afrikaans": "afr", "arabic": "ara", "bulgarian": "bul", "chinese": "chi", "croatian": "hrv",
    "czech": "cze", "danish": "dan", "dutch": "dut", "english": "eng", "finnish": "fin",
    "french": "fre", "german": "ger", "greek": "gre", "hebrew": "heb", "hungarian": "hun",
    "icelandic": "ice", "italian": "ita", "japanese": "jpn", "korean": "kor", "lithuanian": "lit",
    "norwegian": "nor", "persian": "per", "polish": "pol", "portuguese": "por", "romanian": "rum",
    "russian": "rus", "serbian": "srp", "slovak": "slo", "slovenian": "slv", "spanish": "spa",
    "swedish": "swe", "thai": "tha", "turkish": "tur", "ukrainian": "ukr", "vietnamese": "vie",
}  # fmt: skip
"""English names of languages and the codes that records carry."""


class Tag(NamedTuple):
    """The inside of `[...]`: its field, None if unknown, and what follows a colon."""

    field: Field | None
    explode: bool = True
    slop: int | None = None


_PROXIMITY = re.compile(r"~([0-9]{1,4})", re.ASCII)


@lru_cache(maxsize=4096)
def read_tag(text: str) -> Tag:
    """What the inside of `[...]` says; case and spaces do not count."""
    name, colon, suffix = "".join(text.lower().split()).partition(":")
    field = _BY_NAME.get(name)
    if not colon or field is None:
        return Tag(field)
    if suffix == "noexp":
        return Tag(field, explode=False)
    if match := _PROXIMITY.fullmatch(suffix):
        return Tag(field, slop=int(match[1]))
    return Tag(None)


def field_of(tag: str) -> Field | None:
    """The field that the inside of `[...]` names; case and spaces do not count; None if unknown."""
    return read_tag(tag).field


@lru_cache(maxsize=1024)
def owner(store: str) -> str:
    """The searchable field of a record that a column belongs to: `mesh` of `major_exact`."""
    return _OWNERS.get(store) or store.removesuffix("_exact")
