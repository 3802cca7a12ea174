"""From an element of PubMed XML to a `Record`: baseline and update files and efetch answers alike.

Elements are those of NLM's PubMed DTD (https://dtd.nlm.nih.gov/ncbi/pubmed/). Which history date is
which search field: `pubmed` is [edat], `entrez` is [crdt], `medline` is [mhda], as the MEDLINE
display of the same records shows (https://www.nlm.nih.gov/bsd/mms/medlineelements.html).

Left out, because no field holds it: grants, investigators, other abstracts, comments and
corrections other than citations.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Any

from lxml import etree

from actors.search.pubmed_dates import NO_DATE, Dated, read_date
from actors.search.pubmed_elements import Known, child_text, text_of, texts_of
from actors.search.types import MeshHeading, Record

ROOTS = ("PubmedArticleSet", "MedlineCitationSet", "PubmedBookArticleSet")
ARTICLES = ("PubmedArticle", "MedlineCitation")

Values = dict[str, Any]
"""Fields of a record by name; some that only `_finished` knows."""
Readers = dict[str, Callable[[Any, Values], None]]
"""By tag, what takes an element into the values."""


class RecordError(ValueError):
    """XML that is not PubMed's, or an article without a PMID."""


def safe_parser() -> etree.XMLParser:
    """A parser for XML from elsewhere: no network, no DTD, no entity but XML's own five."""
    return etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )


def records_of(xml: bytes) -> list[Record]:
    """The records of an efetch answer or another small file, in order; book records are left out.

    Raises `RecordError` for what is not PubMed XML.
    """
    try:
        root = etree.fromstring(xml, safe_parser())
    except etree.XMLSyntaxError as err:
        raise RecordError(f"not XML: {err}") from err
    if root.tag not in ROOTS:
        raise RecordError(f"not PubMed XML: its root element is <{root.tag}>")
    return [record_of(child) for child in root if child.tag in ARTICLES]


def record_of(element: etree._Element) -> Record:
    """The record in a `PubmedArticle` (or an old file's `MedlineCitation`).

    An author that NLM marks as wrong (`ValidYN="N"`) is left out, affiliations and references come
    once each. Raises `RecordError` when it has no PMID.
    """
    values: Values = {}
    if element.tag == "MedlineCitation":
        _citation(element, values)
    else:
        for part in element:
            if part.tag == "MedlineCitation":
                _citation(part, values)
            elif part.tag == "PubmedData":
                _read(part, _OF_PUBMED_DATA, values)
    if not values.get("id"):
        raise RecordError("an article has no PMID")
    return _finished(values)


def _read(element: etree._Element, readers: Readers, values: Values) -> None:
    """Let each child be read by the reader that `readers` name for its tag."""
    for part in element:
        reader = readers.get(part.tag)
        if reader is not None:
            reader(part, values)


_DATES = Known(read_date)


# --- MedlineCitation -----------------------------------------------------------------------------


def _citation(citation: etree._Element, values: Values) -> None:
    values["status"] = citation.get("Status", "")
    _read(citation, _OF_CITATION, values)


def _pmid(part: etree._Element, values: Values) -> None:
    values["id"] = text_of(part)


def _completed(part: etree._Element, values: Values) -> None:
    values["completed"] = _DATES.get(part)[0]


def _revised(part: etree._Element, values: Values) -> None:
    values["revised"] = _DATES.get(part)[0]


def _mesh(part: etree._Element, values: Values) -> None:
    values["mesh"] = tuple(_HEADINGS.each(part, b"</MeshHeading>"))


def _medline_journal(part: etree._Element, values: Values) -> None:
    for name, value in _JOURNALS.get(part):
        values.setdefault(name, value)


def _chemicals(part: etree._Element, values: Values) -> None:
    _add(values, "chemicals", _CHEMICALS.each(part, b"</Chemical>"))


def _supplementary(part: etree._Element, values: Values) -> None:
    _add(values, "chemicals", texts_of(part, "SupplMeshName"))


def _keywords(part: etree._Element, values: Values) -> None:
    _add(values, "keywords", texts_of(part, "Keyword"))


def _corrections(part: etree._Element, values: Values) -> None:
    cited = (each for each in part if each.get("RefType") == "Cites")
    _add(values, "references", [child_text(each, "PMID") for each in cited])


def _other_id(part: etree._Element, values: Values) -> None:
    _add(values, "other_ids", [(part.get("Source", ""), text_of(part))])


def _add(values: Values, name: str, items: Iterable[Any]) -> None:
    """Append the items that are not empty to a field of `values`."""
    values[name] = (*values.get(name, ()), *filter(None, items))


def _journal_info(info: etree._Element) -> list[tuple[str, str]]:
    names = {
        "Country": "country",
        "MedlineTA": "journal_abbreviation",
        "NlmUniqueID": "journal_id",
        "ISSNLinking": "issn",
    }
    return [(names[part.tag], text_of(part)) for part in info if part.tag in names]


def _heading(heading: etree._Element) -> MeshHeading:
    descriptor, ui, major = "", "", False
    qualifiers: list[tuple[str, bool]] = []
    for part in heading:
        if part.tag == "DescriptorName":
            descriptor, ui = text_of(part), part.get("UI", "")
            major = part.get("MajorTopicYN") == "Y"
        elif part.tag == "QualifierName":
            qualifiers.append((text_of(part), part.get("MajorTopicYN") == "Y"))
    return MeshHeading(descriptor, ui, major, tuple(qualifiers))


_JOURNALS = Known(_journal_info)
_HEADINGS = Known(_heading)
_CHEMICALS = Known(lambda chemical: child_text(chemical, "NameOfSubstance"))


# --- Article -------------------------------------------------------------------------------------


def _article(part: etree._Element, values: Values) -> None:
    _read(part, _OF_ARTICLE, values)


def _title(part: etree._Element, values: Values) -> None:
    values["title"] = text_of(part)


def _vernacular_title(part: etree._Element, values: Values) -> None:
    values["title"] = values.get("title") or text_of(part)


def _issue(part: etree._Element, values: Values) -> None:
    values.update(_ISSUES.get(part))


def _location(part: etree._Element, values: Values) -> None:
    if part.get("ValidYN") != "N":
        _add(values, "locations", [(part.get("EIdType", ""), text_of(part))])


def _language(part: etree._Element, values: Values) -> None:
    values["languages"] = (*values.get("languages", ()), text_of(part))


def _types(part: etree._Element, values: Values) -> None:
    values["publication_types"] = _TYPES.get(part)


def _article_date(part: etree._Element, values: Values) -> None:
    values.setdefault("article_date", _DATES.get(part))


def _affiliation(part: etree._Element, values: Values) -> None:
    values["article_affiliation"] = text_of(part)


def _data_banks(part: etree._Element, values: Values) -> None:
    for bank in part:
        name = child_text(bank, "DataBankName")
        lists = (each for each in bank if each.tag == "AccessionNumberList")
        numbers = [text_of(number) for each in lists for number in each]
        _add(values, "other_ids", [(name, number) for number in numbers if number])


def _journal(journal: etree._Element) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in journal:
        tag = part.tag
        if tag == "JournalIssue":
            for detail in part:
                if detail.tag == "PubDate":
                    values["published"] = read_date(detail)
                elif detail.tag == "Volume":
                    values["volume"] = text_of(detail)
                elif detail.tag == "Issue":
                    values["issue"] = text_of(detail)
        elif tag in _JOURNAL_PARTS and (text := text_of(part)):
            values[_JOURNAL_PARTS[tag]] = text
    return values


_JOURNAL_PARTS = {"Title": "journal", "ISOAbbreviation": "journal_abbreviation", "ISSN": "issn"}
_ISSUES = Known(_journal)
_TYPES = Known(lambda types: texts_of(types, "PublicationType"))


def _abstract(abstract: etree._Element, values: Values) -> None:
    texts: list[str] = []
    labelled: list[tuple[str, str]] = []
    for part in abstract:
        if part.tag == "AbstractText":
            text = text_of(part)
            if text:
                texts.append(text)
                label = part.get("Label")
                if label:
                    labelled.append((label, text))
    values["abstract"] = " ".join(texts)
    values["abstract_parts"] = tuple(labelled)


def _pages(pagination: etree._Element, values: Values) -> None:
    written = child_text(pagination, "MedlinePgn")
    if not written:
        first, last = child_text(pagination, "StartPage"), child_text(pagination, "EndPage")
        written = f"{first}-{last}" if first and last else first
    values["pages"] = written


def _authors(authors: etree._Element, values: Values) -> None:
    short: list[str] = []
    full: list[str] = []
    affiliations: dict[str, None] = {}
    for author in authors:
        if author.get("ValidYN") == "N":
            continue
        last = given = initials = suffix = collective = ""
        for part in author:
            tag = part.tag
            if tag == "LastName":
                last = text_of(part)
            elif tag == "ForeName" or tag == "FirstName":
                given = text_of(part)
            elif tag == "Initials":
                initials = text_of(part)
            elif tag == "AffiliationInfo":
                for text in texts_of(part, "Affiliation"):
                    affiliations[text] = None
            elif tag == "Suffix":
                suffix = text_of(part)
            elif tag == "CollectiveName":
                collective = text_of(part)
            elif tag == "Affiliation" and (text := text_of(part)):
                affiliations[text] = None
        if collective:
            short.append(collective)
            full.append(collective)
            continue
        if not initials and given:
            initials = "".join(name[0] for name in given.replace("-", " ").split())
        name = f"{last} {initials}" if initials and last else last or initials
        if not name:
            continue
        short.append(f"{name} {suffix}" if suffix else name)
        name = ", ".join(filter(None, (last, given or initials)))
        full.append(f"{name} {suffix}" if suffix else name)
    values["authors"] = tuple(short)
    values["full_authors"] = tuple(full)
    values["affiliations"] = tuple(affiliations)


# --- PubmedData ----------------------------------------------------------------------------------

_STATUSES = {
    "pubmed": "entered",
    "entrez": "created",
    "medline": "mesh_dated",
    "epublish": "epublished",
}


def _history_date(dated: etree._Element) -> tuple[str, date | None] | None:
    name = _STATUSES.get(dated.get("PubStatus", ""))
    return (name, read_date(dated)[0]) if name else None


_HISTORY = Known(_history_date)


def _history(part: etree._Element, values: Values) -> None:
    values.update(filter(None, _HISTORY.each(part, b"</PubMedPubDate>", b"<Hour>")))


def _ids(part: etree._Element, values: Values) -> None:
    _add(values, "locations", [(id.get("IdType", ""), text_of(id)) for id in part])


def _references(part: etree._Element, values: Values) -> None:
    _add(values, "references", _cited(part))


def _cited(references: etree._Element) -> Iterator[str]:
    for id in references.iter("ArticleId"):
        if id.get("IdType") == "pubmed":
            yield text_of(id)


_OF_CITATION: Readers = {
    "PMID": _pmid,
    "Article": _article,
    "DateCompleted": _completed,
    "DateRevised": _revised,
    "MeshHeadingList": _mesh,
    "MedlineJournalInfo": _medline_journal,
    "ChemicalList": _chemicals,
    "SupplMeshList": _supplementary,
    "KeywordList": _keywords,
    "CommentsCorrectionsList": _corrections,
    "OtherID": _other_id,
}
_OF_ARTICLE: Readers = {
    "ArticleTitle": _title,
    "VernacularTitle": _vernacular_title,
    "Abstract": _abstract,
    "AuthorList": _authors,
    "Journal": _issue,
    "ELocationID": _location,
    "Language": _language,
    "PublicationTypeList": _types,
    "Pagination": _pages,
    "ArticleDate": _article_date,
    "DataBankList": _data_banks,
    "Affiliation": _affiliation,
}
_OF_PUBMED_DATA: Readers = {
    "History": _history,
    "ArticleIdList": _ids,
    "ReferenceList": _references,
}


def _finished(values: Values) -> Record:
    """Settle what several elements speak of: dates, ids, affiliations, references."""
    article_date: Dated = values.pop("article_date", NO_DATE)
    published: Dated = values.pop("published", NO_DATE)
    if published[0] is None:
        published = article_date
    values["published"], values["published_precision"] = published
    epublished = values.pop("epublished", None)
    values["electronic"] = article_date[0] or epublished
    affiliation = values.pop("article_affiliation", "")
    if affiliation and not values.get("affiliations"):
        values["affiliations"] = (affiliation,)
    others: dict[tuple[str, str], None] = {}
    for kind, id in values.pop("locations", ()):
        if kind == "doi":
            values.setdefault("doi", id)
        elif kind != "pubmed" and id:
            others[kind, id] = None
    if others or "other_ids" in values:
        values["other_ids"] = tuple(dict.fromkeys((*others, *values.get("other_ids", ()))))
    if "references" in values:
        values["references"] = tuple(dict.fromkeys(values["references"]))
    return Record(**values)
