"""An index of records: tantivy holds postings and positions, side arrays hold the order of records.

Records are numbered by recency (0 = latest publication date, ties by id descending, undated last);
that number is a record's `ordinal`. A set of records is then a Python integer whose bit i stands
for ordinal i: the first K hits are the K lowest bits, and a date range is a run of bits.
A build sorts its records in memory: split a corpus that does not fit into several indexes.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from actors.search.index_files import (
    Arrays,
    IndexMismatchError,
    Manifest,
    arrays_of,
    corpus_hash,
    recency_order,
)
from actors.search.index_schema import FIELDS, schema, to_document

__all__ = [
    "FIELDS",
    "IndexMismatchError",
    "RecordIndex",
    "build_index",
    "corpus_hash",
    "open_index",
]

_STORE = "tantivy"
_WRITER_HEAP_BYTES = 128_000_000


class RecordIndex:
    """A read-only index. Build one with `build_index`, open one with `open_index`."""

    def __init__(self, store: tantivy.Index, arrays: Arrays, manifest: Manifest) -> None:
        self.manifest = manifest
        self.fields = manifest.fields
        self.size = manifest.records
        self.arrays = arrays
        self.schema = store.schema
        self._store = store
        self._searcher = store.searcher()

    def ordinals(self, query: tantivy.Query, limit: int) -> np.ndarray:
        """Ordinals of the records that match, ascending; at most `limit` of them."""
        if limit <= 0:
            return np.empty(0, dtype=np.int64)
        hits = self._searcher.search(
            query, limit, count=False, order_by_field="ordinal", order=tantivy.Order.Asc
        ).hits
        return np.fromiter((key for key, _ in hits), dtype=np.int64, count=len(hits))

    def scores(self, query: tantivy.Query, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """BM25 of the records that match: (ordinals, scores), no particular order."""
        if limit <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        hits = self._searcher.search(query, limit, count=False).hits
        ordinals = self._searcher.fast_field_values("ordinal", [address for _, address in hits])
        scores = np.fromiter((score for score, _ in hits), dtype=np.float32, count=len(hits))
        return np.array(ordinals, dtype=np.int64), scores

    def document_frequency(self, field: str, term: str) -> int:
        """Number of records whose `field` (a field of the store) holds `term`."""
        return int(self._searcher.doc_freq(field, term))

    def terms_with_prefix(self, field: str, prefix: str) -> list[tuple[str, int]]:
        """All terms of `field` that start with `prefix`, sorted, with their record counts."""
        return sorted(self._searcher.terms_with_prefix(field, prefix))

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id, in order. KeyError names an id that is not there."""
        out = []
        for id_ in ids:
            query = tantivy.Query.term_query(self.schema, "id", id_)
            hits = self._searcher.search(query, 1, count=False).hits
            if not hits:
                raise KeyError(f"no record {id_!r} in the index of {self.manifest.corpus!r}")
            document = self._searcher.doc(hits[0][1])
            title, abstract = (
                bytes(document[name][0]).decode() for name in ("_title", "_abstract")
            )
            out.append((title, abstract))
        return out


def build_index(
    records: Iterable[Any],
    folder: Path | str | None = None,
    fields: Sequence[str] = FIELDS,
    corpus: str = "corpus",
) -> RecordIndex:
    """Index `records` (`actors.search.types.Record`); a repeated id replaces the former record.

    `folder` is written whole or not at all and replaces an index that was there; without a folder
    the index lives in memory. `fields` are the searchable ones (see `FIELDS`); `corpus` is the name
    that manifests and errors use. Raises ValueError for an empty corpus or an unknown field,
    FileExistsError when `folder` holds something else.
    """
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        raise ValueError(f"fields {unknown} are not among {', '.join(FIELDS)}")
    ordered = recency_order(records)
    if not ordered:
        raise ValueError(f"corpus {corpus!r} has no records: nothing to index")
    manifest = Manifest(corpus, len(ordered), corpus_hash(ordered), tuple(fields))
    arrays = arrays_of(ordered)
    if folder is None:
        return RecordIndex(_fill(tantivy.Index(schema()), ordered, fields), arrays, manifest)
    target = Path(folder)
    if target.exists() and any(target.iterdir()) and not Manifest.exists(target):
        raise FileExistsError(f"{target} is not an index: it will not be overwritten")
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        (building / _STORE).mkdir()
        _fill(tantivy.Index(schema(), path=str(building / _STORE)), ordered, fields)
        arrays.save(building)
        manifest.save(building)
        _replace(building, target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return open_index(target)


def open_index(
    folder: Path | str, content_hash: str | None = None, fields: Sequence[str] | None = None
) -> RecordIndex:
    """Open an index, optionally only if it is of that corpus (`corpus_hash`) with those fields.

    Raises FileNotFoundError when there is none, IndexMismatchError (naming what is there and what
    was wanted) when schema, corpus, fields or record counts differ.
    """
    path = Path(folder)
    manifest = Manifest.load(path)
    manifest.check(path, content_hash, None if fields is None else tuple(fields))
    store = tantivy.Index.open(str(path / _STORE))
    arrays = Arrays.load(path)
    counts = {store.searcher().num_docs, len(arrays.ids), manifest.records}
    if len(counts) > 1:
        raise IndexMismatchError(
            f"{path}: the manifest says {manifest.records} records, the store holds "
            f"{store.searcher().num_docs}, the order file {len(arrays.ids)}: build it again"
        )
    return RecordIndex(store, arrays, manifest)


def _fill(store: tantivy.Index, ordered: Sequence[Any], fields: Sequence[str]) -> tantivy.Index:
    writer = store.writer(heap_size=_WRITER_HEAP_BYTES, num_threads=1)
    for ordinal, record in enumerate(ordered):
        writer.add_document(to_document(record, ordinal, fields))
    writer.commit()
    writer.wait_merging_threads()
    store.reload()
    return store


def _replace(building: Path, target: Path) -> None:
    """Move `building` to `target`; a former index stays in place until the new one is ready."""
    former = None
    if target.exists():
        former = Path(tempfile.mkdtemp(prefix=f".{target.name}.former.", dir=target.parent))
        os.rename(target, former / "index")
    os.chmod(building, 0o755)
    try:
        os.rename(building, target)
    except OSError:
        if former is not None and not target.exists():
            os.rename(former / "index", target)
        raise
    finally:
        if former is not None:
            shutil.rmtree(former, ignore_errors=True)
