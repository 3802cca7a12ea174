"""The first pass of a build: documents become token streams in the folder of a part.

A part stands for one input file. Parts can be made in parallel and in any order, and are merged in
the order of their names: a later part's documents replace earlier ones of the same id, and its
deletions remove them. A folder with a `part.json` is whole; without one it is to be made again.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Iterable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from actors.search.index.arrays import load, save
from actors.search.index.schema import Batch, Schema
from actors.search.index.terms import Terms, packed
from actors.search.index.tokens import DOCUMENT, VALUE, normal, raw, tokens

STORED_IN_BLOCK = 16
_LEVEL = 1  # of zlib
_MEMO = 2_000_000


class Part:
    """A part on disk. `PartError` from the constructor when it is not whole or not of `schema`."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        self.folder = folder
        self.info = part_info(folder)
        if self.info is None:
            raise PartError(f"{folder} is not a whole part: make it again")
        if self.info["schema"] != schema.fingerprint():
            raise PartError(
                f"part {folder} is of schema {self.info['schema_name']!r} "
                f"({self.info['schema']}), wanted was {schema.name!r} ({schema.fingerprint()})"
            )
        main = load(folder / "documents")
        self._ids, self._deletions = main["ids"], main["deletions"]
        self.digests = main["digests"].reshape(-1, 32)  # (documents, 32) SHA-256 of what is stored
        self.scalars = {c: main[f"scalar.{c}"] for c in (*schema.days, *schema.numbers)}
        self.blocks = main["blocks"]  # where each compressed block of the store starts

    def ids(self) -> list[bytes]:
        """The documents' ids, in the order they came."""
        return bytes(self._ids).split(b"\n")[:-1]

    def deletions(self) -> list[bytes]:
        """Ids of documents that are no more."""
        return bytes(self._deletions).split(b"\n")[:-1]

    def column(self, name: str) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        """(sorted terms, term ranks of all documents in a row, number of them a document)."""
        arrays = load(self.folder / f"{name}.column")
        terms = Terms(arrays)
        return terms.slice(0, len(terms)), arrays["stream"], arrays["lengths"]

    def store(self) -> np.ndarray:
        """The compressed blocks, as bytes."""
        return load(self.folder / "store")["store"]


class PartError(ValueError):
    """A part that cannot be used."""


def part_info(folder: Path) -> dict[str, Any] | None:
    """What `part.json` says, None when the part is not whole.

    `source` is what `write_part` was given, to see whether a part is still that of its input.
    """
    try:
        return dict(json.loads((folder / "part.json").read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return None


def write_part(
    folder: Path,
    schema: Schema,
    batches: Iterable[Batch],
    deletions: Iterable[str] = (),
    source: str = "",
) -> Part:
    """Write all of `batches` as a part; a former `folder` is replaced when the new one is whole.

    `deletions` apply to earlier parts and to this one's documents. `source` names the input, best
    with its hash. ValueError for an id that is empty or holds a line feed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        writer = _Writer(schema)
        for batch in batches:
            writer.add(batch)
        writer.finish(building, deletions, source)
        os.chmod(building, 0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(building, folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return Part(folder, schema)


class _Ids(dict[bytes, int]):
    """Provisional numbers of terms."""

    def __missing__(self, term: bytes) -> int:
        self[term] = number = len(self)
        return number


class _Memo(dict[str, bytes]):
    """Values in their indexed form."""

    def __init__(self, rule: Any) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, value: str) -> bytes:
        if len(self) > _MEMO:
            self.clear()
        self[value] = indexed = self._rule(value)
        return indexed


class _Writer:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.ids: list[str] = []
        self.digests: list[bytes] = []
        self.store: list[bytes] = []
        self.pending: list[bytes] = []  # stored bytes that do not fill a block yet
        columns = sorted(schema.stores)
        self.terms = {c: _Ids() for c in columns}
        for name in columns:  # text: the two marks; values: the empty value comes first as well
            self.terms[name].update({VALUE: 0, DOCUMENT: 1} if name in schema.text else {b"": 0})
        self.streams = {c: array("I") for c in columns}
        self.lengths: dict[str, list[np.ndarray]] = {c: [] for c in columns}
        self.scalars: dict[str, list[np.ndarray]] = {c: [] for c in (*schema.days, *schema.numbers)}
        self._normal, self._raw = _Memo(normal), _Memo(raw)

    def add(self, batch: Batch) -> None:
        schema, count = self.schema, len(batch.ids)
        if bad := [i for i in batch.ids if not i or "\n" in i]:
            raise ValueError(f"document id {bad[0]!r} is empty or holds a line feed")
        self.ids.extend(batch.ids)
        empty: list[tuple[str, ...]] = [()] * count
        for name in schema.text:
            rows = batch.text.get(name, empty)
            self.streams[name].extend(map(self.terms[name].__getitem__, tokens(rows)))
        for name in (*schema.values, *schema.raw):
            memo = self._raw if name in schema.raw else self._normal
            rows = batch.values.get(name, empty)
            flat = map(memo.__getitem__, chain.from_iterable(rows))
            self.streams[name].extend(map(self.terms[name].__getitem__, flat))
            self.lengths[name].append(np.fromiter(map(len, rows), np.uint32, count))
        for name in schema.days:
            days = batch.days.get(name)
            self.scalars[name].append(np.array([0] * count if days is None else days, np.int32))
        for name in schema.numbers:
            numbers = batch.numbers.get(name)
            self.scalars[name].append(
                np.full(count, np.nan) if numbers is None else np.array(numbers, np.float64)
            )
        self.digests.extend([hashlib.sha256(stored).digest() for stored in batch.stored])
        self.pending.extend(batch.stored)
        whole = len(self.pending) - len(self.pending) % STORED_IN_BLOCK
        self._compress(whole)

    def _compress(self, count: int) -> None:
        for i in range(0, count, STORED_IN_BLOCK):
            self.store.append(_block(self.pending[i : min(count, i + STORED_IN_BLOCK)]))
        del self.pending[:count]

    def finish(self, folder: Path, deletions: Iterable[str], source: str) -> None:
        self._compress(len(self.pending))
        for name in list(self.terms):
            save(folder / f"{name}.column", self._column(name))
        save(folder / "store", {"store": np.frombuffer(b"".join(self.store), np.uint8)})
        arrays = {
            "ids": _lines(self.ids),
            "deletions": _lines(deletions),
            "digests": np.frombuffer(b"".join(self.digests), np.uint8),
            "blocks": np.cumsum([0, *map(len, self.store)], dtype=np.uint64),
        }
        for name, pieces in self.scalars.items():
            dtype = np.int32 if name in self.schema.days else np.float64
            arrays[f"scalar.{name}"] = np.concatenate([np.empty(0, dtype), *pieces])
        save(folder / "documents", arrays)
        info = {
            "schema_name": self.schema.name,
            "schema": self.schema.fingerprint(),
            "documents": len(self.ids),
            "source": source,
        }
        (folder / "part.json").write_text(json.dumps(info, indent=2) + "\n", encoding="utf-8")

    def _column(self, name: str) -> dict[str, np.ndarray]:
        vocabulary = self.terms.pop(name)
        stream = np.frombuffer(self.streams.pop(name), np.uint32)
        if name in self.schema.text:
            starts = np.flatnonzero(stream == 1)
            lengths = np.diff(starts, append=len(stream)).astype(np.uint32)
            vocabulary[b""] = vocabulary.pop(VALUE)
            del vocabulary[DOCUMENT]
        else:
            lengths = np.concatenate([np.empty(0, np.uint32), *self.lengths.pop(name)])
        terms = sorted(vocabulary)
        ranks = np.zeros(len(terms) + 1, np.uint32)  # a document's mark takes the rank of ""
        ranks[[vocabulary[term] for term in terms]] = np.arange(len(terms), dtype=np.uint32)
        return {**packed(terms), "stream": ranks[stream], "lengths": lengths}


def _lines(ids: Iterable[str]) -> np.ndarray:
    return np.frombuffer("".join([i + "\n" for i in ids]).encode("utf-8", "replace"), np.uint8)


def _block(stored: Iterable[bytes]) -> bytes:
    pieces = list(stored)
    lengths = np.array([len(piece) for piece in pieces], dtype="<u4").tobytes()
    return zlib.compress(bytes([len(pieces)]) + lengths + b"".join(pieces), _LEVEL)


def unblocked(block: bytes) -> list[bytes]:
    """The stored bytes of the documents of a compressed block."""
    data = zlib.decompress(block)
    ends = np.cumsum(np.frombuffer(data, "<u4", data[0], 1)) + 1 + 4 * data[0]
    starts = [1 + 4 * data[0], *ends.tolist()]
    return [data[a:b] for a, b in pairwise(starts)]
