"""The folder of a label sweep: which sweep it is, its labels as they come, and all of them."""

import fcntl
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.corag.labels import Label, LabelError, LabelFile, configuration_key
from pipelines.corag.types import Configuration
from pipelines.files import write_whole

LABELS, SWEEP, TRIALS, TUNE, LOCK = (
    "labels.jsonl", "sweep.json", "trials", "tune", "sweep.lock",
)  # fmt: skip


class SweepFolder:
    """An open sweep folder, locked against a second driver until the `with` block ends.

    `identity` says what makes this sweep. Raises `LabelError` if the folder holds another one,
    cannot be written, or a driver uses it.
    """

    def __init__(self, path: str | Path, identity: Mapping[str, Any]) -> None:
        self.path = Path(path).expanduser().absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / LOCK).open("a")
        except OSError as error:
            raise LabelError(f"sweep folder {self.path} cannot be written: {error}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._check(json.loads(json.dumps(identity)))
        except BlockingIOError:
            self._lock.close()
            raise LabelError(f"sweep folder {self.path} is in use by another sweep") from None
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> "SweepFolder":
        return self

    def __exit__(self, *exc: object) -> None:
        self._lock.close()

    @property
    def tune(self) -> Path:
        """Ray Tune's files."""
        return self.path / TUNE

    def trial(self, configuration: Configuration) -> Path:
        """The label file of a configuration."""
        return self.path / TRIALS / f"{configuration_key(configuration)}.jsonl"

    def labels(self, configuration: Configuration) -> dict[str, Label]:
        """What is labelled of a configuration, by question id; waits for a trial that writes."""
        path = self.trial(configuration)
        if not path.exists():
            return {}
        with LabelFile(path, configuration) as file:
            return file.by_query()

    def gather(self, questions: Sequence[str], configurations: Iterable[Configuration]) -> Path:
        """Writes `labels.jsonl`: by question, then by configuration, in the orders given."""
        found = [self.labels(configuration) for configuration in configurations]
        lines = [
            json.dumps(labels[query].to_json()) + "\n"
            for query in questions
            for labels in found
            if query in labels
        ]
        write_whole(self.path / LABELS, "".join(lines))
        return self.path / LABELS

    def _check(self, identity: Mapping[str, Any]) -> None:
        path = self.path / SWEEP
        if not path.exists():
            write_whole(path, json.dumps(identity, indent=1) + "\n")
            return
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
            names = sorted({*before, *identity})
        except (OSError, ValueError, TypeError) as error:
            raise LabelError(f"{path} cannot be read ({error}): name another folder") from error
        changed = [name for name in names if before.get(name) != identity.get(name)]
        if changed:
            told = "; ".join(
                f"{name}: {before.get(name)!r:.80} -> {identity.get(name)!r:.80}"
                for name in changed
            )
            raise LabelError(
                f"{self.path} holds labels of another sweep ({told}): name another folder, or set "
                "these as they were"
            )
