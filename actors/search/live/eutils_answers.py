"""What E-utilities answer, parsed: pure functions from a body to values or to a typed error.

Forms are those of NBK25499 and of recorded answers, JSON and XML. An answer with HTTP 200 may hold
an error, and an error may be anybody's: of the query (QueryRefusedError), of the caller or the key
(ServiceError), or of the moment (TransientError).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lxml import etree

from actors.search.live.bodies import excerpt, is_markup, read_json, read_xml, text_of
from actors.search.live.errors import TransientError
from actors.search.live.eutils_errors import check_status, refuse
from actors.search.pubmed_record import RecordError, record_of

_WARNINGS = (  # place in JSON, place in XML, kind
    ("errorlist", "phrasesnotfound", "ErrorList/PhraseNotFound"),
    ("errorlist", "fieldsnotfound", "ErrorList/FieldNotFound"),
    ("warninglist", "phrasesignored", "WarningList/PhraseIgnored"),
    ("warninglist", "quotedphrasesnotfound", "WarningList/QuotedPhraseNotFound"),
    ("warninglist", "outputmessages", "WarningList/OutputMessage"),
)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """An esearch answer. `count` counts all hits, `ids` are those from `retstart` on.

    `warnings` are `Kind: text`; `mapped` is (from, to); `webenv` and `query_key` are "" unless the
    history server was asked for.
    """

    count: int
    ids: tuple[str, ...]
    retstart: int = 0
    retmax: int = 0
    translation: str = ""
    mapped: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    webenv: str = ""
    query_key: str = ""


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """Where epost has put ids: an environment on the history server and a number in it."""

    webenv: str
    query_key: str
    invalid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """Document summaries by id, as the service names their fields; `failed`: id -> message."""

    documents: dict[str, dict[str, Any]]
    failed: dict[str, str]


@dataclass(frozen=True, slots=True)
class DatabaseAnswer:
    """An einfo answer: the names of all databases, or one with its fields and links.

    `fields` are (tag, full name, description), `links` names.
    """

    databases: tuple[str, ...] = ()
    name: str = ""
    count: int = 0
    updated: str = ""
    fields: tuple[tuple[str, str, str], ...] = ()
    links: tuple[str, ...] = ()


def parse_search(status: int, body: bytes) -> SearchAnswer:
    """An esearch answer, JSON or XML."""
    check_status(status, body)
    answer = _search_of_xml(body) if is_markup(body) else _search_of_json(body)
    expected = max(0, min(answer.retmax, answer.count - answer.retstart))
    if len(answer.ids) < expected:
        raise TransientError(f"a cut answer: {len(answer.ids)} of {expected} announced ids")
    return answer


def _search_of_json(body: bytes) -> SearchAnswer:
    result = _member(read_json(body), "esearchresult", body)
    if error := result.get("ERROR") or result.get("error"):
        raise refuse(str(error))
    warnings = [
        f"{xml.split('/')[1]}: {text}"
        for outer, inner, xml in _WARNINGS
        for text in (result.get(outer) or {}).get(inner) or ()
    ]
    try:
        return SearchAnswer(
            count=int(result["count"]),
            ids=tuple(str(one) for one in result.get("idlist") or ()),
            retstart=int(result.get("retstart") or 0),
            retmax=int(result.get("retmax") or 0),
            translation=str(result.get("querytranslation") or ""),
            mapped=tuple((m["from"], m["to"]) for m in result.get("translationset") or ()),
            warnings=tuple(warnings),
            webenv=str(result.get("webenv") or ""),
            query_key=str(result.get("querykey") or ""),
        )
    except (KeyError, TypeError, ValueError):
        raise TransientError(f"a malformed body: {excerpt(body)}") from None


def _search_of_xml(body: bytes) -> SearchAnswer:
    root = read_xml(body, "eSearchResult")
    _raise_errors(root)
    warnings = [
        f"{place.split('/')[1]}: {text_of(found)}"
        for _, _, place in _WARNINGS
        for found in root.iterfind(place)
    ]
    try:
        return SearchAnswer(
            count=int(root.findtext("Count", "")),
            ids=tuple(text_of(one) for one in root.iterfind("IdList/Id")),
            retstart=int(root.findtext("RetStart") or 0),
            retmax=int(root.findtext("RetMax") or 0),
            translation=text_of(root.find("QueryTranslation")),
            mapped=tuple(
                (text_of(one.find("From")), text_of(one.find("To")))
                for one in root.iterfind("TranslationSet/Translation")
            ),
            warnings=tuple(warnings),
            webenv=text_of(root.find("WebEnv")),
            query_key=text_of(root.find("QueryKey")),
        )
    except ValueError:
        raise TransientError(f"a malformed body: {excerpt(body)}") from None


def parse_post(status: int, body: bytes) -> PostAnswer:
    """An epost answer. Ids that the service leaves out are in `invalid`."""
    check_status(status, body)
    root = read_xml(body, "ePostResult")
    webenv, key = text_of(root.find("WebEnv")), text_of(root.find("QueryKey"))
    if not webenv or not key:
        _raise_errors(root)
        raise TransientError(f"a malformed body: {excerpt(body)}")
    return PostAnswer(webenv, key, tuple(map(text_of, root.iterfind("InvalidIdList/Id"))))


def parse_summary(status: int, body: bytes) -> SummaryAnswer:
    """An esummary answer: JSON, XML of version 1 (`DocSum`) or 2 (`DocumentSummary`)."""
    check_status(status, body)
    documents: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    if not is_markup(body):
        answer = read_json(body)
        if isinstance(answer, dict) and (errors := answer.get("esummaryresult")):
            raise refuse("; ".join(map(str, errors if isinstance(errors, list) else [errors])))
        result = _member(answer, "result", body)
        for uid in result.get("uids") or ():
            entry = result.get(uid)
            if not isinstance(entry, dict):
                raise TransientError(f"a cut answer: {uid} was announced and is missing")
            if "error" in entry:
                failed[uid] = str(entry["error"])
            else:
                documents[uid] = entry
        return SummaryAnswer(documents, failed)
    root = read_xml(body, "eSummaryResult")
    for entry in root.iterfind("DocSum"):
        documents[text_of(entry.find("Id"))] = {
            item.get("Name", ""): _item(item) for item in entry.iterfind("Item")
        }
    for entry in root.iterfind("DocumentSummarySet/DocumentSummary"):
        uid = entry.get("uid", "")
        if (error := entry.find("error")) is not None:
            failed[uid] = text_of(error)
        else:
            documents[uid] = {child.tag: _branch(child) for child in entry}
    if not documents and not failed:
        _raise_errors(root)
    return SummaryAnswer(documents, failed)


def parse_info(status: int, body: bytes) -> DatabaseAnswer:
    """An einfo answer, JSON or XML: the list of databases or one database."""
    check_status(status, body)
    if is_markup(body):
        return _info_of_xml(read_xml(body, "eInfoResult"), body)
    result = _member(read_json(body), "einforesult", body)
    if error := result.get("ERROR") or result.get("error"):
        raise refuse(str(error))
    if "dblist" in result:
        return DatabaseAnswer(databases=tuple(result["dblist"]))
    info = result.get("dbinfo")
    info = info[0] if isinstance(info, list) and info else info
    if not isinstance(info, dict):
        raise TransientError(f"a malformed body: {excerpt(body)}")
    return DatabaseAnswer(
        name=str(info.get("dbname", "")),
        count=int(info.get("count") or 0),
        updated=str(info.get("lastupdate", "")),
        fields=tuple(
            (str(f.get("name", "")), str(f.get("fullname", "")), str(f.get("description", "")))
            for f in info.get("fieldlist") or ()
        ),
        links=tuple(str(link.get("name", "")) for link in info.get("linklist") or ()),
    )


def _info_of_xml(root: etree._Element, body: bytes) -> DatabaseAnswer:
    _raise_errors(root)
    if root.find("DbList") is not None:
        return DatabaseAnswer(databases=tuple(map(text_of, root.iterfind("DbList/DbName"))))
    info = root.find("DbInfo")
    if info is None:
        raise TransientError(f"a malformed body: {excerpt(body)}")
    return DatabaseAnswer(
        name=text_of(info.find("DbName")),
        count=int(info.findtext("Count") or 0),
        updated=text_of(info.find("LastUpdate")),
        fields=tuple(
            (text_of(f.find("Name")), text_of(f.find("FullName")), text_of(f.find("Description")))
            for f in info.iterfind("FieldList/Field")
        ),
        links=tuple(text_of(link.find("Name")) for link in info.iterfind("LinkList/Link")),
    )


def parse_articles(status: int, body: bytes) -> dict[str, tuple[str, str]]:
    """(title, abstract) by PMID of an efetch answer; as `record_of` reads them.

    Ids that PubMed does not know are simply absent.
    """
    check_status(status, body)
    root = read_xml(body, "PubmedArticleSet", "eFetchResult")
    _raise_errors(root)
    found: dict[str, tuple[str, str]] = {}
    try:
        for article in root.iterchildren("PubmedArticle"):
            record = record_of(article)
            found[record.id] = (record.title, record.abstract)
    except RecordError as error:
        raise TransientError(f"a malformed body: {error}") from None
    for book in root.iterchildren("PubmedBookArticle"):
        title = text_of(book.find("BookDocument/ArticleTitle"))
        found[text_of(book.find("BookDocument/PMID"))] = (
            title or text_of(book.find("BookDocument/Book/BookTitle")),
            _joined(book.iterfind("BookDocument/Abstract/AbstractText")),
        )
    return found


def _joined(parts: Iterable[etree._Element]) -> str:
    return " ".join(text for text in map(text_of, parts) if text)


def _member(answer: Any, name: str, body: bytes) -> dict[str, Any]:
    inner = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(inner, dict):
        raise TransientError(f"a malformed body without {name!r}: {excerpt(body)}")
    return inner


def _raise_errors(root: etree._Element) -> None:
    errors = [text for text in map(text_of, root.iterfind("ERROR")) if text]
    if errors:
        raise refuse("; ".join(errors))


def _item(item: etree._Element) -> Any:
    children = list(item.iterchildren("Item"))
    if not children:
        return text_of(item)
    if item.get("Type") == "List":
        return [_item(child) for child in children]
    return {child.get("Name", ""): _item(child) for child in children}


def _branch(element: etree._Element) -> Any:
    children = [child for child in element if isinstance(child.tag, str)]
    if not children:
        return text_of(element)
    tags = {child.tag for child in children}
    if len(tags) == 1 and (len(children) > 1 or element.tag.rstrip("s") in tags):
        return [_branch(child) for child in children]
    return {child.tag: _branch(child) for child in children}
