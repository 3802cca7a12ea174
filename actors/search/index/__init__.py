"""A columnar inverted index of documents in numpy arrays and Roaring bitmaps.

Documents become parts (`part`), parts become the shards of an index (`merge`), and a shard answers
the atoms of any search language (`shard`, `column`, `phrases`). `pubmed` says what a record's
columns are. May import `actors.search.types`, `text` and `lookup` only; knows no query language.
"""

from actors.search.index.build import build_documents, build_index, corpus_hash
from actors.search.index.manifest import IndexMismatchError, Manifest, verify
from actors.search.index.merge import id_key, merge, plan, publish, write_shard
from actors.search.index.part import Part, PartError, part_info, write_part
from actors.search.index.pubmed import FIELDS
from actors.search.index.pubmed import document as pubmed_document
from actors.search.index.reader import RecordIndex, open_index
from actors.search.index.schema import Batch, Document, Flat, Rows, Schema, batches
from actors.search.index.shard import ShardIndex

__all__ = [
    "FIELDS",
    "Batch",
    "Document",
    "Flat",
    "IndexMismatchError",
    "Manifest",
    "Part",
    "PartError",
    "RecordIndex",
    "Rows",
    "Schema",
    "ShardIndex",
    "batches",
    "build_documents",
    "build_index",
    "corpus_hash",
    "id_key",
    "merge",
    "open_index",
    "part_info",
    "plan",
    "publish",
    "pubmed_document",
    "verify",
    "write_part",
    "write_shard",
]
