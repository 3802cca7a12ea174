"""Builds and opens indexes of studies. Beside each shard of studies lies one of their sites."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from actors.search.index.build import build_documents
from actors.search.index.manifest import IndexMismatchError, Manifest
from actors.search.index.merge import check_target, plan, publish, write_shard
from actors.search.index.part import write_part
from actors.search.index.reader import open_index
from actors.search.index.schema import Document, batches
from actors.search.index.shard import CACHE_BYTES, ShardIndex
from actors.search.lookup import Atom
from actors.search.trials.documents import (
    FACTS,
    LOCATION_SCHEMA,
    SCHEMA,
    location_documents,
    to_document,
)
from actors.search.trials.index import TrialsIndex
from actors.search.trials.study import as_study

_BATCHES_IN_PART = 16
_HAS_SITES = Atom((FACTS,), ("has location",))


def build_trials_index(
    studies: Iterable[Mapping[str, Any]], folder: str | Path, corpus: str = "trials"
) -> TrialsIndex:
    """Index `studies` (API v2 JSON or flat rows); a repeated id replaces the former record.

    `folder` is written whole or not at all and replaces an index that was there. Raises ValueError
    without any study or for one without a registry number, FileExistsError when `folder` holds
    something else.
    """
    target = Path(folder)
    check_target(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.parts.", dir=target.parent))
    try:
        found = batches((to_document(as_study(study)) for study in studies), SCHEMA)
        parts: list[Path] = []
        for first in found:
            parts.append(scratch / f"{len(parts):05d}")
            write_part(parts[-1], SCHEMA, chain((first,), islice(found, _BATCHES_IN_PART - 1)))
        if not parts:
            raise ValueError(f"corpus {corpus!r} has no records: nothing to index")
        planned = plan(parts, SCHEMA, corpus)
        shard = write_shard(planned, 0, building)
        add_locations(building)
        publish(planned, [shard], building, target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
        shutil.rmtree(scratch, ignore_errors=True)
    return open_trials_index(target)


def add_locations(folder: Path) -> None:
    """Index the sites of the studies in every shard of `folder`, next to the shard."""
    for path in sorted(folder.glob("shard-*")):
        shard = ShardIndex(path, SCHEMA)
        sites = _sites(shard)
        first = next(sites, None)
        if first is not None:
            build_documents(chain((first,), sites), _beside(path), LOCATION_SCHEMA, corpus="sites")


def _sites(shard: ShardIndex) -> Iterator[Document]:
    for ordinal in shard.find(_HAS_SITES):
        yield from location_documents(orjson.loads(shard.stored(shard.ids[ordinal])))


def _beside(shard: Path) -> Path:
    return shard.with_name(shard.name.replace("shard", "locations"))


def open_trials_index(
    folder: str | Path,
    content_hash: str | None = None,
    *,
    shard: int | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> TrialsIndex:
    """Open an index of studies, optionally only if it is of that corpus; of several shards, one.

    Raises FileNotFoundError when there is none, IndexMismatchError when it is another's, of another
    version, or not whole.
    """
    path = Path(folder)
    manifest = Manifest.load(path)
    if manifest.schema != SCHEMA:
        raise IndexMismatchError(
            f"index {path} holds {manifest.schema.name!r} (version {manifest.schema.version}), "
            f"wanted are studies ({SCHEMA.name!r}, version {SCHEMA.version}): build it again"
        )
    studies = open_index(path, content_hash, shard=shard, cache_bytes=cache_bytes)
    sites = _beside(studies.folder)
    if sites.exists():
        return TrialsIndex(studies, open_index(sites, cache_bytes=cache_bytes))
    if studies.count(_HAS_SITES):
        raise IndexMismatchError(f"index {path} lacks {sites.name}: build it again")
    return TrialsIndex(studies, None)
