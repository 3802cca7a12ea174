"""From an element of PubMed XML to a `Record`: baseline and update files and efetch answers alike.

Elements are those of NLM's PubMed DTD (https://dtd.nlm.nih.gov/ncbi/pubmed/). Which history date is
which search field: `pubmed` is [edat], `entrez` is [crdt], `medline` is [mhda], as the MEDLINE
display of the same records shows (https://www.nlm.nih.gov/bsd/mms/medlineelements.html).

Left out, because no field holds it: grants, investigators, other abstracts, comments and
corrections other than citations.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from lxml import etree

from actors.search.pubmed_dates import NO_DATE, Dated, read_date
from actors.search.types import MeshHeading, Record

ROOTS = ("PubmedArticleSet", "MedlineCitationSet", "PubmedBookArticleSet")
ARTICLES = ("PubmedArticle", "MedlineCitation")

_headings: dict[tuple[Any, ...], MeshHeading] = {}
_dates: dict[tuple[str, ...], Dated] = {}
_CACHED = 200_000


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
    values: dict[str, Any] = {}
    if element.tag == "MedlineCitation":
        _citation(element, values)
    else:
        for part in element:
            tag = part.tag
            if tag == "MedlineCitation":
                _citation(part, values)
            elif tag == "PubmedData":
                _pubmed_data(part, values)
    if not values.get("id"):
        raise RecordError("an article has no PMID")
    return _finished(values)


def _text(element: etree._Element) -> str:
    """All text inside, nested markup such as <i> and <sup> as plain text, spaces made single."""
    text = _inner(element) if len(element) else element.text
    if not text:
        return ""
    if text.isascii() and "\n" not in text and "  " not in text and "\t" not in text:
        return text.strip()
    return " ".join(text.split())


def _inner(element: etree._Element) -> str:
    return etree.tostring(element, method="text", encoding="unicode", with_tail=False)


def _texts(parent: etree._Element, tag: str) -> tuple[str, ...]:
    return tuple([text for child in parent if child.tag == tag and (text := _text(child))])


def _child(element: etree._Element, tag: str) -> str:
    for child in element:
        if child.tag == tag:
            return _text(child)
    return ""


def _date(element: etree._Element) -> Dated:
    """The date in a DateCompleted, PubMedPubDate or the like: numbers, in the DTD's order."""
    numbers = tuple(_inner(element).split()[:3])
    found = _dates.get(numbers)
    if found is None:
        if len(_dates) > _CACHED:
            _dates.clear()
        found = _dates[numbers] = read_date(element)
    return found


def _pub_date(element: etree._Element) -> Dated:
    free_text = len(element) == 1 and element[0].tag == "MedlineDate"
    return read_date(element) if free_text else _date(element)


# --- MedlineCitation -----------------------------------------------------------------------------


def _citation(citation: etree._Element, values: dict[str, Any]) -> None:
    values["status"] = citation.get("Status", "")
    for part in citation:
        tag = part.tag
        if tag == "PMID":
            values["id"] = _text(part)
        elif tag == "Article":
            _article(part, values)
        elif tag == "DateCompleted":
            values["completed"] = _date(part)[0]
        elif tag == "DateRevised":
            values["revised"] = _date(part)[0]
        elif tag == "MeshHeadingList":
            values["mesh"] = tuple([_heading(child) for child in part])
        elif tag == "MedlineJournalInfo":
            _journal_info(part, values)
        elif tag == "ChemicalList":
            names = [_text(name) for each in part for name in each if name.tag == "NameOfSubstance"]
            _add(values, "chemicals", names)
        elif tag == "SupplMeshList":
            _add(values, "chemicals", _texts(part, "SupplMeshName"))
        elif tag == "KeywordList":
            _add(values, "keywords", _texts(part, "Keyword"))
        elif tag == "CommentsCorrectionsList":
            cited = (each for each in part if each.get("RefType") == "Cites")
            _add(values, "references", [_child(each, "PMID") for each in cited])
        elif tag == "OtherID":
            _add(values, "other_ids", [(part.get("Source", ""), _text(part))])


def _add(values: dict[str, Any], name: str, items: Iterable[Any]) -> None:
    """Append the items that are not empty to a field of `values`."""
    values[name] = (*values.get(name, ()), *filter(None, items))


def _journal_info(info: etree._Element, values: dict[str, Any]) -> None:
    for part in info:
        tag = part.tag
        if tag == "Country":
            values["country"] = _text(part)
        elif tag == "MedlineTA":
            values.setdefault("journal_abbreviation", _text(part))
        elif tag == "NlmUniqueID":
            values["journal_id"] = _text(part)
        elif tag == "ISSNLinking":
            values.setdefault("issn", _text(part))


def _heading(heading: etree._Element) -> MeshHeading:
    parts: list[Any] = []
    for part in heading:
        parts.append(part.text)
        parts += part.items()
    key = tuple(parts)
    found = _headings.get(key)
    if found is None:
        if len(_headings) > _CACHED:
            _headings.clear()
        found = _headings[key] = _new_heading(heading)
    return found


def _new_heading(heading: etree._Element) -> MeshHeading:
    descriptor, ui, major = "", "", False
    qualifiers: list[tuple[str, bool]] = []
    for part in heading:
        if part.tag == "DescriptorName":
            descriptor, ui = _text(part), part.get("UI", "")
            major = part.get("MajorTopicYN") == "Y"
        elif part.tag == "QualifierName":
            qualifiers.append((_text(part), part.get("MajorTopicYN") == "Y"))
    return MeshHeading(descriptor, ui, major, tuple(qualifiers))


# --- Article -------------------------------------------------------------------------------------


def _article(article: etree._Element, values: dict[str, Any]) -> None:
    for part in article:
        tag = part.tag
        if tag == "ArticleTitle":
            values["title"] = _text(part)
        elif tag == "VernacularTitle":
            values["title"] = values.get("title") or _text(part)
        elif tag == "Abstract":
            _abstract(part, values)
        elif tag == "AuthorList":
            _authors(part, values)
        elif tag == "Journal":
            _journal(part, values)
        elif tag == "ELocationID":
            if part.get("ValidYN") != "N":
                _add(values, "locations", [(part.get("EIdType", ""), _text(part))])
        elif tag == "Language":
            _add(values, "languages", [_text(part)])
        elif tag == "PublicationTypeList":
            values["publication_types"] = _texts(part, "PublicationType")
        elif tag == "Pagination":
            values["pages"] = _pages(part)
        elif tag == "ArticleDate":
            values.setdefault("article_date", _date(part))
        elif tag == "DataBankList":
            for bank in part:
                name = _child(bank, "DataBankName")
                lists = (each for each in bank if each.tag == "AccessionNumberList")
                numbers = [_text(number) for each in lists for number in each]
                _add(values, "other_ids", [(name, number) for number in numbers if number])
        elif tag == "Affiliation":
            values["article_affiliation"] = _text(part)


def _journal(journal: etree._Element, values: dict[str, Any]) -> None:
    for part in journal:
        tag = part.tag
        if tag == "JournalIssue":
            for detail in part:
                tag = detail.tag
                if tag == "PubDate":
                    values["published"] = _pub_date(detail)
                elif tag == "Volume":
                    values["volume"] = _text(detail)
                elif tag == "Issue":
                    values["issue"] = _text(detail)
        elif tag == "Title":
            values["journal"] = _text(part)
        elif tag == "ISOAbbreviation":
            abbreviation = _text(part)
            if abbreviation:
                values["journal_abbreviation"] = abbreviation
        elif tag == "ISSN":
            issn = _text(part)
            if issn:
                values["issn"] = issn


def _abstract(abstract: etree._Element, values: dict[str, Any]) -> None:
    texts: list[str] = []
    labelled: list[tuple[str, str]] = []
    for part in abstract:
        if part.tag == "AbstractText":
            text = _text(part)
            if text:
                texts.append(text)
                label = part.get("Label")
                if label:
                    labelled.append((label, text))
    values["abstract"] = " ".join(texts)
    values["abstract_parts"] = tuple(labelled)


def _pages(pagination: etree._Element) -> str:
    written = _child(pagination, "MedlinePgn")
    if written:
        return written
    first, last = _child(pagination, "StartPage"), _child(pagination, "EndPage")
    return f"{first}-{last}" if first and last else first


def _authors(authors: etree._Element, values: dict[str, Any]) -> None:
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
                last = _text(part)
            elif tag == "ForeName" or tag == "FirstName":
                given = _text(part)
            elif tag == "Initials":
                initials = _text(part)
            elif tag == "AffiliationInfo":
                for text in _texts(part, "Affiliation"):
                    affiliations[text] = None
            elif tag == "Suffix":
                suffix = _text(part)
            elif tag == "CollectiveName":
                collective = _text(part)
            elif tag == "Affiliation" and (text := _text(part)):
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

_HISTORY = {
    "pubmed": "entered",
    "entrez": "created",
    "medline": "mesh_dated",
    "epublish": "epublished",
}


def _pubmed_data(data: etree._Element, values: dict[str, Any]) -> None:
    for part in data:
        tag = part.tag
        if tag == "History":
            for dated in part:
                name = _HISTORY.get(dated.get("PubStatus", ""))
                if name:
                    values[name] = _date(dated)[0]
        elif tag == "ArticleIdList":
            _add(values, "locations", [(id.get("IdType", ""), _text(id)) for id in part])
        elif tag == "ReferenceList":
            _add(values, "references", list(_cited(part)))


def _cited(references: etree._Element) -> Iterator[str]:
    for id in references.iter("ArticleId"):
        if id.get("IdType") == "pubmed":
            yield _text(id)


def _finished(values: dict[str, Any]) -> Record:
    """Settle what several elements speak of: dates, ids, affiliations, references."""
    article_date: Dated = values.pop("article_date", NO_DATE)
    published: Dated = values.pop("published", NO_DATE)
    if published[0] is None:
        published = article_date
    epublished: date | None = values.pop("epublished", None)
    values["electronic"] = article_date[0] or epublished
    affiliation = values.pop("article_affiliation", "")
    if affiliation and not values.get("affiliations"):
        values["affiliations"] = (affiliation,)
    doi = ""
    others: dict[tuple[str, str], None] = {}
    for kind, id in values.pop("locations", ()):
        if kind == "doi":
            doi = doi or id
        elif kind != "pubmed" and id:
            others[kind, id] = None
    if others or "other_ids" in values:
        values["other_ids"] = tuple(dict.fromkeys((*others, *values.get("other_ids", ()))))
    if "references" in values:
        values["references"] = tuple(dict.fromkeys(values["references"]))
    return Record(
        doi=doi,
        published=published[0],
        published_precision=published[1],
        **values,
    )
