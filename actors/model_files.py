"""What a model folder holds, for fingerprints that tell two models of one name apart."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

DONE_MARK = "complete.json"
"""The cache's own note beside a fetched model: when it was fetched, not what."""


def hashed_files(folder: Path, patterns: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """(path below `folder`, SHA-256) of each file that a glob pattern names, in order of paths."""
    files = {path for pattern in patterns for path in folder.glob(pattern)}
    for path in sorted(files - {folder / DONE_MARK}):
        with path.open("rb") as file:
            yield path.relative_to(folder).as_posix(), hashlib.file_digest(file, "sha256").digest()
