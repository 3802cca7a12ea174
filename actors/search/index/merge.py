"""The second pass of a build: parts become the shards of one index.

`plan` decides which documents survive and which shard each is in; `write_shard` can then run once a
shard, anywhere that sees the folders; `publish` writes the manifest and puts the index in place.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actors.search.index import terms
from actors.search.index.arrays import save
from actors.search.index.blocks import STORED_IN_BLOCK
from actors.search.index.invert import Rows, inverted
from actors.search.index.manifest import Manifest, Shard, checksums
from actors.search.index.part import Part
from actors.search.index.placing import put_in_place
from actors.search.index.schema import Schema


@dataclass(frozen=True)
class Plan:
    """What goes where: `shards[i]` are the documents of shard i in final order."""

    parts: tuple[Path, ...]
    schema: Schema
    corpus: str
    shards: tuple[Rows, ...]


def id_key(id_: str) -> tuple[int, int, str, str]:
    """Sorting key of ids: by number where an id is one, and those above all others."""
    if id_.isascii() and id_.isdigit():
        digits = id_.lstrip("0")
        return (1, len(digits), digits, id_)
    return (0, 0, id_, id_)


def plan(parts: Sequence[Path], schema: Schema, corpus: str = "corpus", shards: int = 1) -> Plan:
    """Plan an index of `parts`, the later ones overriding the earlier.

    Shards are of equal size and, with more parts than shards, mostly of whole parts. ValueError
    when no document is left, or fewer than shards.
    """
    opened = [Part(path, schema) for path in parts]
    part, row, rank = _survivors(opened)
    if not len(part):
        raise ValueError(f"corpus {corpus!r} has no records: nothing to index")
    if not 1 <= shards <= len(part):
        raise ValueError(f"corpus {corpus!r} has {len(part)} records, too few for {shards} shards")
    day = np.empty(len(part), dtype=np.int32)
    for number, one in enumerate(opened):
        mine = part == number
        day[mine] = one.scalars[schema.order][row[mine]]
    spread = np.lexsort((row, part, part % shards))
    out = []
    for chosen in np.array_split(spread, shards):
        order = chosen[np.lexsort((rank[chosen], day[chosen]))[::-1]]
        out.append(Rows(part[order], row[order]))
    return Plan(tuple(parts), schema, corpus, tuple(out))


def write_shard(plan: Plan, number: int, building: Path) -> Shard:
    """Write shard `number` of `plan` into `building` (whole or not at all)."""
    name = f"shard-{number:05d}"
    order, schema = plan.shards[number], plan.schema
    parts = [Part(path, schema) for path in plan.parts]
    used = np.unique(order.parts)
    order = Rows(np.searchsorted(used, order.parts).astype(np.uint32), order.rows)
    parts = [parts[i] for i in used.tolist()]
    target = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=building))
    try:
        with tempfile.TemporaryDirectory(prefix=".scratch.", dir=building) as scratch:
            for column in sorted(schema.stores):
                columns = [part.column(column) for part in parts]
                text = column in schema.text
                arrays = inverted(column, columns, order, text, Path(scratch))
                save(target / f"{column}.column", arrays)
                del arrays
                for path in Path(scratch).iterdir():
                    shutil.rmtree(path)
        save(target / "store", _store(parts, order))
        save(target / "documents", _documents(parts, order, schema))
        digest = _content(parts, order)
        os.chmod(target, 0o755)
        shutil.rmtree(building / name, ignore_errors=True)
        os.rename(target, building / name)
    finally:
        shutil.rmtree(target, ignore_errors=True)
    return Shard(name, len(order.rows), f"{digest:064x}")


def publish(
    plan: Plan,
    shards: Sequence[Shard],
    building: Path,
    target: Path,
    fields: Sequence[str] | None = None,
) -> Manifest:
    """Complete `building` with a manifest and move it to `target`, replacing an index there.

    FileExistsError when `target` holds something else.
    """
    total = sum(int(shard.content_hash, 16) for shard in shards) % 2**256
    manifest = Manifest(
        plan.corpus,
        sum(shard.records for shard in shards),
        f"{total:064x}",
        tuple(plan.schema.text if fields is None else fields),
        plan.schema,
        tuple(shards),
        checksums(building),
    )
    manifest.save(building)
    put_in_place(building, target, check_target)
    return manifest


def check_target(target: Path) -> None:
    """FileExistsError when `target` holds something that is not an index."""
    if Manifest.exists(target):
        return
    try:
        full = target.exists() and not (target.is_dir() and not any(target.iterdir()))
    except FileNotFoundError:  # another process is replacing it right now
        return
    if full and not Manifest.exists(target):
        raise FileExistsError(f"{target} is not an index: it will not be overwritten")


def merge(
    parts: Sequence[Path],
    target: Path,
    schema: Schema,
    corpus: str = "corpus",
    shards: int = 1,
    fields: Sequence[str] | None = None,
) -> Manifest:
    """Plan, write and publish in one process. `target` is written whole or not at all."""
    check_target(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        planned = plan(parts, schema, corpus, shards)
        written = [write_shard(planned, number, building) for number in range(shards)]
        return publish(planned, written, building, target, fields)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _survivors(parts: Sequence[Part]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(part, row, rank of the id among all) of the documents that no later part overrides."""
    numbers = _numbers(parts)
    if numbers is None:
        return _survivors_by_name(parts)
    documents, deletions = numbers
    key = np.concatenate([np.empty(0, np.uint64), *documents, *deletions])
    part, row, time = (
        np.concatenate([np.empty(0, np.uint32), *pieces])
        for pieces in (
            [np.full(len(k), p, np.uint32) for p, k in enumerate(documents)],
            [np.arange(len(k), dtype=np.uint32) for k in documents],
            [
                *(np.full(len(k), 2 * p, np.uint32) for p, k in enumerate(documents)),
                *(np.full(len(k), 2 * p + 1, np.uint32) for p, k in enumerate(deletions)),
            ],
        )
    )
    event = np.lexsort((np.arange(len(key)), time, key))
    last = event[np.append(key[event][1:] != key[event][:-1], True)[: len(event)]]
    last = last[last < len(part)]
    return part[last], row[last], np.arange(len(last))


def _numbers(parts: Sequence[Part]) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
    """Ids and deletions of each part as numbers, None unless all are plain ones."""
    found: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for part in parts:
        for out, ids in zip(found, (part.ids(), part.deletions()), strict=True):
            if not ids:
                out.append(np.empty(0, np.uint64))
                continue
            if max(map(len, ids)) > 18 or not b"".join(ids).isdigit():
                return None
            array = np.array(ids)
            if np.strings.startswith(array, b"0").any():
                return None
            out.append(array.astype(np.uint64))
    return found


def _survivors_by_name(parts: Sequence[Part]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    latest: dict[bytes, tuple[int, int]] = {}
    for number, part in enumerate(parts):
        latest.update((id_, (number, row)) for row, id_ in enumerate(part.ids()))
        for id_ in part.deletions():
            latest.pop(id_, None)
    ordered = sorted(latest, key=lambda id_: id_key(id_.decode()))
    places = np.array([latest[id_] for id_ in ordered], dtype=np.uint32).reshape(-1, 2)
    return places[:, 0].copy(), places[:, 1].copy(), np.arange(len(places))


def _store(parts: Sequence[Part], order: Rows) -> dict[str, np.ndarray]:
    blobs, sizes = [], []
    block_of = np.empty(len(order.rows), dtype=np.uint32)
    slot_of = (order.rows % STORED_IN_BLOCK).astype(np.uint8)
    blocks = 0
    for number, part in enumerate(parts):
        mine = order.parts == number
        wanted = order.rows[mine] // STORED_IN_BLOCK
        used = np.unique(wanted)
        block_of[mine] = blocks + np.searchsorted(used, wanted)
        blocks += len(used)
        store, starts = part.store(), part.blocks
        sizes.append(np.diff(starts)[used])
        if len(used) == len(starts) - 1:
            blobs.append(store)
        else:
            bounds = zip(starts[used].tolist(), starts[used + 1].tolist(), strict=True)
            blobs.extend(store[a:b] for a, b in bounds)
    return {
        "blob": np.concatenate(blobs),
        "starts": np.concatenate([np.zeros(1, np.uint64), np.cumsum(np.concatenate(sizes))]).astype(
            np.uint64
        ),
        "block_of": block_of,
        "slot_of": slot_of,
    }


def _documents(parts: Sequence[Part], order: Rows, schema: Schema) -> dict[str, np.ndarray]:
    ids: list[bytes] = [b""] * len(order.rows)
    out: dict[str, np.ndarray] = {}
    for number, part in enumerate(parts):
        mine = np.flatnonzero(order.parts == number)
        rows = order.rows[mine]
        names = part.ids()
        for ordinal, row in zip(mine.tolist(), rows.tolist(), strict=True):
            ids[ordinal] = names[row]
        for column, values in part.scalars.items():
            out.setdefault(column, np.empty(len(order.rows), values.dtype))[mine] = values[rows]
    by_id = sorted(range(len(ids)), key=ids.__getitem__)
    return {
        **terms.packed([ids[i] for i in by_id], "by_id"),
        "by_id": np.array(by_id, dtype=np.uint32),
        "ids": np.frombuffer(b"".join(ids), dtype=np.uint8),
        "ids.starts": np.cumsum([0, *map(len, ids)], dtype=np.uint64),
        **{f"scalar.{column}": values for column, values in out.items()},
    }


def _content(parts: Sequence[Part], order: Rows) -> int:
    """The sum of the survivors' digests, modulo 2 ** 256."""
    total = 0
    for number, part in enumerate(parts):
        digests = part.digests[order.rows[order.parts == number]]
        limbs = np.ascontiguousarray(digests).view("<u4").astype(np.uint64).sum(axis=0)
        total += sum(int(limb) << 32 * i for i, limb in enumerate(limbs))
    return total % 2**256
