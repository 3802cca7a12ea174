"""Completions kept on disk: equal prompts are generated once in a whole sweep, even when resumed.

SQLite in WAL mode: safe for threads and for several processes of one machine (WAL does not work on
network file systems).
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from actors.rollout.types import Sampling

_VERSION = 1
_BUSY_S = 60.0
_ASKED_AT_ONCE = 500  # SQLite's least limit of variables in a statement is 999


class AnswerCacheError(RuntimeError):
    """The cache file cannot be used; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Written:
    """A completion as it was generated; `cut` if it ended at the token limit."""

    text: str
    tokens: int
    cut: bool


def answer_key(
    model: str, prompt_ids: Sequence[int], sampling: Sampling, seed: int | None = None
) -> bytes:
    """What a completion is kept under. `model` is the model's fingerprint; `seed` belongs to
    sampled completions only: a greedy one does not depend on it."""
    digest = hashlib.sha256()
    about = [_VERSION, model, asdict(sampling), seed if sampling.temperature else None]
    digest.update(json.dumps(about, sort_keys=True).encode())
    digest.update(b"\0" + json.dumps(list(prompt_ids)).encode())
    return digest.digest()


class AnswerCache:
    """Completions at `path`, made when missing. Each is safe as soon as `put` returns.

    Raises `AnswerCacheError` for a file that is no such cache, or cannot be read or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._pid = 0
        self.get([])

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, Written]:
        """Those of `keys` that are kept."""
        found: dict[bytes, Written] = {}
        with self._lock:
            try:
                db = self._open()
                for start in range(0, len(keys), _ASKED_AT_ONCE):
                    part = list(keys[start : start + _ASKED_AT_ONCE])
                    marks = ",".join("?" * len(part))
                    rows = db.execute(
                        f"SELECT key, text, tokens, cut FROM written WHERE key IN ({marks})", part
                    )
                    found |= {row[0]: Written(row[1], row[2], bool(row[3])) for row in rows}
            except (sqlite3.Error, OSError) as error:
                raise self._unusable(error) from error
        return found

    def put(self, key: bytes, written: Written) -> None:
        """Keeps a completion; the first of a key stays, so that all runs see the same one."""
        with self._lock:
            try:
                self._open().execute(
                    "INSERT OR IGNORE INTO written VALUES (?, ?, ?, ?)",
                    (key, written.text, written.tokens, int(written.cut)),
                )
            except (sqlite3.Error, OSError) as error:
                raise self._unusable(error) from error

    def __len__(self) -> int:
        with self._lock:
            try:
                return int(self._open().execute("SELECT count(*) FROM written").fetchone()[0])
            except (sqlite3.Error, OSError) as error:
                raise self._unusable(error) from error

    def close(self) -> None:
        """Closes the file; the next call opens it again."""
        with self._lock:
            if self._db is not None and self._pid == os.getpid():
                self._db.close()
            self._db = None

    def _open(self) -> sqlite3.Connection:
        if self._db is None or self._pid != os.getpid():  # never share a connection over a fork
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(
                self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute(
                    "CREATE TABLE IF NOT EXISTS written (key BLOB PRIMARY KEY, text TEXT NOT NULL, "
                    "tokens INTEGER NOT NULL, cut INTEGER NOT NULL) WITHOUT ROWID"
                )
            except BaseException:
                db.close()
                raise
            self._db, self._pid = db, os.getpid()
        return self._db

    def _unusable(self, error: Exception) -> AnswerCacheError:
        return AnswerCacheError(
            f"answer cache {self.path}: {error}; free the disk, or remove the file to begin anew "
            "(its answers are then generated again)"
        )
