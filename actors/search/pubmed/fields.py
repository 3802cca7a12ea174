"""PubMed's search tags: their spellings, and the index fields that each one reads.

Source: PubMed Help, "Search field tags" and "Search field descriptions".
"""

from dataclasses import dataclass
from functools import lru_cache

from actors.search.index_schema import FIELDS


@dataclass(frozen=True, slots=True)
class Field:
    """A search field. `kind` says how its terms are read.

    `text`: words and phrases; `exact`: whole values; `author`: whole values, truncated on the
    right; `language`: a code or an English name; `date`: a day, month, year or range; `id`: PMIDs.
    """

    label: str
    kind: str
    stores: tuple[str, ...] = ()


ALL = Field("All Fields", "text", FIELDS)
DATE = Field("Date - Publication", "date")
UID = Field("UID", "id", ("id",))

_TITLE_ABSTRACT = ("title", "abstract", "keywords")
_FIELDS = {
    ALL: "all, all fields",
    Field("Title", "text", ("title",)): "ti, title",
    Field("Abstract", "text", ("abstract",)): "ab, abstract",
    Field("Title/Abstract", "text", _TITLE_ABSTRACT): "tiab, title/abstract, title abstract",
    Field(
        "Text Word", "text", (*_TITLE_ABSTRACT, "mesh", "publication_types", "chemicals")
    ): "tw, text word, text words, text",
    Field("Other Term", "text", ("keywords",)): "ot, other term, other terms",
    Field(
        "MeSH Terms", "exact", ("mesh_exact",)
    ): "mh, mesh, mesh terms, mesh term, mesh heading, mh:noexp, mesh:noexp, mesh terms:noexp",
    Field("MeSH Major Topic", "exact", ("major_exact",)): (
        "majr, mesh major topic, mesh major topics, major topic, majr:noexp, mesh major topic:noexp"
    ),
    Field("MeSH Subheading", "exact", ("qualifier_exact",)): (
        "sh, mesh subheading, mesh subheadings, subheading, subheadings, sh:noexp"
    ),
    Field(
        "Supplementary Concept", "exact", ("chemicals_exact",)
    ): "nm, supplementary concept, substance name, pharmacological substance",
    Field("Publication Type", "exact", ("publication_types_exact",)): (
        "pt, publication type, publication types, ptyp, pt:noexp"
    ),
    Field(
        "Author", "author", ("authors_exact",)
    ): "au, author, authors, auth, fau, full author name",
    Field("Author - First", "author", ("first_author_exact",)): (
        "1au, author - first, first author, first author name"
    ),
    Field("Author - Last", "author", ("last_author_exact",)): (
        "lastau, author - last, last author, last author name"
    ),
    Field("Journal", "exact", ("journal_exact",)): "ta, journal, jour, journal title, so",
    Field("Language", "language", ("languages_exact",)): "la, lang, language",
    DATE: "dp, pdat, date - publication, publication date, date of publication, ppdat",
    UID: "uid, pmid",
}
_BY_NAME = {
    "".join(name.split()): field for field, names in _FIELDS.items() for name in names.split(",")
}

LANGUAGES = {
    "chinese": "chi", "danish": "dan", "dutch": "dut", "english": "eng", "french": "fre",
    "german": "ger", "italian": "ita", "japanese": "jpn", "korean": "kor", "norwegian": "nor",
    "polish": "pol", "portuguese": "por", "russian": "rus", "spanish": "spa", "swedish": "swe",
    "turkish": "tur",
}  # fmt: skip
"""English names of languages and the codes that records carry."""


@lru_cache(maxsize=1024)
def field_of(tag: str) -> Field | None:
    """The field that the inside of `[...]` names; case and spaces do not count; None if unknown."""
    return _BY_NAME.get("".join(tag.lower().split()))
