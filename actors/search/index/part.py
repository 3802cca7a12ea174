"""The first pass of a build: documents become token streams in the folder of a part.

A part stands for one input file. Parts can be made in parallel and in any order, and are merged in
the order of their names: a later part's documents replace earlier ones of the same id, and its
deletions remove them. A folder with a `part.json` is whole; without one it is to be made again.
"""

import gc
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from actors.search.index.arrays import load
from actors.search.index.schema import Batch, Schema
from actors.search.index.terms import Terms
from actors.search.index.writer import PartWriter


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
        with _no_collection():
            writer = PartWriter(schema)
            for batch in batches:
                writer.add(batch)
            writer.finish(building, deletions, source)
        os.chmod(building, 0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(building, folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return Part(folder, schema)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Documents are millions of objects without cycles: to look for those costs a tenth of it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
