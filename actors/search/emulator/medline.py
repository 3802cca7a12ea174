"""`Record`s as the plain text formats of efetch: MEDLINE (for citation tools) and abstracts."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import date

from actors.search.emulator.citation import (
    abstract_text,
    people,
    publication_status,
    published_text,
    source,
)
from actors.search.types import MeshHeading, Record

_WIDTH = 88  # of a line without its six-character margin


def medline(records: Sequence[Record]) -> str:
    """The records in MEDLINE format, an empty line before each."""
    return "".join("\n" + _record(record) for record in records)


def _record(record: Record) -> str:
    return "".join(_field(tag, value) for tag, value in _fields(record) if value)


def _field(tag: str, value: str) -> str:
    lines: list[str] = []
    line = ""
    for word in value.split():
        if line and len(line) + len(word) >= _WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    lines.append(line)
    return f"{tag:<4}- " + "\n      ".join(lines) + "\n" if line else ""


def _fields(record: Record) -> Iterator[tuple[str, str]]:
    yield "PMID", record.id
    yield "OWN", "NLM"
    yield "STAT", record.status
    yield "DCOM", _compact(record.completed)
    yield "LR", _compact(record.revised)
    yield "IS", f"{record.issn} (Linking)" if record.issn else ""
    yield "VI", record.volume
    yield "IP", record.issue
    yield "DP", published_text(record)
    yield "TI", record.title
    yield "PG", record.pages
    yield "LID", f"{record.doi} [doi]" if record.doi else ""
    yield "AB", abstract_text(record)
    for person, name in zip(people(record), record.authors, strict=True):
        if person.is_collective:
            yield "CN", person.last
            continue
        yield "FAU", f"{person.last}, {person.forename}" if person.forename else ""
        yield "AU", name
    for affiliation in record.affiliations:
        yield "AD", affiliation
    for language in record.languages:
        yield "LA", language
    for kind in record.publication_types:
        yield "PT", kind
    yield "DEP", _compact(record.electronic)
    yield "PL", record.country
    yield "TA", record.journal_abbreviation or record.journal
    yield "JT", record.journal
    yield "JID", record.journal_id
    for chemical in record.chemicals:
        yield "RN", f"0 ({chemical})"
    for heading in record.mesh:
        yield "MH", _heading(heading)
    for keyword in record.keywords:
        yield "OT", keyword
    yield "EDAT", _dated(record.entered)
    yield "MHDA", _dated(record.mesh_dated)
    yield "CRDT", _dated(record.created)
    for kind, value in record.other_ids:
        yield ("PMC", value) if kind == "pmc" else ("AID", f"{value} [{kind}]")
    yield "AID", f"{record.doi} [doi]" if record.doi else ""
    yield "PST", publication_status(record)
    yield "SO", _source(record)


def _source(record: Record) -> str:
    written = f"{record.journal_abbreviation or record.journal}. {source(record)}."
    return f"{written} doi: {record.doi}." if record.doi else written


def _compact(day: date | None) -> str:
    return f"{day:%Y%m%d}" if day else ""


def _dated(day: date | None) -> str:
    return f"{day:%Y/%m/%d} 00:00" if day else ""


def _heading(heading: MeshHeading) -> str:
    parts = [("*" if heading.major else "") + heading.descriptor]
    parts += [("*" if major else "") + name for name, major in heading.qualifiers]
    return "/".join(parts)


def abstracts(records: Sequence[Record]) -> str:
    """The records as numbered plain text abstracts."""
    return "\n\n".join(
        "\n\n".join(part for part in _abstract(number, record) if part)
        for number, record in enumerate(records, 1)
    ) + ("\n" if records else "")


def _abstract(number: int, record: Record) -> Iterator[str]:
    yield textwrap.fill(f"{number}. {_source(record)}", 80)
    yield textwrap.fill(record.title, 80)
    yield textwrap.fill(", ".join(record.authors) + ".", 80) if record.authors else ""
    yield "\n".join(textwrap.fill(text, 80) for text in record.affiliations)
    yield "\n".join(
        textwrap.fill(f"{label}: {part}" if label else part, 80)
        for label, part in record.abstract_parts or (("", record.abstract),)
    )
    ids = [f"DOI: {record.doi}"] if record.doi else []
    yield "\n".join([*ids, f"PMID: {record.id}"])
