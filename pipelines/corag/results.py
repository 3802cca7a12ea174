"""What an evaluation found, one line of JSON for each question, method and budget.

Lines are appended when they are known and never changed, so an evaluation that was stopped goes on
where it stopped. Each line carries the fingerprint of everything that it depends on: lines of
another setup stay in the file and are passed over.
"""

import dataclasses
import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.run_dir import read_jsonl

STAGES = ("embed", "retrieve", "search", "prompt", "generate")
"""Where a question's seconds go: its vector, the index, choosing chunks (reranking included),
writing the prompt, writing the answer."""

Key = tuple[str, str, int]
"""Question id, method, budget."""


@dataclass(frozen=True, slots=True)
class Row:
    """One question answered by one method under one budget.

    `sequences` are the different orders that the method asked scores of, whether or not another
    method had asked before; `scored` those that went to the reranker for it. `reward` is by the
    setup's own reranker, `own_reward` by `reranker`, which the agent may have chosen otherwise.
    `seconds` are what the stages would take with nothing shared or cached, None where that could
    not be told; see `pace`.
    """

    question: str
    method: str
    budget: int
    setup: str
    rouge_1: float
    rouge_2: float
    rouge_l: float
    reward: float
    own_reward: float
    cost: int
    chunks: tuple[str, ...]
    answer: str
    citations: tuple[str, ...]
    prompt_tokens: int
    sequences: int
    scored: int
    truncated: int
    iterations: int
    reranker: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What the row is about."""
        return self.question, self.method, self.budget


class ResultsError(RuntimeError):
    """The file cannot be used; the message names it and says why."""


class Results:
    """The rows of one setup in the file `path`, which is made when missing, open for more.

    The file is locked until `close`: two evaluations of one folder would do everything twice.
    Raises `ResultsError`.
    """

    def __init__(self, path: Path | str, setup: str) -> None:
        self.path, self.setup = Path(path), setup
        self.rows: dict[Key, Row] = {}
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
            row = _row(record)
            if row is None or row.setup != setup:
                self.passed_over += 1
            else:
                self.rows.setdefault(row.key, row)

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __contains__(self, key: object) -> bool:
        return key in self.rows

    def add(self, rows: Iterable[Row]) -> None:
        """Appends rows; they are on the disk when this returns."""
        fresh = {row.key: row for row in rows if row.key not in self.rows}
        for row in fresh.values():
            self._file.write((json.dumps(dataclasses.asdict(row)) + "\n").encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows |= fresh

    def close(self) -> None:
        """Releases the file. May be called twice."""
        self._file.close()


def _row(record: Mapping[str, Any]) -> Row | None:
    values = dict(record)
    try:
        values["chunks"], values["citations"] = tuple(values["chunks"]), tuple(values["citations"])
        return Row(**values)
    except (KeyError, TypeError):
        return None
