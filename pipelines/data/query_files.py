"""Readers of query files (one task a line) and of corpora as JSON lines (one record a line).

A task line has `id`, a need (`P`, `I`, `C`, `O`, or `text`), `relevant` (or LEADS'
`publication_pmids`), and may have `date_to` (or `pub_date`, `date`), `human_query`, `parent`.
A record line has `pmid` (or `id`), `title`, `abstract` and may have `year` or `date`, `journal`,
`doi`, `mesh` ("Descriptor/qualifier", a star for major), `pubtypes`, `keywords`, `authors`.
"""

import calendar
import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from actors.search.pubmed_dates import NO_DATE, Dated, make_date
from actors.search.types import MeshHeading, Record
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields, read_objects
from pipelines.data.pubmed_xml import Report
from pipelines.data.pubmed_xml import read_records as read_xml_records
from pipelines.data.task import Pico, Task

_DATE = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?")


def read_query_file(path: str | Path, corpus: str = "") -> list[Task]:
    """The file's tasks, in order. Raises `CorpusError` with file and line for a bad line."""
    tasks: dict[str, Task] = {}
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        task = _task(fields, corpus)
        if task.id in tasks:
            raise CorpusError(f"{fields.place}: id {task.id} comes twice")
        tasks[task.id] = task
    if not tasks:
        raise CorpusError(f"{path}: holds no task")
    return list(tasks.values())


def _task(fields: Fields, corpus: str) -> Task:
    id = fields.required("id")
    pico = Pico(*(fields.text(letter) for letter in "PICO"))
    need = pico if pico.items() else fields.required("text", "question", "P, I, C or O")
    parent = fields.text("parent")
    return Task(
        id=id,
        need=need,
        relevant=frozenset(fields.texts("relevant", "publication_pmids")) - {""},
        date_to=last_day(_date(fields, "date_to", "pub_date", "date")),
        corpus=corpus,
        human_query=fields.text("human_query"),
        topics=frozenset({parent or id}),
    )


def _date(fields: Fields, *names: str) -> Dated:
    text = fields.text(*names)
    if not text:
        return NO_DATE
    match = _DATE.fullmatch(text)
    found = make_date(*(part or "" for part in match.groups())) if match else NO_DATE
    if found[0] is None:
        raise CorpusError(f"{fields.place}: {text!r} is not a date (2003, 2003-05, 2003-05-31)")
    return found


def last_day(dated: Dated) -> date | None:
    """The last day that a date of this precision can mean: 2003 is 31 December 2003."""
    day, precision = dated
    if day is None or precision == "day":
        return day
    month = 12 if precision == "year" else day.month
    return date(day.year, month, calendar.monthrange(day.year, month)[1])


def read_jsonl_records(path: str | Path) -> Iterator[Record]:
    """Yield the file's records. Raises `CorpusError` with file and line for a bad line."""
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        published, precision = _date(fields, "date", "year")
        yield Record(
            id=fields.required("pmid", "id"),
            title=fields.text("title"),
            abstract=fields.text("abstract"),
            authors=tuple(map(_author, fields.texts("authors"))),
            journal=fields.text("journal"),
            published=published,
            published_precision=precision,
            publication_types=fields.texts("pubtypes"),
            mesh=tuple(map(_heading, fields.texts("mesh"))),
            keywords=fields.texts("keywords"),
            languages=fields.texts("languages"),
            doi=fields.text("doi"),
        )


def _author(name: str) -> str:
    """ "Sheftell, Fred D" as "Sheftell FD"; a name without a comma stays."""
    last, comma, given = name.partition(",")
    if not comma:
        return name
    initials = "".join(part[0] for part in re.split(r"[\s.\-]+", given) if part)
    return f"{last.strip()} {initials}".strip()


def _heading(text: str) -> MeshHeading:
    descriptor, *qualifiers = (part.strip() for part in text.split("/"))
    return MeshHeading(
        descriptor=descriptor.strip("*"),
        major=descriptor.startswith("*") or descriptor.endswith("*"),
        qualifiers=tuple(
            (name.strip("*"), name.startswith("*") or name.endswith("*")) for name in qualifiers
        ),
    )


def read_corpus(
    paths: Iterable[str | Path], report: Report | None = None, *, abstracts_only: bool = False
) -> list[Record]:
    """Records of PubMed XML and JSONL files together; of two with one id the later file's stays.

    Raises `CorpusError`, also when no record is left.
    """
    files = sorted(map(Path, paths), key=lambda path: path.name)
    lines = [path for path in files if path.name.endswith((".jsonl", ".jsonl.gz"))]
    rest = [path for path in files if path not in lines]
    records = {record.id: record for record in read_xml_records(rest, report)}
    for path in lines:
        for record in read_jsonl_records(path):
            records[record.id] = record
        if report:
            report(f"{path.name}: {len(records)} records so far")
    kept = [record for record in records.values() if record.abstract or not abstracts_only]
    if not kept:
        named = ", ".join(path.name for path in files) or "no file"
        raise CorpusError(f"{named}: no record{' with an abstract' if records else ''} in it")
    return kept
