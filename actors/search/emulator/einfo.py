"""einfo: which databases there are, and which fields of PubMed the local engine searches."""

from dataclasses import dataclass
from typing import Any

from actors.search.emulator.envelope import element, json, wrap, xml
from actors.search.emulator.parameters import Parameters
from actors.search.http import Response

_FLAGS = ("IsDate", "IsNumerical", "SingleToken", "Hierarchy", "IsHidden")
# name, full name, description, flags in the order of _FLAGS
FIELDS = (
    ("ALL", "All Fields", "All terms from all searchable fields", "NNNNN"),
    ("UID", "UID", "Unique number assigned to publication", "NYYNY"),
    ("FILT", "Filter", "Limits the records", "NNYNN"),
    ("TITL", "Title", "Words in title of publication", "NNNNN"),
    ("MESH", "MeSH Terms", "Medical Subject Headings assigned to publication", "NNYYN"),
    ("MAJR", "MeSH Major Topic", "MeSH terms of major importance to publication", "NNYYN"),
    ("JOUR", "Journal", "Journal abbreviation of publication", "NNYNN"),
    ("AFFL", "Affiliation", "Author's institutional affiliation and address", "NNNNN"),
    ("SUBS", "Supplementary Concept", "CAS chemical name or MEDLINE Substance Name", "NNYNN"),
    ("PDAT", "Date - Publication", "Date of publication", "YNYNN"),
    ("EDAT", "Date - Entry", "Date publication first accessible through Entrez", "YNYNN"),
    ("VOL", "Volume", "Volume number of publication", "NNYNN"),
    ("PAGE", "Pagination", "Page number(s) of publication", "NNYNN"),
    ("PTYP", "Publication Type", "Type of publication (e.g., review)", "NNYYN"),
    ("LANG", "Language", "Language of publication", "NNYNN"),
    ("ISS", "Issue", "Issue number of publication", "NNYNN"),
    ("SUBH", "MeSH Subheading", "Additional specificity for MeSH term", "NNYYN"),
    ("MHDA", "Date - MeSH", "Date publication was indexed with MeSH terms", "YNYNN"),
    ("TIAB", "Title/Abstract", "Free text associated with Abstract/Title", "NNNNN"),
    ("OTRM", "Other Term", "Other terms associated with publication", "NNNNN"),
    ("FAUT", "Author - First", "First Author of publication", "NNYNN"),
    ("FULL", "Author", "Full Author Name(s) of publication", "NNYNN"),
    ("LAUT", "Author - Last", "Last Author of publication", "NNYNN"),
    ("EPDT", "Electronic Publication Date", "Date of Electronic publication", "YNYNY"),
    ("CRDT", "Date - Create", "Date publication first accessible through Entrez", "YNYNN"),
    ("WORD", "Text Word", "Free text associated with publication", "NNNNN"),
)
LINKS = (("pubmed_pubmed_refs", "References", "Articles that a publication cites", "pubmed"),)


@dataclass(frozen=True, slots=True)
class Database:
    """How einfo describes the collection. `updated` is `YYYY/MM/DD HH:MM`."""

    records: int
    build: str = "Build-local"
    updated: str = ""
    name: str = "pubmed"
    menu: str = "PubMed"
    description: str = "PubMed bibliographic record"


def einfo(database: Database, parameters: Parameters) -> Response:
    """Answer one einfo request."""
    as_json = parameters.get("retmode", "").strip().lower() == "json"
    asked = parameters.get("db", "").strip()
    if not asked:
        if as_json:
            return json("einfo", {"einforesult": {"dblist": [database.name]}})
        return xml("einfo", wrap("DbList", element("DbName", database.name)))
    if asked != database.name:
        message = f"Can not retrieve DbInfo for db={asked}"
        if as_json:
            return json("einfo", {"einforesult": {"ERROR": message}})
        return xml("einfo", "\n\t" + element("ERROR", message) + "\n")
    second = parameters.get("version", "").strip() == "2.0"
    if as_json:
        return json("einfo", {"einforesult": {"dbinfo": [_as_dict(database, second)]}})
    info = _as_dict(database, second)
    names = {"dbname": "DbName", "menuname": "MenuName", "description": "Description"}
    names |= {"dbbuild": "DbBuild", "count": "Count", "lastupdate": "LastUpdate"}
    fields = "".join(
        wrap(
            "Field",
            *(element(_FIELD_NAMES[key], value) for key, value in field.items()),
        )
        for field in info["fieldlist"]
    )
    links = "".join(
        wrap("Link", *(element(_LINK_NAMES[key], value) for key, value in link.items()))
        for link in info["linklist"]
    )
    inner = "".join(element(name, info[key]) for key, name in names.items())
    return xml(
        "einfo",
        wrap("DbInfo", inner, wrap("FieldList", fields), wrap("LinkList", links)),
    )


_FIELD_NAMES = {
    "name": "Name",
    "fullname": "FullName",
    "description": "Description",
    "termcount": "TermCount",
    **{flag.lower(): flag for flag in (*_FLAGS, "IsRangable", "IsTruncatable")},
}
_LINK_NAMES = {"name": "Name", "menu": "Menu", "description": "Description", "dbto": "DbTo"}


def _as_dict(database: Database, second: bool) -> dict[str, Any]:
    fields = []
    for name, full, description, flags in FIELDS:
        field = {"name": name, "fullname": full, "description": description, "termcount": ""}
        field |= {flag.lower(): value for flag, value in zip(_FLAGS, flags, strict=True)}
        if second:
            field["israngable"] = "Y" if field["isdate"] == "Y" else "N"
            field["istruncatable"] = "N" if name in ("UID", "FILT") else "Y"
        fields.append(field)
    return {
        "dbname": database.name,
        "menuname": database.menu,
        "description": database.description,
        "dbbuild": database.build,
        "count": str(database.records),
        "lastupdate": database.updated,
        "fieldlist": fields,
        "linklist": [
            {"name": name, "menu": menu, "description": text, "dbto": to}
            for name, menu, text, to in LINKS
        ],
    }
