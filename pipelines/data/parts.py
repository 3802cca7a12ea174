"""The first half of an index build: one item of input becomes parts on disk, once.

A folder of parts is known by the item's name, size and content and by the columns wanted, so that a
build that was interrupted finds what it had made, and only that.
"""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from actors.search.index.part import part_info, write_part
from actors.search.index.schema import Batch
from pipelines.data.failures import CorpusError
from pipelines.data.items import Item
from pipelines.data.kinds import VERSION, Deletions, Kind
from pipelines.files import write_whole

RECORDS_PER_PART = 50_000
_DONE = "done.json"


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one item: its parts in order, below the folder of parts."""

    folder: str
    parts: int
    records: int
    deletions: int
    seconds: float
    kept: bool = False  # made by an earlier build

    def paths(self, parts: Path) -> list[Path]:
        """The folders of the parts."""
        return [parts / self.folder / f"{number:04d}" for number in range(self.parts)]


def make_parts(task: tuple[Kind, Path], item: Item) -> Made:
    """Read `item` as `task`'s kind into its parts folder, unless that was done before.

    Safe to repeat and to kill at any time. Raises `CorpusError` for input that cannot be read.
    """
    kind, parts = task
    key = f"{VERSION} {kind.name} {kind.schema.fingerprint()} {RECORDS_PER_PART} {item.digest()}"
    name = re.sub(r"[^\w.-]+", "_", item.name)[:80]
    folder = parts / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    made = _made_before(folder)
    if made is not None:
        return made
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    deletions: Deletions = {}
    runs = _Runs(kind.batches(item, deletions))
    deleted = 0
    try:
        while not runs.ended:
            deletions.clear()
            part = folder / f"{runs.number:04d}"
            write_part(part, kind.schema, runs.next(), deletions, key)
            deleted += len(deletions)
    except CorpusError:
        raise
    except ValueError as err:
        raise CorpusError(f"{item.path}: {err}") from err
    seconds = time.perf_counter() - started
    made = Made(folder.name, runs.number, runs.records, deleted, seconds)
    write_whole(folder / _DONE, json.dumps(asdict(made)))
    return made


class _Runs:
    """Batches in runs of a part each; never reads beyond the run, for deletions belong to it."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.batches = batches
        self.number = self.records = 0
        self.ended = False

    def next(self) -> Iterator[Batch]:
        self.number += 1
        end = self.number * RECORDS_PER_PART
        for batch in self.batches:
            self.records += len(batch.ids)
            yield batch
            if self.records >= end:
                return
        self.ended = True


def _made_before(folder: Path) -> Made | None:
    try:
        values = json.loads((folder / _DONE).read_text(encoding="utf-8"))
        made = Made(**{**values, "kept": True})
    except (FileNotFoundError, ValueError, TypeError):
        return None
    whole = all(part_info(path) is not None for path in made.paths(folder.parent))
    return made if whole else None
