"""The manifest of an index: what it was built from, what it holds, how to tell damage."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from actors.search.index.placing import recover
from actors.search.index.schema import Schema

FORMAT_VERSION = 3
_MANIFEST = "manifest.json"


class IndexMismatchError(ValueError):
    """The index on disk is not the one that was asked for, or is damaged."""


@dataclass(frozen=True)
class Shard:
    """One shard: the folder's name, its records, and the content hash of those."""

    name: str
    records: int
    content_hash: str


@dataclass(frozen=True)
class Manifest:
    """What an index was built from. `content_hash` is the same for the same records in any order.

    `fields` are the searchable fields; `files` maps paths below the folder to their SHA-256.
    """

    corpus: str
    records: int
    content_hash: str
    fields: tuple[str, ...]
    schema: Schema
    shards: tuple[Shard, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    schema_version: int = FORMAT_VERSION

    @staticmethod
    def exists(folder: Path) -> bool:
        """True when `folder` holds a manifest."""
        return (folder / _MANIFEST).is_file()

    @staticmethod
    def load(folder: Path) -> "Manifest":
        """Read it. FileNotFoundError when there is none, IndexMismatchError when it is not one.

        An index that a killed build moved aside is put back first.
        """
        path = folder / _MANIFEST
        if not path.is_file():
            with suppress(OSError):
                recover(folder)
        if not path.is_file():
            raise FileNotFoundError(
                f"no index at {folder} ({_MANIFEST} is missing): `seekray index build` makes one"
            )
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            version = values["schema_version"]
            if version == FORMAT_VERSION:
                return Manifest(**_typed(values))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise IndexMismatchError(f"{path} is not a manifest of an index: {error}") from error
        raise IndexMismatchError(
            f"index {folder} has schema version {version}, this program {FORMAT_VERSION}: "
            "build it again"
        )

    def save(self, folder: Path) -> None:
        """Write it into `folder`, which must exist."""
        text = json.dumps(asdict(self), indent=2) + "\n"
        (folder / _MANIFEST).write_text(text, encoding="utf-8")

    def check(self, folder: Path, content_hash: str | None, fields: tuple[str, ...] | None) -> None:
        """Raise IndexMismatchError unless the index is of this corpus and these fields."""
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


def _typed(values: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in values["schema"].items()
    }
    return {
        **values,
        "fields": tuple(values["fields"]),
        "schema": Schema(**schema),
        "shards": tuple(Shard(**shard) for shard in values["shards"]),
    }


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below `folder` but the manifest, by path."""
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != _MANIFEST)
    return {str(path.relative_to(folder)): sha256(path) for path in paths}


def verify(folder: Path | str) -> list[str]:
    """What is wrong with the index at `folder`, one line a file; empty when it is whole.

    Raises as `Manifest.load` does.
    """
    folder = Path(folder)
    return differences(folder, Manifest.load(folder).files)


def differences(folder: Path, files: Mapping[str, str]) -> list[str]:
    """How `files`, paths below `folder` with their SHA-256, differ from what is there."""
    faults = []
    for name, expected in files.items():
        path = folder / name
        if not path.is_file():
            faults.append(f"{path} is missing")
        elif (found := sha256(path)) != expected:
            faults.append(f"{path} is damaged: SHA-256 {found}, the manifest says {expected}")
    return faults


def sha256(path: Path) -> str:
    """Of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
