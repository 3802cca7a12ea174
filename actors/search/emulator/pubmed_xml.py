"""`Record` to `PubmedArticle`, in the element order that NLM's PubMed DTD of 2025 prescribes."""

from collections.abc import Sequence
from datetime import date

from actors.search.emulator.citation import (
    article_ids,
    people,
    publication_status,
)
from actors.search.emulator.envelope import element, wrap
from actors.search.pubmed_dates import MONTHS
from actors.search.types import MeshHeading, Record


def article_set(records: Sequence[Record]) -> str:
    """What stands inside `PubmedArticleSet`."""
    return "\n" + "\n".join(article(record) for record in records) + ("\n" if records else "")


def article(record: Record) -> str:
    """One `PubmedArticle`."""
    citation = wrap(
        "MedlineCitation",
        element("PMID", record.id, Version="1"),
        _day("DateCompleted", record.completed),
        _day("DateRevised", record.revised),
        _article(record),
        _journal_info(record),
        _many(
            "ChemicalList",
            [
                wrap(
                    "Chemical", element("RegistryNumber", "0"), element("NameOfSubstance", c, UI="")
                )
                for c in record.chemicals
            ],
        ),
        _many("MeshHeadingList", [_heading(heading) for heading in record.mesh]),
        _keywords(record.keywords),
        Status=record.status if record.status in STATUSES else "PubMed-not-MEDLINE",
        Owner="NLM",
    )
    return wrap("PubmedArticle", citation, _pubmed_data(record))


STATUSES = frozenset(
    "Completed In-Process PubMed-not-MEDLINE In-Data-Review Publisher MEDLINE OLDMEDLINE".split()
)


def _many(name: str, items: Sequence[str], **attributes: str) -> str:
    return wrap(name, *items, **attributes) if items else ""


def _optional(name: str, text: str, **attributes: str) -> str:
    return element(name, text, **attributes) if text else ""


def _day(name: str, day: date | None, **attributes: str) -> str:
    if day is None:
        return ""
    return wrap(
        name,
        element("Year", f"{day.year:04d}"),
        element("Month", f"{day.month:02d}"),
        element("Day", f"{day.day:02d}"),
        **attributes,
    )


def _article(record: Record) -> str:
    location = _optional("ELocationID", record.doi, EIdType="doi", ValidYN="Y")
    pages = wrap("Pagination", element("MedlinePgn", record.pages))
    return wrap(
        "Article",
        _journal(record),
        element("ArticleTitle", record.title),
        pages if record.pages or not location else "",
        location,
        _abstract(record),
        _authors(record),
        *(element("Language", code) for code in record.languages or ("und",)),
        wrap(
            "PublicationTypeList",
            *(
                element("PublicationType", kind, UI="")
                for kind in record.publication_types or ("Journal Article",)
            ),
        ),
        _day("ArticleDate", record.electronic, DateType="Electronic"),
        PubModel="Print-Electronic" if record.electronic else "Print",
    )


def _journal(record: Record) -> str:
    return wrap(
        "Journal",
        _optional("ISSN", record.issn, IssnType="Print"),
        wrap(
            "JournalIssue",
            _optional("Volume", record.volume),
            _optional("Issue", record.issue),
            _publication_date(record),
            CitedMedium="Internet" if record.electronic else "Print",
        ),
        _optional("Title", record.journal),
        _optional("ISOAbbreviation", record.journal_abbreviation),
    )


def _publication_date(record: Record) -> str:
    day = record.published
    if day is None:
        return wrap("PubDate", element("MedlineDate"))
    parts = [element("Year", f"{day.year:04d}")]
    if record.published_precision in ("month", "day"):
        parts.append(element("Month", MONTHS[day.month - 1]))
    if record.published_precision == "day":
        parts.append(element("Day", f"{day.day:02d}"))
    return wrap("PubDate", *parts)


def _abstract(record: Record) -> str:
    if record.abstract_parts:
        return wrap(
            "Abstract",
            *(
                element("AbstractText", part, **({"Label": label} if label else {}))
                for label, part in record.abstract_parts
            ),
        )
    return wrap("Abstract", element("AbstractText", record.abstract)) if record.abstract else ""


def _authors(record: Record) -> str:
    """The author list. Affiliations stand with the author of the same place if one to one, else
    all with the first, since a record keeps no other tie between the two."""
    named = people(record)
    if not named:
        return ""
    paired = len(record.affiliations) == len(named)
    written = []
    for place, person in enumerate(named):
        own = record.affiliations[place : place + 1] if paired else ()
        if not paired and place == 0:
            own = record.affiliations
        if person.is_collective:
            names = element("CollectiveName", person.last)
        else:
            names = (
                element("LastName", person.last)
                + _optional("ForeName", person.forename)
                + _optional("Initials", person.initials)
                + _optional("Suffix", person.suffix)
            )
        places = (wrap("AffiliationInfo", element("Affiliation", text)) for text in own if text)
        written.append(wrap("Author", names, *places, ValidYN="Y"))
    return wrap("AuthorList", *written, CompleteYN="Y")


def _journal_info(record: Record) -> str:
    return wrap(
        "MedlineJournalInfo",
        _optional("Country", record.country),
        element("MedlineTA", record.journal_abbreviation or record.journal),
        _optional("NlmUniqueID", record.journal_id),
        _optional("ISSNLinking", record.issn),
    )


def _heading(heading: MeshHeading) -> str:
    return wrap(
        "MeshHeading",
        element(
            "DescriptorName", heading.descriptor, UI=heading.ui, MajorTopicYN=_yes(heading.major)
        ),
        *(
            element("QualifierName", name, UI="", MajorTopicYN=_yes(major))
            for name, major in heading.qualifiers
        ),
    )


def _keywords(keywords: Sequence[str]) -> str:
    return _many(
        "KeywordList",
        [element("Keyword", word, MajorTopicYN="N") for word in keywords],
        Owner="NOTNLM",
    )


def _pubmed_data(record: Record) -> str:
    dates = (
        ("entrez", record.created or record.entered),
        ("pubmed", record.entered),
        ("medline", record.mesh_dated),
    )
    history = [
        wrap(
            "PubMedPubDate",
            element("Year", day.year),
            element("Month", day.month),
            element("Day", day.day),
            PubStatus=status,
        )
        for status, day in dates
        if day
    ]
    references = [
        wrap(
            "Reference",
            element("Citation"),
            wrap("ArticleIdList", element("ArticleId", cited, IdType="pubmed")),
        )
        for cited in record.references
    ]
    return wrap(
        "PubmedData",
        _many("History", history),
        element("PublicationStatus", publication_status(record)),
        wrap(
            "ArticleIdList",
            *(
                element("ArticleId", value, IdType=kind)
                for kind, value in article_ids(record)
                if kind in ID_TYPES
            ),
        ),
        _many("ReferenceList", references),
    )


ID_TYPES = frozenset(
    "doi pii pmcpid pmpid pmc mid sici pubmed medline pmcid pmcbook bookaccession".split()
)


def _yes(flag: bool) -> str:
    return "Y" if flag else "N"
