"""Scores of ordered chunk lists, kept so that no list is scored twice. Pure: no Ray."""

import hashlib
import logging
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from actors.expansion.types import OrderScore
from pipelines.corag.types import Order
from pipelines.data.chunks import Chunk

log = logging.getLogger(__name__)

Key = bytes
_SCHEMA = """
CREATE TABLE IF NOT EXISTS scores(
    key BLOB PRIMARY KEY, value REAL NOT NULL, tokens INTEGER NOT NULL, truncated INTEGER NOT NULL
) WITHOUT ROWID
"""
_BUSY_S = 30.0
_ASK_AT_ONCE = 500  # SQLite bounds the variables of a statement


class ScoreCacheError(RuntimeError):
    """The cache file cannot be used; the message names it and says what to do."""


class OrderKeys:
    """Cache keys of one query's orders under one reranker.

    A key stands for the reranker's fingerprint, the query and the chunks' *texts* in order: two
    sets that give one id to different texts (another chunk size) never share a score, and equal
    texts always do.
    """

    def __init__(self, fingerprint: str, query: str, chunks: Sequence[Chunk]) -> None:
        self._base = hashlib.blake2b(digest_size=20)
        self._base.update(_digest(fingerprint) + _digest(query))
        self._texts = [_digest(chunk.text) for chunk in chunks]

    def __call__(self, order: Order) -> Key:
        """The key of an order of positions among the chunks."""
        keyed = self._base.copy()
        keyed.update(b"".join(self._texts[position] for position in order))
        return keyed.digest()


class ScoreCache:
    """The `max_entries` scores used last, in memory (some 200 bytes each), and all of them in the
    SQLite file `path` if there is one.

    Processes and threads may share the file; it must lie on a local disk. Raises `ScoreCacheError`
    if it cannot be opened; once open, a failing file is said once and done without.
    """

    def __init__(self, max_entries: int = 500_000, path: str | Path | None = None) -> None:
        if max_entries < 1:
            raise ValueError(f"score cache: max_entries is {max_entries}, must be at least 1")
        self.max_entries = max_entries
        self.path = None if path is None else Path(path)
        self._kept: OrderedDict[Key, OrderScore] = OrderedDict()
        self._lock = threading.Lock()
        self._file = None if self.path is None else _open(self.path)

    def __len__(self) -> int:
        """Scores in memory."""
        return len(self._kept)

    def __enter__(self) -> "ScoreCache":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def get(self, key: Key) -> OrderScore | None:
        """The score of one key, if it is known."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, OrderScore]:
        """The scores of those keys that are known."""
        found: dict[Key, OrderScore] = {}
        unknown: list[Key] = []
        with self._lock:
            for key in dict.fromkeys(keys):
                score = self._kept.get(key)
                if score is None:
                    unknown.append(key)
                else:
                    self._kept.move_to_end(key)
                    found[key] = score
            if self._file is not None and unknown:
                read = self._read(unknown)
                self._keep(read)
                found |= read
        return found

    def put_many(self, scores: Mapping[Key, OrderScore]) -> None:
        """Keeps scores."""
        if not scores:
            return
        with self._lock:
            self._keep(scores)
            if self._file is None:
                return
            rows = [(key, s.value, s.tokens, int(s.truncated)) for key, s in scores.items()]
            try:
                with self._file:
                    self._file.executemany("INSERT OR REPLACE INTO scores VALUES (?,?,?,?)", rows)
            except sqlite3.Error as error:
                self._do_without(error)

    def close(self) -> None:
        """Closes the file; the scores in memory stay usable."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    def _keep(self, scores: Mapping[Key, OrderScore]) -> None:
        for key, score in scores.items():
            self._kept[key] = score
            self._kept.move_to_end(key)
        while len(self._kept) > self.max_entries:
            self._kept.popitem(last=False)

    def _read(self, keys: Sequence[Key]) -> dict[Key, OrderScore]:
        assert self._file is not None
        found: dict[Key, OrderScore] = {}
        try:
            for start in range(0, len(keys), _ASK_AT_ONCE):
                part = keys[start : start + _ASK_AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = self._file.execute(f"SELECT * FROM scores WHERE key IN ({marks})", part)
                for key, value, tokens, truncated in rows:
                    found[bytes(key)] = OrderScore(value, tokens, bool(truncated))
        except sqlite3.Error as error:
            self._do_without(error)
        return found

    def _do_without(self, error: sqlite3.Error) -> None:
        log.warning("score cache %s: %s; going on without the file", self.path, error)
        assert self._file is not None
        self._file.close()
        self._file = None


def _open(path: Path) -> sqlite3.Connection:
    connection = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_BUSY_S, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        with connection:
            connection.execute(_SCHEMA)
        connection.execute("SELECT key, value, tokens, truncated FROM scores LIMIT 1").fetchone()
    except (OSError, sqlite3.Error) as error:
        if connection is not None:
            connection.close()
        raise ScoreCacheError(
            f"score cache {path}: {error}. Delete the file if it is not a score cache that you "
            "need, or name another"
        ) from error
    return connection


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
