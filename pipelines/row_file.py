"""Rows of an evaluation, one line of JSON each.

Lines are appended when they are known and never changed, so an evaluation that was stopped goes on
where it stopped. Each line carries the fingerprint of everything that it depends on: lines of
another setup stay in the file and are passed over.
"""

import dataclasses
import fcntl
import json
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from cluster.run_dir import read_jsonl

K = TypeVar("K", bound=Hashable, covariant=True)


class KeyedRow(Protocol[K]):
    """A dataclass of what one row tells."""

    @property
    def setup(self) -> str:
        """Fingerprint of all that the row depends on."""
        ...

    @property
    def key(self) -> K:
        """What the row is about."""
        ...


R = TypeVar("R", bound=KeyedRow[Any])
Key = TypeVar("Key", bound=Hashable)


class ResultsError(RuntimeError):
    """The file cannot be used; the message names it and says why."""


class RowFile(Generic[R, Key]):
    """The rows of one setup in the file `path`, which is made when missing, open for more.

    `read` makes a row of a line's object, None of one that is none. The file is locked until
    `close`: two evaluations of one folder would do everything twice. Raises `ResultsError`.
    """

    def __init__(
        self, path: Path | str, setup: str, read: Callable[[Mapping[str, Any]], R | None]
    ) -> None:
        self.path, self.setup = Path(path), setup
        self.rows: dict[Key, R] = {}
        self.passed_over = 0
        """Lines of other setups, or that cannot be read."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise ResultsError(
                f"{self.path} is in use by another evaluation: wait for it, or name another run_dir"
            ) from error
        except OSError as error:
            raise ResultsError(f"{self.path} cannot be written: {error.strerror}") from error
        if self._file.tell() and not self.path.read_bytes().endswith(b"\n"):
            self._file.write(b"\n")  # a stopped process left half a line
            self._file.flush()
        for record in read_jsonl(self.path):
            row = read(record)
            if row is None or row.setup != setup:
                self.passed_over += 1
            else:
                self.rows.setdefault(row.key, row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __contains__(self, key: object) -> bool:
        return key in self.rows

    def add(self, rows: Iterable[R]) -> None:
        """Appends rows; they are on the disk when this returns."""
        fresh = {row.key: row for row in rows if row.key not in self.rows}
        for row in fresh.values():
            line = json.dumps(dataclasses.asdict(row))  # type: ignore[call-overload]
            self._file.write((line + "\n").encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows |= fresh

    def close(self) -> None:
        """Releases the file. May be called twice."""
        self._file.close()
