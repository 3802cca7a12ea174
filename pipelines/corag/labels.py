"""Labels: how well a configuration answered a question. One JSON object a line.

A label file is written by one process at a time, a line as soon as a label is known, and may be
cut off at any moment: a half-written last line is dropped when it is opened again.
"""

import fcntl
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from cluster.run_dir import drop_half_line
from pipelines.corag.types import Configuration, TreeSettings
from pipelines.data.chunks import Question

LOCK_S = 60.0
_NUMBERS = ("rouge_l", "reward", "iterations", "c", "cost_weight", "wave", "cost")


class LabelError(RuntimeError):
    """Labels that cannot be read or used; the message names the place and the remedy."""


@dataclass(frozen=True, slots=True)
class Label:
    """One question answered under one configuration.

    `rouge_l` of the answer against the references, in [0, 1]; `reward` is what the reranker gave
    the chosen order; `chunks` are its chunk ids, first one first, `cost` their tokens.
    """

    query: str
    """The question's id."""
    text: str
    configuration: Configuration
    rouge_l: float
    reward: float
    chunks: tuple[str, ...] = ()
    cost: int = 0
    answer: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
        settings = self.configuration.settings
        return {
            "query": self.query,
            "text": self.text,
            "reranker": self.configuration.reranker,
            "iterations": settings.iterations,
            "c": settings.c,
            "cost_weight": settings.cost_weight,
            "wave": settings.wave,
            "pick": settings.pick,
            "rouge_l": self.rouge_l,
            "reward": self.reward,
            "chunks": list(self.chunks),
            "cost": self.cost,
            "answer": self.answer,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Label":
        """What `to_json` gave; `wave`, `pick`, `cost`, `chunks` and `answer` may be left out.
        Raises `ValueError` that names the field that is missing or wrong."""
        wanted = ("query", "text", "reranker", "rouge_l", "reward", "iterations", "c")
        missing = [name for name in (*wanted, "cost_weight") if name not in values]
        if missing:
            raise ValueError(f"no {', '.join(missing)}")
        for name in _NUMBERS:
            value = values.get(name, 0)
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
                raise ValueError(f"{name} is no number: {value!r:.40}")
        if not 0 <= values["rouge_l"] <= 1:
            raise ValueError(f"rouge_l is {values['rouge_l']}, must be within 0..1")
        for name in ("query", "text", "reranker"):
            if not isinstance(values[name], str):
                raise ValueError(f"{name} is no text: {values[name]!r:.40}")
        settings = TreeSettings(
            int(values["iterations"]),
            float(values["c"]),
            float(values["cost_weight"]),
            int(values.get("wave", 1)),
            str(values.get("pick", "average")),
        )
        return cls(
            query=values["query"],
            text=values["text"],
            configuration=Configuration(values["reranker"], settings),
            rouge_l=float(values["rouge_l"]),
            reward=float(values["reward"]),
            chunks=tuple(values.get("chunks", ())),
            cost=int(values.get("cost", 0)),
            answer=str(values.get("answer", "")),
        )


class Labeller(Protocol):
    """Answers questions under a configuration and says how well. The same question and
    configuration give the same label, so that a lost one may be made again."""

    def label(self, questions: Sequence[Question], configuration: Configuration) -> Iterator[Label]:
        """A label for every question, each as soon as it is known, in any order."""
        ...


def configuration_key(configuration: Configuration) -> str:
    """A short name, fit for a file: `bm25-i10-c2.4-l0.1`."""
    settings = configuration.settings
    key = f"{configuration.reranker}-i{settings.iterations}-c{settings.c:g}"
    fixed = "" if settings.wave == 1 else f"-w{settings.wave}"
    fixed += "" if settings.pick == "average" else f"-{settings.pick}"
    return f"{key}-l{settings.cost_weight:g}{fixed}".replace("/", "_")


class LabelFile:
    """The labels of one configuration, open for more. Raises `LabelError` if it cannot be opened,
    holds what is no label, or another process keeps it for longer than `lock_s`."""

    def __init__(self, path: Path, configuration: Configuration, *, lock_s: float = LOCK_S) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise LabelError(f"{path} cannot be written: {error.strerror}") from error
        try:
            _lock(self._file, path, lock_s)
            drop_half_line(path)
            self._known = {label.query: label for label in read_labels(path)}
            for label in self._known.values():
                if label.configuration != configuration:
                    raise LabelError(
                        f"{path} holds labels of {configuration_key(label.configuration)}, not of "
                        f"{configuration_key(configuration)}: name another folder"
                    )
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "LabelFile":
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def get(self, query: str) -> Label | None:
        """The label of a question, if it is known."""
        return self._known.get(query)

    def by_query(self) -> dict[str, Label]:
        """All known labels, by question id."""
        return dict(self._known)

    def append(self, label: Label) -> None:
        """Writes the label unless the question has one."""
        if label.query not in self._known:
            self._file.write((json.dumps(label.to_json()) + "\n").encode())
            self._known[label.query] = label


def read_labels(path: str | Path) -> list[Label]:
    """All labels of a file. Raises `LabelError` that names the line which is no label, or holds a
    second one of the same question and configuration."""
    path = Path(path)
    labels: dict[tuple[str, Configuration], Label] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(f"labels {path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
            if not isinstance(values, dict):
                raise ValueError("no JSON object")
            label = Label.from_json(values)
        except ValueError as error:
            raise LabelError(f"labels {path}, line {number}: {error}") from error
        key = label.query, label.configuration
        if key in labels:
            raise LabelError(
                f"labels {path}, line {number}: a second label of question {label.query} under "
                f"{configuration_key(label.configuration)}"
            )
        labels[key] = label
    return list(labels.values())


def by_query(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Labels of each question, in the order they came."""
    grouped: dict[str, list[Label]] = {}
    for label in labels:
        grouped.setdefault(label.query, []).append(label)
    return grouped


def _lock(file: BinaryIO, path: Path, seconds: float) -> None:
    """A trial whose driver was killed may live on for a moment: it must end first."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise LabelError(
                    f"{path} is in use by another sweep: wait for it, or name another folder"
                ) from None
            time.sleep(0.05)
