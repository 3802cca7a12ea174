"""A streaming reader of PubMed XML: baseline and update files and efetch answers, plain or gz.

Elements are those of NLM's PubMed DTD (https://dtd.nlm.nih.gov/ncbi/pubmed/). Memory stays constant
whatever the file's size: each article is dropped once it is a `Record`.
"""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from actors.search.types import MeshHeading, Record
from pipelines.data.failures import CorpusError
from pipelines.data.pubmed_dates import read_date

Report = Callable[[str], None]

_ROOTS = ("PubmedArticleSet", "MedlineCitationSet")


@dataclass(frozen=True, slots=True)
class Deletion:
    """An id that an update file takes out of the corpus."""

    id: str


class _CountedFile:
    """A readable file that knows how many (decompressed) bytes were taken from it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.taken = 0

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.taken += len(data)
        return data


def _open(path: Path) -> BinaryIO:
    file = path.open("rb")
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not packed:
        return file
    file.close()
    return cast(BinaryIO, gzip.open(path, "rb"))


def read_pubmed_xml(path: str | Path, report: Report | None = None) -> Iterator[Record | Deletion]:
    """Yield the file's records and deletions in file order.

    `report` is told how many book records were skipped. Raises `CorpusError` for a file that is
    missing, truncated, not XML, not PubMed XML, or holds an article without a PMID; the message
    names the file, the line or byte, and the last good record's PMID.
    """
    path = Path(path)
    last = ""
    books = 0
    try:
        with _open(path) as file:
            counted = _CountedFile(file)
            try:
                for item in _articles(counted, path):
                    if item is None:
                        books += 1
                        continue
                    if isinstance(item, Record):
                        last = item.id
                    yield item
            except ElementTree.ParseError as err:
                line, column = err.position
                raise CorpusError(
                    f"{path}: broken XML at line {line}, column {column} ({err.msg}){_after(last)}"
                ) from err
            except (EOFError, zlib.error, gzip.BadGzipFile) as err:
                raise CorpusError(
                    f"{path}: the gz stream breaks off or is damaged after byte {counted.taken} of "
                    f"its content ({err}){_after(last)}; fetch the file again"
                ) from err
            except _ArticleError as err:
                raise CorpusError(
                    f"{path}: {err}, before byte {counted.taken} of its content{_after(last)}"
                ) from err
    except OSError as err:
        raise CorpusError(f"{path}: cannot be read: {err.strerror or err}") from err
    if books and report:
        report(f"{path.name}: skipped {books} book records")


def _after(last: str) -> str:
    return f"; last good record: PMID {last}" if last else "; no record was read before it"


class _ArticleError(Exception):
    pass


def _articles(file: _CountedFile, path: Path) -> Iterator[Record | Deletion | None]:
    """Records and deletions in file order; None stands for a skipped book record."""
    events = ElementTree.iterparse(cast(BinaryIO, file), events=("start", "end"))
    _, root = next(events)
    if root.tag not in _ROOTS:
        raise CorpusError(f"{path}: not PubMed XML: its root element is <{root.tag}>")
    whole = "PubmedArticle" if root.tag == "PubmedArticleSet" else "MedlineCitation"
    number = 0
    for event, element in events:
        if event == "start":
            continue
        if element.tag == whole:
            number += 1
            record = _record(element, number)
            root.clear()
            yield record
        elif element.tag == "PubmedBookArticle":
            root.clear()
            yield None
        elif element.tag == "DeleteCitation":
            ids = [pmid.text or "" for pmid in element.findall("PMID")]
            root.clear()
            yield from (Deletion(id.strip()) for id in ids if id.strip())


def _text(element: Element | None) -> str:
    """All text inside, nested markup such as <i> and <sup> as plain text, spaces made single."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _texts(parent: Element, path: str) -> tuple[str, ...]:
    return tuple(text for text in map(_text, parent.iterfind(path)) if text)


def _record(element: Element, number: int) -> Record:
    citation = element if element.tag == "MedlineCitation" else element.find("MedlineCitation")
    pmid = _text(citation.find("PMID")) if citation is not None else ""
    if citation is None or not pmid:
        raise _ArticleError(f"article {number} has no PMID")
    article = citation.find("Article")
    if article is None:
        article = Element("Article")
    abbreviation = _text(article.find("Journal/ISOAbbreviation"))
    published, precision = read_date(article.find("Journal/JournalIssue/PubDate"))
    if published is None:
        published, precision = read_date(article.find("ArticleDate"))
    parts = [
        (part.get("Label", ""), _text(part)) for part in article.iterfind("Abstract/AbstractText")
    ]
    return Record(
        id=pmid,
        title=_text(article.find("ArticleTitle")) or _text(article.find("VernacularTitle")),
        abstract=" ".join(text for _, text in parts if text),
        abstract_parts=tuple((label, text) for label, text in parts if label and text),
        authors=tuple(name for name in map(_author, article.iterfind("AuthorList/Author")) if name),
        journal=_text(article.find("Journal/Title")),
        journal_abbreviation=abbreviation or _text(citation.find("MedlineJournalInfo/MedlineTA")),
        published=published,
        published_precision=precision,
        completed=read_date(citation.find("DateCompleted"))[0],
        revised=read_date(citation.find("DateRevised"))[0],
        publication_types=_texts(article, "PublicationTypeList/PublicationType"),
        mesh=tuple(map(_heading, citation.iterfind("MeshHeadingList/MeshHeading"))),
        chemicals=_texts(citation, "ChemicalList/Chemical/NameOfSubstance"),
        keywords=_texts(citation, "KeywordList/Keyword"),
        languages=_texts(article, "Language"),
        references=_references(element),
        doi=_doi(element, article),
    )


def _author(author: Element) -> str:
    """ "Last Initials"; a collective name whole; "" for a name NLM marked as wrong."""
    if author.get("ValidYN") == "N":
        return ""
    collective = _text(author.find("CollectiveName"))
    if collective:
        return collective
    initials = _text(author.find("Initials"))
    if not initials:
        names = _text(author.find("ForeName")).replace("-", " ").split()
        initials = "".join(name[0] for name in names)
    return f"{_text(author.find('LastName'))} {initials}".strip()


def _heading(heading: Element) -> MeshHeading:
    descriptor = heading.find("DescriptorName")
    return MeshHeading(
        descriptor=_text(descriptor),
        ui="" if descriptor is None else descriptor.get("UI", ""),
        major=descriptor is not None and descriptor.get("MajorTopicYN") == "Y",
        qualifiers=tuple(
            (_text(qualifier), qualifier.get("MajorTopicYN") == "Y")
            for qualifier in heading.iterfind("QualifierName")
        ),
    )


def _references(element: Element) -> tuple[str, ...]:
    ids = (
        _text(id)
        for references in element.iterfind("PubmedData/ReferenceList")
        for id in references.iter("ArticleId")
        if id.get("IdType") == "pubmed"
    )
    return tuple(dict.fromkeys(id for id in ids if id))


def _doi(element: Element, article: Element) -> str:
    for location in article.iterfind("ELocationID"):
        if location.get("EIdType") == "doi" and location.get("ValidYN") != "N":
            return _text(location)
    for id in element.iterfind("PubmedData/ArticleIdList/ArticleId"):
        if id.get("IdType") == "doi":
            return _text(id)
    return ""


def read_records(
    paths: Iterable[str | Path], report: Report | None = None, *, abstracts_only: bool = False
) -> list[Record]:
    """Read baseline and update files as one corpus, applied in the order of their file names.

    A later version of a PMID replaces the earlier one in its place; a deletion removes it.
    `abstracts_only` keeps only records whose last version has an abstract. Raises `CorpusError`.
    """
    records: dict[str, Record] = {}
    for path in sorted(map(Path, paths), key=lambda path: path.name):
        for item in read_pubmed_xml(path, report):
            if isinstance(item, Deletion):
                records.pop(item.id, None)
            else:
                records[item.id] = item
        if report:
            report(f"{path.name}: {len(records)} records so far")
    return [record for record in records.values() if record.abstract or not abstracts_only]
