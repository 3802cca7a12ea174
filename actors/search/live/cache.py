"""Good answers of a service, kept on disk in SQLite: with an age, a size bound, and no secrets.

The cache never fails a search: what cannot be read is a miss, what cannot be written is not kept.
"""

import fcntl
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

_log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
PRIVATE = frozenset({"api_key", "tool", "email"})  # identify the caller, not the answer
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, stored REAL NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_by_age ON answers (stored, key, size);
CREATE TABLE IF NOT EXISTS volume (bytes INTEGER NOT NULL);
INSERT INTO volume SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM volume);
CREATE TRIGGER IF NOT EXISTS answer_in AFTER INSERT ON answers
    BEGIN UPDATE volume SET bytes = bytes + NEW.size; END;
CREATE TRIGGER IF NOT EXISTS answer_out AFTER DELETE ON answers
    BEGIN UPDATE volume SET bytes = bytes - OLD.size; END;
"""


def cache_key(service: str, endpoint: str, parameters: Sequence[tuple[str, str]]) -> bytes:
    """What an answer is kept under: the order of parameters and who asks make no difference."""
    kept = sorted((name, value) for name, value in parameters if name not in PRIVATE)
    return hashlib.sha256(json.dumps([service, endpoint, kept]).encode("ascii")).digest()


class AnswerCache:
    """Answers at `path`, at most `expiry_s` old and `max_bytes` (compressed) together.

    Safe for threads and processes. A corrupt file is moved aside (`NAME.corrupt-N`) and begun anew.
    `clock` is the wall clock, in seconds.
    """

    def __init__(
        self,
        path: str | Path,
        expiry_s: float = 7 * 86_400.0,
        max_bytes: int = 2 * 2**30,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path)
        self.expiry_s, self.max_bytes = expiry_s, max_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._pid = 0
        self._complained = False

    def get(self, key: bytes) -> bytes | None:
        """The body kept under `key`; None if there is none, or none young enough."""
        now = self._clock()
        row = self._try(
            lambda db: db.execute(
                "SELECT body FROM answers WHERE key = ? AND stored BETWEEN ? AND ?",
                (key, now - self.expiry_s, now + self.expiry_s),
            ).fetchone()
        )
        try:
            return zlib.decompress(row[0]) if row else None
        except zlib.error:
            self.drop(key)
            return None

    def put(self, key: bytes, body: bytes) -> None:
        """Keep `body`; the oldest answers go when there are too many bytes."""
        packed = zlib.compress(body, 6)
        if len(packed) <= self.max_bytes:
            self._try(lambda db: self._write(db, key, packed))

    def drop(self, key: bytes) -> None:
        """Forget `key`."""
        self._try(lambda db: db.execute("DELETE FROM answers WHERE key = ?", (key,)))

    def volume(self) -> int:
        """Bytes kept, compressed, without the file's own overhead."""
        row = self._try(lambda db: db.execute("SELECT bytes FROM volume").fetchone())
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._db is not None and self._pid == os.getpid():
                self._db.close()
            self._db = None

    def _write(self, db: sqlite3.Connection, key: bytes, packed: bytes) -> None:
        now = self._clock()
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute("DELETE FROM answers WHERE key = ?", (key,))
            db.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", (key, now, len(packed), packed))
            excess = db.execute("SELECT bytes FROM volume").fetchone()[0] - self.max_bytes
            if excess > 0:
                db.execute("DELETE FROM answers WHERE stored < ?", (now - self.expiry_s,))
                excess = db.execute("SELECT bytes FROM volume").fetchone()[0] - self.max_bytes
            old = db.execute("SELECT key, size FROM answers ORDER BY stored, key")
            going: list[tuple[bytes]] = []
            while excess > 0 and (row := old.fetchone()):
                if row[0] != key:
                    going.append((row[0],))
                    excess -= row[1]
            db.executemany("DELETE FROM answers WHERE key = ?", going)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _try(self, action: Callable[[sqlite3.Connection], object]) -> tuple | None:
        with self._lock:
            for again in (True, False):
                try:
                    result = action(self._open())
                    return result if isinstance(result, tuple) else None
                except (sqlite3.Error, OSError) as error:
                    if again and getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN:
                        self._rebuild()
                    else:
                        self._complain(error)
                        return None
        return None

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._complained = True
            _log.warning("answers are not cached at %s: %s", self.path, error)

    def _open(self) -> sqlite3.Connection:
        if self._db is None or self._pid != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(
                self.path, timeout=30.0, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(db)
            except BaseException:
                db.close()
                raise
            self._db, self._pid = db, os.getpid()
        return self._db

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            for table in ("answers", "volume"):
                db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _statements(_SCHEMA):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")

    def _rebuild(self) -> None:
        """Move the file aside, unless another process has already done so."""
        if self._db is not None:
            self._db.close()
            self._db = None
        with open(f"{self.path}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.path.exists() or _is_sound(self.path):
                return
            number = 1
            while (aside := Path(f"{self.path}.corrupt-{number}")).exists():
                number += 1
            self.path.rename(aside)
            for extra in ("-wal", "-shm"):
                Path(f"{self.path}{extra}").unlink(missing_ok=True)
        _log.warning("the cache was corrupt: moved to %s and begun anew", aside)


def _statements(script: str) -> list[str]:
    statements, part = [], ""
    for piece in script.split(";"):
        part += piece + ";"
        if sqlite3.complete_statement(part):
            statements.append(part)
            part = ""
    return statements


def _is_sound(path: Path) -> bool:
    try:
        db = sqlite3.connect(path, timeout=30.0)
        try:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        finally:
            db.close()
    except sqlite3.DatabaseError:
        return False
