"""The folder of one run: its configuration, metrics, samples, checkpoints and plots."""

import fcntl
import json
import math
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import yaml  # type: ignore[import-untyped]

from cluster.failures import RunDirError

CONFIG, METRICS, LOCK = "config.yaml", "metrics.jsonl", "run.lock"
FOLDERS = ("samples", "checkpoints", "plots")
OWNED = (CONFIG, METRICS, *FOLDERS, "evaluations.json", "report.md", "wandb.json", "wandb", "model")
"""All that a run writes. Nothing else in the folder is ever removed."""
MAY_CHANGE = (
    *("run_dir", "train.steps", "train.max_minutes", "tracking.", "cluster."),
    *("learner.micro_batch_tokens", "learner.timeout_s", "rollout.timeout_s", "search.timeout_s"),
    *("rollout.kv_cache_gib", "rollout.gpu_memory_utilization"),
)
"""What a resumed run may set otherwise: it changes where and how long, not what is computed."""


class RunDir:
    """An open run folder, locked against a second driver until `close()`."""

    def __init__(self, path: Path, lock: TextIO) -> None:
        self.path, self._lock = path, lock

    @classmethod
    def create(
        cls, path: Path | str, config_yaml: str, *, resume: bool = False, overwrite: bool = False
    ) -> "RunDir":
        """Makes the folder and locks it. With `resume` an existing run is continued (if there is
        none, one is started); with `overwrite` its files are removed first. Raises `RunDirError`:
        the folder cannot be written, holds a run or other files, another driver uses it, or the
        configuration differs from the run's in more than `MAY_CHANGE`."""
        path = Path(path).expanduser().absolute()
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = _lock(path)
        except OSError as error:
            raise RunDirError(f"run folder {path} cannot be written: {error}") from error
        try:
            _prepare(path, config_yaml, resume, overwrite)
        except BaseException as error:
            lock.close()
            if isinstance(error, OSError):
                raise RunDirError(f"run folder {path} cannot be written: {error}") from error
            raise
        return cls(path, lock)

    def __enter__(self) -> "RunDir":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def metrics(self) -> Path:
        """`metrics.jsonl`: one JSON object a line, each with its `step`."""
        return self.path / METRICS

    @property
    def samples(self) -> Path:
        """Folder of rollouts kept for reading; name files `step-000010.jsonl`."""
        return self.path / "samples"

    @property
    def checkpoints(self) -> Path:
        """Folder of the `CheckpointStore`."""
        return self.path / "checkpoints"

    @property
    def plots(self) -> Path:
        """Folder of figures."""
        return self.path / "plots"

    def rewind(self, step: int) -> None:
        """Drops what was recorded after `step`, the step of the checkpoint that the run goes on
        from, and a half-written last line. Step -1 drops all."""
        kept = [record for record in read_jsonl(self.metrics) if record.get("step", 0) <= step]
        temporary = self.metrics.with_suffix(".tmp")
        temporary.write_text("".join(map(to_line, kept)), encoding="utf-8")
        temporary.replace(self.metrics)
        for sample in self.samples.glob("step-*"):
            digits = sample.name.removeprefix("step-").split(".", 1)[0]
            if digits.isdigit() and int(digits) > step:
                sample.unlink()

    def close(self) -> None:
        """Releases the lock. May be called twice."""
        self._lock.close()


def to_line(record: Mapping[str, Any]) -> str:
    """One line of JSON. Numbers that JSON lacks (nan, inf) become null; NumPy and torch scalars
    become numbers."""
    return json.dumps({key: _plain(value) for key, value in record.items()}) + "\n"


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSON-lines file; lines that are not a whole object are passed over."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def differing_keys(before: str, now: str) -> list[str]:
    """`section.name: before -> now` for every value that a resumed run may not change."""
    old, new = _flat(yaml.safe_load(before) or {}), _flat(yaml.safe_load(now) or {})
    return [
        f"{key}: {old.get(key)!r} -> {new.get(key)!r}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key) and not key.startswith(MAY_CHANGE)
    ]


def _prepare(path: Path, config_yaml: str, resume: bool, overwrite: bool) -> None:
    config = path / CONFIG
    others = [entry.name for entry in path.iterdir() if entry.name != LOCK]
    if config.exists() and resume and _started(path):
        changed = differing_keys(config.read_text(encoding="utf-8"), config_yaml)
        if changed:
            raise RunDirError(
                f"{path} was started with another configuration:\n  " + "\n  ".join(changed)
            )
        drop_half_line(path / METRICS)
    elif config.exists() and overwrite:
        for name in OWNED:
            entry = path / name
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink(missing_ok=True)
    elif config.exists() and _started(path):
        raise RunDirError(f"{path} already holds a run; resume it, or name another folder")
    elif others and not config.exists():
        raise RunDirError(f"{path} is not a run folder and is not empty: {sorted(others)[:5]}")
    for name in FOLDERS:
        (path / name).mkdir(exist_ok=True)
    (path / METRICS).touch()
    temporary = config.with_suffix(".tmp")
    temporary.write_text(config_yaml, encoding="utf-8")
    temporary.replace(config)


def _started(path: Path) -> bool:
    """False for a run that ended (say, in a missing file) before it recorded anything."""
    metrics = path / METRICS
    recorded = metrics.exists() and metrics.stat().st_size > 0
    return recorded or any((path / "checkpoints").glob("step-*"))


def _lock(path: Path) -> TextIO:
    """Holds `run.lock`. The system drops the lock when its process ends, however it ends, so a dead
    driver's file is taken over."""
    file = (path / LOCK).open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise RunDirError(f"{path} is in use by {holder}") from error
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    file.flush()
    return file


def drop_half_line(path: Path) -> None:
    """Cuts off what a stopped process left of a last line."""
    if path.exists() and not path.read_bytes().endswith(b"\n"):
        whole = path.read_bytes()
        with path.open("r+b") as file:
            file.truncate(whole.rfind(b"\n") + 1)


def _flat(node: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _plain(value: Any) -> Any:
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
