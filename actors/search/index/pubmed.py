"""PubMed records as documents: which columns an index of records has, and how they are stored.

A field of a record (`title`, `mesh`, ...) has up to two kinds of columns: words (`mesh`), for free
text and phrases, and whole values (`mesh_exact`, `major_exact`, ...), for tags that match an entry
as a whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields as dataclass_fields
from datetime import date
from itertools import islice
from operator import attrgetter
from typing import Any

import orjson

from actors.search.index.schema import BATCH, Batch, Schema
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
    while chunk := list(islice(iterator, size)):
        yield Batch(
            [record.id for record in chunk],
            list(map(stored, chunk)),
            _texts(chunk),
            {c: v for c, v in _whole_values(chunk).items() if c in wanted.stores},
            {c: [day.toordinal() if day else 0 for day in map(attrgetter(c), chunk)] for c in DAYS},
            {},
        )


def _texts(records: Sequence[Record]) -> dict[str, Sequence[Sequence[str]]]:
    return {
        "title": [(r.title,) if r.title else () for r in records],
        "abstract": [(r.abstract,) if r.abstract else () for r in records],
        "authors": [r.authors for r in records],
        "journal": _journals(records),
        "publication_types": [r.publication_types for r in records],
        "mesh": [
            [t for h in r.mesh for t in (h.descriptor, *[q for q, _ in h.qualifiers])]
            for r in records
        ],
        "chemicals": [r.chemicals for r in records],
        "keywords": [r.keywords for r in records],
        "languages": [r.languages for r in records],
        "affiliations": [r.affiliations for r in records],
    }


def _journals(records: Sequence[Record]) -> list[Sequence[str]]:
    return [[j for j in (r.journal, r.journal_abbreviation) if j] for r in records]


def _whole_values(records: Sequence[Record]) -> dict[str, Sequence[Sequence[str]]]:
    mesh: dict[str, list[Sequence[str]]] = {
        name: []
        for name in ("mesh_exact", "major_exact", "qualifier_exact", "major_qualifier_exact")
    }
    for record in records:
        for column, values in zip(mesh.values(), _mesh(record.mesh), strict=True):
            column.append(values)
    return {
        "authors_exact": [r.authors for r in records],
        "first_author_exact": [r.authors[:1] for r in records],
        "last_author_exact": [r.authors[-1:] for r in records],
        "full_authors_exact": [r.full_authors for r in records],
        "journal_exact": _journals(records),
        "publication_types_exact": [r.publication_types for r in records],
        **mesh,
        "chemicals_exact": [r.chemicals for r in records],
        "languages_exact": [r.languages for r in records],
        "keywords_exact": [r.keywords for r in records],
        "status_exact": [(r.status,) for r in records],
        "volume_exact": [(r.volume,) for r in records],
        "issue_exact": [(r.issue,) for r in records],
        "pages_exact": [(r.pages,) for r in records],
        "issn_exact": [(r.issn, r.journal_id) for r in records],
        "country_exact": [(r.country,) for r in records],
        "ids_exact": [[i for i in (r.doi, *[i for _, i in r.other_ids]) if i] for r in records],
        "facts_exact": [_facts(r) for r in records],
    }


def _mesh(
    headings: Sequence[MeshHeading],
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Headings (with each qualifier too), major ones, qualifiers, major qualifiers."""
    whole, major, qualifiers, major_qualifiers = [], [], [], []
    for heading in headings:
        name = heading.descriptor
        whole.append(name)
        is_major = heading.major
        for qualifier, flag in heading.qualifiers:
            pair = f"{name} {qualifier}"
            whole.append(pair)
            qualifiers.append(qualifier)
            if flag:
                is_major = True
                major.append(pair)
                major_qualifiers.append(qualifier)
        if is_major:
            major.append(name)
    return whole, major, qualifiers, major_qualifiers


_FACTS = {
    f"has {name.replace('_', ' ')}": attrgetter(name)
    for name in ("abstract", "authors", "chemicals", "doi", "keywords", "mesh", "references")
} | {"has structured abstract": attrgetter("abstract_parts")}


def _facts(record: Record) -> list[str]:
    return [fact for fact, of in _FACTS.items() if of(record)]


_NAMES = tuple(field.name for field in dataclass_fields(Record))
_row = attrgetter(*_NAMES)
_DATES = frozenset(("published", "completed", "revised", *DAYS))


def stored(record: Record) -> bytes:
    """All that `record` says, as bytes."""
    try:
        return orjson.dumps(_row(record))
    except TypeError:  # lone surrogates are no Unicode
        return orjson.dumps(_cleaned(_row(record)))


def record_of(data: bytes) -> Record:
    """The record that `stored` gave."""
    values: dict[str, Any] = dict(zip(_NAMES, orjson.loads(data), strict=False))
    for name in _DATES:
        if values.get(name):
            values[name] = date.fromisoformat(values[name])
    values["mesh"] = tuple(
        MeshHeading(h["descriptor"], h["ui"], h["major"], tuple((q, m) for q, m in h["qualifiers"]))
        for h in values["mesh"]
    )
    return Record(**{name: _tuples(value) for name, value in values.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, MeshHeading):
        return {name: _cleaned(getattr(value, name)) for name in MeshHeading.__slots__}
    return [_cleaned(item) for item in value] if isinstance(value, list | tuple) else value
