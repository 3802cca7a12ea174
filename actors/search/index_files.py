"""What lies beside the store of an index: the manifest and the arrays of ids and dates."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from actors.search.types import Record

SCHEMA_VERSION = 1
_MANIFEST = "manifest.json"
_ARRAYS = ("ids", "days", "id_ranks")


class IndexMismatchError(ValueError):
    """The index on disk is not the one that was asked for."""


@dataclass(frozen=True)
class Manifest:
    """What an index was built from. `content_hash` is `corpus_hash` of its records."""

    corpus: str
    records: int
    content_hash: str
    fields: tuple[str, ...]
    schema_version: int = SCHEMA_VERSION

    @staticmethod
    def exists(folder: Path) -> bool:
        """True when `folder` holds a manifest."""
        return (folder / _MANIFEST).is_file()

    @staticmethod
    def load(folder: Path) -> "Manifest":
        """Read it. FileNotFoundError when there is none, IndexMismatchError when it is not one."""
        path = folder / _MANIFEST
        if not path.is_file():
            raise FileNotFoundError(f"no index at {folder} ({_MANIFEST} is missing)")
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            return Manifest(**{**values, "fields": tuple(values["fields"])})
        except (ValueError, TypeError, KeyError) as error:
            raise IndexMismatchError(f"{path} is not a manifest of an index: {error}") from error

    def save(self, folder: Path) -> None:
        """Write it into `folder`, which must exist."""
        (folder / _MANIFEST).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    def check(self, folder: Path, content_hash: str | None, fields: tuple[str, ...] | None) -> None:
        """Raise IndexMismatchError unless the index is of this schema, corpus and fields."""
        if self.schema_version != SCHEMA_VERSION:
            raise IndexMismatchError(
                f"index {folder} has schema version {self.schema_version}, this program "
                f"{SCHEMA_VERSION}: build it again"
            )
        if content_hash is not None and content_hash != self.content_hash:
            raise IndexMismatchError(
                f"index {folder} was built from corpus {self.corpus!r} with hash "
                f"{self.content_hash}, the corpus given has hash {content_hash}: build it again"
            )
        if fields is not None and set(fields) != set(self.fields):
            raise IndexMismatchError(
                f"index {folder} has the fields {', '.join(self.fields)}, wanted were "
                f"{', '.join(fields)}: build it again"
            )


@dataclass(frozen=True)
class Arrays:
    """By ordinal: the id, the publication day and the rank of the id (0 = the highest id)."""

    ids: np.ndarray  # (records,) fixed-width unicode
    days: np.ndarray  # (records,) int32, proleptic Gregorian day number, 0 = undated; descending
    id_ranks: np.ndarray  # (records,) uint32

    def save(self, folder: Path) -> None:
        """Write the arrays into `folder`."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @staticmethod
    def load(folder: Path) -> "Arrays":
        """Map the arrays of `folder` into memory."""
        return Arrays(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS))


def id_key(id_: str) -> tuple[int, int, str]:
    """Sorting key of ids: by number where an id is one, and those above all others."""
    if id_.isascii() and id_.isdigit():
        digits = id_.lstrip("0")
        return (1, len(digits), digits)
    return (0, 0, id_)


def recency_order(records: Iterable[Record]) -> list[Record]:
    """The last record of every id, latest first, ties by id descending, undated last."""
    latest = {record.id: record for record in records}
    return sorted(latest.values(), key=lambda r: (_day(r), id_key(r.id)), reverse=True)


def corpus_hash(records: Iterable[Record]) -> str:
    """SHA-256 over all that the records say, whatever their order."""
    digest = hashlib.sha256()
    for record in recency_order(records):
        digest.update(repr(record).encode(errors="replace"))
    return digest.hexdigest()


def arrays_of(ordered: Sequence[Record]) -> Arrays:
    """The arrays of records that are already in recency order."""
    by_id = sorted(range(len(ordered)), key=lambda i: id_key(ordered[i].id), reverse=True)
    ranks = np.empty(len(ordered), dtype=np.uint32)
    ranks[by_id] = np.arange(len(ordered), dtype=np.uint32)
    days = np.array([_day(record) for record in ordered], dtype=np.int32)
    return Arrays(np.array([record.id for record in ordered]), days, ranks)


def _day(record: Record) -> int:
    return record.published.toordinal() if record.published else 0
