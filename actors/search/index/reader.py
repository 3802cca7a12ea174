"""An index on disk, opened: a shard with the manifest of the whole."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from actors.search.index import pubmed
from actors.search.index.arrays import DamagedFileError
from actors.search.index.manifest import IndexMismatchError, Manifest
from actors.search.index.shard import CACHE_BYTES, ShardIndex
from actors.search.types import Record


class RecordIndex(ShardIndex):
    """A read-only index, or one shard of it. Open one with `open_index`."""

    def __init__(self, folder: Path, manifest: Manifest, shard: int, cache_bytes: int) -> None:
        super().__init__(folder / manifest.shards[shard].name, manifest.schema, cache_bytes)
        self.manifest = manifest
        self.fields = manifest.fields
        self._kept: Any = None

    def keep(self, owner: object) -> None:
        """Hold `owner` (a temporary folder) as long as this index."""
        self._kept = owner

    def record(self, id_: str) -> Record:
        """The record of `id_`, of an index of records. KeyError when it is not there."""
        return pubmed.record_of(self.stored(id_))

    def fetch(self, ids: Iterable[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id, in order. KeyError names an id that is not there."""
        out = []
        for id_ in ids:
            row = orjson.loads(self.stored(id_))
            out.append((row[1], row[2]))
        return out


def open_index(
    folder: Path | str,
    content_hash: str | None = None,
    fields: Sequence[str] | None = None,
    *,
    shard: int | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> RecordIndex:
    """Open an index, optionally only if it is of that corpus (`corpus_hash`) with those fields.

    Of an index of several shards `shard` says which. Raises FileNotFoundError when there is none,
    IndexMismatchError (naming what is there and what was wanted) when version, corpus, fields or
    record counts differ or a file is missing or cut short, ValueError for a shard that is not one.
    """
    path = Path(folder)
    manifest = Manifest.load(path)
    manifest.check(path, content_hash, None if fields is None else tuple(fields))
    count = len(manifest.shards)
    if shard is None and count == 1:
        shard = 0
    if shard is None or not 0 <= shard < count:
        wanted = "the whole of it" if shard is None else f"shard {shard}"
        raise ValueError(f"index {path} has shards 0 to {count - 1}, wanted was {wanted}")
    try:
        index = RecordIndex(path, manifest, shard, cache_bytes)
    except DamagedFileError as error:
        raise IndexMismatchError(str(error)) from error
    said = sum(part.records for part in manifest.shards)
    if manifest.records != said or manifest.shards[shard].records != index.size:
        raise IndexMismatchError(
            f"{path}: the manifest says {manifest.records} records and "
            f"{manifest.shards[shard].records} in shard {shard}, which holds {index.size}: "
            "build it again"
        )
    return index
