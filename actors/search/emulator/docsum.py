"""Document summaries of `Record`s: version 1 XML, version 2.0 XML, and JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.search.emulator.citation import (
    LANGUAGES,
    article_ids,
    day_text,
    has_abstract,
    people,
    publication_status,
    published_text,
    source,
    stamp,
    status_text,
)
from actors.search.emulator.envelope import element, wrap
from actors.search.types import Record

MISSING = "cannot get document summary"
_ID_NUMBERS = {"pubmed": 1, "doi": 3, "pii": 4, "pmcid": 5}  # others are 8
_STATUS_NUMBERS = {"ppublish": "4", "epublish": "3", "aheadofprint": "10"}
_HISTORY = (("entrez", "created"), ("pubmed", "entered"), ("medline", "mesh_dated"))


def _history(record: Record) -> list[tuple[str, str]]:
    pairs = [(status, stamp(getattr(record, field))) for status, field in _HISTORY]
    return [(status, day) for status, day in pairs if day]


def _location(record: Record) -> str:
    return f"doi: {record.doi}" if record.doi else ""


def _names(record: Record) -> list[tuple[str, str]]:
    return [
        (name, "CollectiveName" if person.is_collective else "Author")
        for name, person in zip(record.authors, people(record), strict=True)
    ]


def version_1(records: Sequence[tuple[str, Record | None]]) -> str:
    """What stands inside `eSummaryResult`; an id without a record gives an ERROR in its place."""
    return "\n" + "".join(
        (_document(record) if record else element("ERROR", f"UID={uid}: {MISSING}")) + "\n"
        for uid, record in records
    )


def _item(name: str, text: object, kind: str = "String") -> str:
    return element("Item", text, Name=name, Type=kind)


def _items(name: str, *inner: str) -> str:
    return wrap("Item", *inner, Name=name, Type="List")


def _document(record: Record) -> str:
    names = [name for name, _ in _names(record)]
    return wrap(
        "DocSum",
        element("Id", record.id),
        _item("PubDate", published_text(record), "Date"),
        _item("EPubDate", day_text(record.electronic), "Date"),
        _item("Source", record.journal_abbreviation or record.journal),
        _items("AuthorList", *(_item("Author", name) for name in names)),
        _item("LastAuthor", names[-1] if names else ""),
        _item("Title", record.title),
        _item("Volume", record.volume),
        _item("Issue", record.issue),
        _item("Pages", record.pages),
        _items(
            "LangList", *(_item("Lang", LANGUAGES.get(code, code)) for code in record.languages)
        ),
        _item("NlmUniqueID", record.journal_id),
        _item("ISSN", record.issn),
        _item("ESSN", ""),
        _items("PubTypeList", *(_item("PubType", kind) for kind in record.publication_types)),
        _item("RecordStatus", status_text(record)),
        _item("PubStatus", publication_status(record)),
        _items("ArticleIds", *(_item(kind, value) for kind, value in article_ids(record))),
        *([_item("DOI", record.doi)] if record.doi else []),
        _items("History", *(_item(status, day, "Date") for status, day in _history(record))),
        _items("References"),
        _item("HasAbstract", int(has_abstract(record)), "Integer"),
        _item("PmcRefCount", 0, "Integer"),
        _item("FullJournalName", record.journal),
        _item("ELocationID", _location(record)),
        _item("SO", source(record)),
    )


def summary(record: Record) -> dict[str, Any]:
    """The JSON summary of one record, keys and order as the service has them."""
    names = _names(record)
    return {
        "uid": record.id,
        "pubdate": published_text(record),
        "epubdate": day_text(record.electronic),
        "source": record.journal_abbreviation or record.journal,
        "authors": [{"name": name, "authtype": kind, "clusterid": ""} for name, kind in names],
        "lastauthor": names[-1][0] if names else "",
        "title": record.title,
        "sorttitle": _sort_title(record.title),
        "volume": record.volume,
        "issue": record.issue,
        "pages": record.pages,
        "lang": list(record.languages),
        "nlmuniqueid": record.journal_id,
        "issn": record.issn,
        "essn": "",
        "pubtype": list(record.publication_types),
        "recordstatus": status_text(record),
        "pubstatus": _STATUS_NUMBERS[publication_status(record)],
        "articleids": [
            {"idtype": kind, "idtypen": _ID_NUMBERS.get(kind, 8), "value": value}
            for kind, value in article_ids(record)
        ],
        "history": [{"pubstatus": status, "date": day} for status, day in _history(record)],
        "references": [],
        "attributes": ["Has Abstract"] if has_abstract(record) else [],
        "pmcrefcount": 0,
        "fulljournalname": record.journal,
        "elocationid": _location(record),
        "doctype": "citation",
        "srccontriblist": [],
        "booktitle": "",
        "medium": "",
        "edition": "",
        "publisherlocation": "",
        "publishername": "",
        "srcdate": "",
        "reportnumber": "",
        "availablefromurl": "",
        "locationlabel": "",
        "doccontriblist": [],
        "docdate": "",
        "bookname": "",
        "chapter": "",
        "sortpubdate": stamp(record.published),
        "sortfirstauthor": names[0][0] if names else "",
        "vernaculartitle": "",
    }


def _sort_title(title: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in title.lower()).split()
    return " ".join(words[1:] if words[:1] in (["a"], ["an"], ["the"]) else words)


def as_json(records: Sequence[tuple[str, Record | None]]) -> dict[str, Any]:
    """The `result` object: `uids`, then a summary or an error under each id."""
    found: dict[str, Any] = {"uids": [uid for uid, _ in records]}
    for uid, record in records:
        found[uid] = summary(record) if record else {"uid": uid, "error": MISSING}
    return found


_V2_NAMES = {
    "pubdate": "PubDate", "epubdate": "EPubDate", "source": "Source", "lastauthor": "LastAuthor",
    "title": "Title", "sorttitle": "SortTitle", "volume": "Volume", "issue": "Issue",
    "pages": "Pages", "nlmuniqueid": "NlmUniqueID", "issn": "ISSN", "essn": "ESSN",
    "recordstatus": "RecordStatus", "pubstatus": "PubStatus", "pmcrefcount": "PmcRefCount",
    "fulljournalname": "FullJournalName", "elocationid": "ELocationID", "doctype": "DocType",
    "srccontriblist": "SrcContribList", "booktitle": "BookTitle", "medium": "Medium",
    "edition": "Edition", "publisherlocation": "PublisherLocation",
    "publishername": "PublisherName", "srcdate": "SrcDate", "reportnumber": "ReportNumber",
    "availablefromurl": "AvailableFromURL", "locationlabel": "LocationLabel",
    "doccontriblist": "DocContribList", "docdate": "DocDate", "bookname": "BookName",
    "chapter": "Chapter", "sortpubdate": "SortPubDate", "sortfirstauthor": "SortFirstAuthor",
    "vernaculartitle": "VernacularTitle",
}  # fmt: skip
_AUTHOR = {"name": "Name", "authtype": "AuthType", "clusterid": "ClusterID"}
_ARTICLE_ID = {"idtype": "IdType", "idtypen": "IdTypeN", "value": "Value"}
_DATED = {"pubstatus": "PubStatus", "date": "Date"}
_V2_LISTS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {  # list, entry, fields of an entry
    "authors": ("Authors", "Author", _AUTHOR),
    "lang": ("Lang", "string", {}),
    "pubtype": ("PubType", "flag", {}),
    "references": ("References", "Reference", {}),
    "attributes": ("Attributes", "flag", {}),
    "articleids": ("ArticleIds", "ArticleId", _ARTICLE_ID),
    "history": ("History", "PubMedPubDate", _DATED),
}


def version_2(records: Sequence[tuple[str, Record | None]], build: str) -> str:
    """What stands inside `eSummaryResult` for `version=2.0`."""
    documents = []
    for uid, record in records:
        if record is None:
            inner = element("error", MISSING)
        else:
            content = summary(record)
            inner = "".join(_version_2_field(key, content[key]) for key in list(content)[1:])
        documents.append(wrap("DocumentSummary", inner, uid=uid) + "\n")
    return wrap("DocumentSummarySet", element("DbBuild", build), "\n", *documents, status="OK")


def _version_2_field(key: str, value: Any) -> str:
    if key in _V2_NAMES:
        return element(_V2_NAMES[key], "" if value == [] else value)
    outer, inner, fields = _V2_LISTS[key]
    if not fields:
        return wrap(outer, *(element(inner, entry) for entry in value))
    entries = (
        wrap(inner, *(element(fields[name], text) for name, text in entry.items()))
        for entry in value
    )
    return wrap(outer, *entries)
