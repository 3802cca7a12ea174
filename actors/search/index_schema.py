"""What of a record is searchable, and how it lies in the store.

A field of a record (`title`, `mesh`, ...) has up to two kinds of store fields: words (`mesh`), for
free text and phrases, and whole values (`mesh_exact`, `major_exact`, ...), for tags that match an
entry as a whole.
"""

from collections.abc import Sequence

import tantivy

from actors.search.text import words
from actors.search.types import Record

FIELDS = (
    "title",
    "abstract",
    "authors",
    "journal",
    "publication_types",
    "mesh",
    "chemicals",
    "keywords",
    "languages",
)
"""Fields that can be made searchable. Id and publication date always are."""

EXACT_FIELDS = {
    "authors_exact": "authors",
    "first_author_exact": "authors",
    "last_author_exact": "authors",
    "journal_exact": "journal",
    "publication_types_exact": "publication_types",
    "mesh_exact": "mesh",
    "major_exact": "mesh",
    "qualifier_exact": "mesh",
    "chemicals_exact": "chemicals",
    "languages_exact": "languages",
}
"""Whole-value store fields and the record field each belongs to."""


def owner(store_field: str) -> str:
    """The record field that a store field belongs to."""
    return EXACT_FIELDS.get(store_field, store_field)


def schema() -> tantivy.Schema:
    """The schema of every index; bump `SCHEMA_VERSION` in `index_files` when it changes."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("ordinal", fast=True)
    builder.add_bytes_field("_title", stored=True)
    builder.add_bytes_field("_abstract", stored=True)
    for name in FIELDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="position")
    for name in EXACT_FIELDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    return builder.build()


def to_document(record: Record, ordinal: int, fields: Sequence[str]) -> tantivy.Document:
    """The store's document of `record`; fields that are not searchable leave no trace in it."""
    document = tantivy.Document()
    document.add_text("id", record.id)
    document.add_unsigned("ordinal", ordinal)
    document.add_bytes("_title", record.title.encode(errors="replace"))
    document.add_bytes("_abstract", record.abstract.encode(errors="replace"))
    for name, values in _texts(record).items():
        if name in fields:
            for value in values:
                document.add_text(name, " ".join(words(value)))
    for name, values in _whole_values(record).items():
        if EXACT_FIELDS[name] in fields:
            for value in dict.fromkeys(" ".join(words(value)) for value in values):
                if value:
                    document.add_text(name, value)
    return document


def _texts(record: Record) -> dict[str, Sequence[str]]:
    return {
        "title": (record.title,),
        "abstract": (record.abstract,),
        "authors": record.authors,
        "journal": (record.journal, record.journal_abbreviation),
        "publication_types": record.publication_types,
        "mesh": [
            text for h in record.mesh for text in (h.descriptor, *(q for q, _ in h.qualifiers))
        ],
        "chemicals": record.chemicals,
        "keywords": record.keywords,
        "languages": record.languages,
    }


def _whole_values(record: Record) -> dict[str, Sequence[str]]:
    qualified = [(h, name, flag) for h in record.mesh for name, flag in h.qualifiers]
    return {
        "authors_exact": record.authors,
        "first_author_exact": record.authors[:1],
        "last_author_exact": record.authors[-1:],
        "journal_exact": (record.journal, record.journal_abbreviation),
        "publication_types_exact": record.publication_types,
        "mesh_exact": [
            *(h.descriptor for h in record.mesh),
            *(f"{h.descriptor} {name}" for h, name, _ in qualified),
        ],
        "major_exact": [
            *(h.descriptor for h in record.mesh if h.is_major),
            *(f"{h.descriptor} {name}" for h, name, flag in qualified if flag),
        ],
        "qualifier_exact": [name for _, name, _ in qualified],
        "chemicals_exact": record.chemicals,
        "languages_exact": record.languages,
    }
