"""From documents or records to an index, in one process: parts, then their merge."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from actors.search.index import pubmed
from actors.search.index.manifest import Manifest
from actors.search.index.merge import check_target, merge
from actors.search.index.part import write_part
from actors.search.index.reader import RecordIndex, open_index
from actors.search.index.schema import Batch, Document, Schema, batches
from actors.search.types import Record

BATCHES_IN_PART = 64
"""Batches of documents (64,000) that are in memory as one part."""


def build_index(
    records: Iterable[Record],
    folder: Path | str | None = None,
    fields: Sequence[str] = pubmed.FIELDS,
    corpus: str = "corpus",
    shards: int = 1,
) -> RecordIndex:
    """Index `records`; a repeated id replaces the former record.

    `folder` is written whole or not at all and replaces an index that was there; without a folder
    the index lives in a temporary one as long as the returned object. `fields` are the searchable
    ones (see `FIELDS`); `corpus` is the name that manifests and errors use. Raises ValueError for
    an empty corpus or an unknown field, FileExistsError when `folder` holds something else.
    """
    unknown = [name for name in fields if name not in pubmed.FIELDS]
    if unknown:
        raise ValueError(f"fields {unknown} are not among {', '.join(pubmed.FIELDS)}")
    found = pubmed.batches(records, fields)
    return _index(found, folder, pubmed.schema(fields), corpus, shards, fields)


def build_documents(
    documents: Iterable[Document],
    folder: Path | str | None,
    schema: Schema,
    corpus: str = "corpus",
    shards: int = 1,
) -> RecordIndex:
    """As `build_index`, of documents of any schema. The searchable fields are its text columns."""
    return _index(batches(documents, schema), folder, schema, corpus, shards, None)


def corpus_hash(records: Iterable[Record]) -> str:
    """The content hash of an index of `records`: of all they say, whatever their order."""
    digests = {
        r.id: int.from_bytes(hashlib.sha256(pubmed.stored(r)).digest(), "little") for r in records
    }
    return f"{sum(digests.values()) % 2**256:064x}"


def _index(
    found: Iterator[Batch],
    folder: Path | str | None,
    schema: Schema,
    corpus: str,
    shards: int,
    fields: Sequence[str] | None,
) -> RecordIndex:
    if folder is None:
        temporary = tempfile.TemporaryDirectory(prefix="seekray-index-")
        target = Path(temporary.name) / "index"
        _build(found, target, schema, corpus, 1, fields)
        index = open_index(target)
        index.keep(temporary)
        return index
    target = Path(folder)
    check_target(target)
    manifest = _build(found, target, schema, corpus, shards, fields)
    return open_index(target, shard=0 if len(manifest.shards) > 1 else None)


def _build(
    found: Iterator[Batch],
    target: Path,
    schema: Schema,
    corpus: str,
    shards: int,
    fields: Sequence[str] | None,
) -> Manifest:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.parts.", dir=target.parent) as scratch:
        parts: list[Path] = []
        for first in found:
            parts.append(Path(scratch) / f"{len(parts):05d}")
            write_part(parts[-1], schema, chain((first,), _some(found, BATCHES_IN_PART - 1)))
        return merge(parts, target, schema, corpus, shards, fields)


def _some(found: Iterator[Batch], count: int) -> Iterator[Batch]:
    for _ in range(count):
        try:
            yield next(found)
        except StopIteration:
            return
