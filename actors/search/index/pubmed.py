"""PubMed records as documents: which columns an index of records has, and how they are stored.

A field of a record (`title`, `mesh`, ...) has up to two kinds of columns: words (`mesh`), for free
text and phrases, and whole values (`mesh_exact`, `major_exact`, ...), for tags that match an entry
as a whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields as dataclass_fields
from datetime import date
from itertools import compress, islice
from operator import attrgetter
from typing import Any

import orjson

from actors.search.index.headings import Headings
from actors.search.index.schema import BATCH, Batch, Document, Flat, Rows, Schema
from actors.search.types import MeshHeading, Record

TEXT = (
    "title",
    "abstract",
    "authors",
    "journal",
    "publication_types",
    "mesh",
    "chemicals",
    "keywords",
    "languages",
    "affiliations",
)
_VALUES = {
    "authors_exact": "authors",
    "first_author_exact": "authors",
    "last_author_exact": "authors",
    "full_authors_exact": "authors",
    "journal_exact": "journal",
    "publication_types_exact": "publication_types",
    "mesh_exact": "mesh",
    "major_exact": "mesh",
    "qualifier_exact": "mesh",
    "major_qualifier_exact": "mesh",
    "chemicals_exact": "chemicals",
    "languages_exact": "languages",
    "keywords_exact": "keywords",
    "status_exact": "status",
    "volume_exact": "volume",
    "issue_exact": "issue",
    "pages_exact": "pages",
    "issn_exact": "issn",
    "country_exact": "country",
    "facts_exact": "facts",
}
_RAW = {"ids_exact": "ids"}
DAYS = ("published", "electronic", "entered", "created", "mesh_dated", "completed", "revised")

FIELDS = tuple(dict.fromkeys((*TEXT, *_VALUES.values(), *_RAW.values())))
"""Fields that can be made searchable. Id and dates always are."""


def schema(fields: Sequence[str] = FIELDS) -> Schema:
    """The schema of an index of records in which `fields` are searchable."""
    return Schema(
        "pubmed",
        "published",
        text=tuple(name for name in TEXT if name in fields),
        values=tuple(name for name, owner in _VALUES.items() if owner in fields),
        raw=tuple(name for name, owner in _RAW.items() if owner in fields),
        days=DAYS,
    )


def batches(
    records: Iterable[Record], fields: Sequence[str] = FIELDS, size: int = BATCH
) -> Iterator[Batch]:
    """`records` as the builder takes them; columns of other than `fields` are left out."""
    wanted = schema(fields)
    iterator = iter(records)
    headings = Headings()
    while chunk := list(islice(iterator, size)):
        text, values = _columns(chunk, headings)
        yield Batch(
            [record.id for record in chunk],
            list(map(stored, chunk)),
            {column: rows for column, rows in text.items() if column in wanted.stores},
            {column: rows for column, rows in values.items() if column in wanted.stores},
            {c: [day.toordinal() if day else 0 for day in map(attrgetter(c), chunk)] for c in DAYS},
            {},
        )


def document(record: Record, fields: Sequence[str] = FIELDS) -> Document:
    """`record` as a single document, for looking at; builders take `batches`."""
    batch = next(batches([record], fields))
    return Document(
        record.id,
        {column: _first(rows) for column, rows in batch.text.items()},
        {column: _first(rows) for column, rows in batch.values.items()},
        {column: days[0] for column, days in batch.days.items()},
        {},
        batch.stored[0],
    )


def _first(rows: Rows) -> tuple[str, ...]:
    return tuple(rows.values if isinstance(rows, Flat) else rows[0])


def _columns(
    records: Sequence[Record], headings: Headings
) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Text columns and columns of whole values; equal ones share their rows."""
    shared: dict[str, Rows] = {
        name: list(map(attrgetter(name), records))
        for name in (
            "authors",
            "publication_types",
            "chemicals",
            "keywords",
            "languages",
            "affiliations",
            "full_authors",
        )
    }
    shared["journal"] = [
        (r.journal, r.journal_abbreviation) if r.journal_abbreviation else (r.journal,)
        for r in records
    ]
    words, whole, major, qualifiers, major_qualifiers = headings.columns(records)
    text: dict[str, Rows] = {
        "title": [(r.title,) for r in records],
        "abstract": [(r.abstract,) if r.abstract else () for r in records],
        "mesh": words,
        **shared,
    }
    authors = [r.authors for r in records]
    values: dict[str, Rows] = {
        **{f"{name}_exact": rows for name, rows in shared.items()},
        "first_author_exact": [names[:1] for names in authors],
        "last_author_exact": [names[-1:] for names in authors],
        "mesh_exact": whole,
        "major_exact": major,
        "qualifier_exact": qualifiers,
        "major_qualifier_exact": major_qualifiers,
        **{
            f"{name}_exact": Flat(list(map(attrgetter(name), records)), [1] * len(records))
            for name in ("status", "volume", "issue", "pages", "country")
        },
        "issn_exact": [(r.issn, r.journal_id) for r in records],
        "ids_exact": [(r.doi, *[i for _, i in r.other_ids]) for r in records],
        "facts_exact": [_facts[tuple(map(bool, v))] for v in map(_fact_values, records)],
    }
    return text, values


_FACT_OF = {
    **{
        name: f"has {name.replace('_', ' ')}"
        for name in ("abstract", "authors", "chemicals", "doi", "keywords", "mesh", "references")
    },
    "abstract_parts": "has structured abstract",
}
_fact_values = attrgetter(*_FACT_OF)


class _Facts(dict[tuple[bool, ...], tuple[str, ...]]):
    """The facts by which of the fields in `_FACT_OF` are there."""

    def __missing__(self, there: tuple[bool, ...]) -> tuple[str, ...]:
        self[there] = facts = tuple(compress(_FACT_OF.values(), there))
        return facts


_facts = _Facts()


_NAMES = tuple(field.name for field in dataclass_fields(Record))
_row = attrgetter(*_NAMES)
_DATES = frozenset(("published", "completed", "revised", *DAYS))


_MESH = _NAMES.index("mesh")
_heading = attrgetter("descriptor", "ui", "major", "qualifiers")
_before_mesh = attrgetter(*_NAMES[:_MESH])
_after_mesh = attrgetter(*_NAMES[_MESH + 1 :])


def stored(record: Record) -> bytes:
    """All that `record` says, as bytes: a JSON array of its fields in order."""
    rows = list(map(_heading, record.mesh))
    return _json((*_before_mesh(record), rows, *_after_mesh(record)))


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate is no Unicode
        return orjson.dumps(_cleaned(value))


def record_of(data: bytes) -> Record:
    """The record that `stored` gave."""
    values: dict[str, Any] = dict(zip(_NAMES, orjson.loads(data), strict=False))
    for name in _DATES:
        if values.get(name):
            values[name] = date.fromisoformat(values[name])
    values["mesh"] = tuple(
        MeshHeading(descriptor, ui, major, tuple((name, flag) for name, flag in qualifiers))
        for descriptor, ui, major, qualifiers in values["mesh"]
    )
    return Record(**{name: _tuples(value) for name, value in values.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return [_cleaned(item) for item in value] if isinstance(value, list | tuple) else value
