"""Checkpoints that are whole or absent.

A checkpoint is written to a hidden folder, flushed, listed in `manifest.json` (size and SHA-256 of
every file), and renamed to `step-000010`. A kill at any moment leaves the one before it intact.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.failures import CheckpointError, cause_of

log = logging.getLogger(__name__)

_STEP = re.compile(r"step-(\d{6,})")
_MANIFEST, _STATE, _BEST = "manifest.json", "state.json", "best.json"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found whole. `state` is what `save` was given."""

    step: int
    path: Path
    state: dict[str, Any]


class CheckpointStore:
    """The checkpoints of a run: the newest `keep_last`, and the best."""

    def __init__(self, folder: Path, keep_last: int) -> None:
        if keep_last < 1:
            raise ValueError(f"keep_last {keep_last} is below 1")
        self._folder, self._keep_last = Path(folder), keep_last
        self._folder.mkdir(parents=True, exist_ok=True)
        for left in self._folder.glob(".old-step-*"):
            home = self._folder / left.name.removeprefix(".old-")
            shutil.rmtree(left) if home.exists() else left.rename(home)
        for left in self._folder.glob(".tmp-*"):
            shutil.rmtree(left)

    def save(
        self, step: int, write: Callable[[Path], None], state: Mapping[str, Any]
    ) -> Checkpoint:
        """Writes the checkpoint of `step`: `write(folder)` puts its files there, `state` goes in as
        JSON. Raises `CheckpointError` (disk full, a writer that failed) and leaves no trace then;
        a checkpoint of the same step is replaced."""
        home = self._folder / f"step-{step:06d}"
        # A name of its own: a writer that was given up may still write into the last one.
        temporary = self._folder / f".tmp-{home.name}-{time.monotonic_ns()}"
        old = self._folder / f".old-{home.name}"
        try:
            temporary.mkdir()
            write(temporary)
            (temporary / _STATE).write_text(json.dumps(dict(state)), encoding="utf-8")
            _seal(temporary)
            if home.exists():
                home.rename(old)
            temporary.rename(home)
            _sync(self._folder)
        except BaseException as error:
            if old.exists() and not home.exists():
                old.rename(home)
            shutil.rmtree(temporary, ignore_errors=True)
            if not isinstance(error, Exception):
                raise
            why = cause_of(error)
            raise CheckpointError(f"checkpoint of step {step} was not written: {why}") from error
        shutil.rmtree(old, ignore_errors=True)
        self._prune()
        return Checkpoint(step, home, dict(state))

    def steps(self) -> list[int]:
        """Steps that have a checkpoint, whole or not, oldest first."""
        matches = (_STEP.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(int(match.group(1)) for match in matches if match)

    def latest(self) -> Checkpoint | None:
        """The newest whole checkpoint; damaged ones are passed over with a warning."""
        for step in reversed(self.steps()):
            try:
                return self.load(step)
            except CheckpointError as error:
                log.warning("%s; looking for an older one", error)
        return None

    def load(self, step: int) -> Checkpoint:
        """The checkpoint of `step`, every byte checked. Raises `CheckpointError`."""
        path = self._folder / f"step-{step:06d}"
        try:
            damage = _damage(path)
            if damage:
                raise CheckpointError(f"checkpoint {path.name} is damaged: {damage}")
            return Checkpoint(step, path, json.loads((path / _STATE).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"checkpoint {path.name} is damaged: {error}") from error

    def offer_best(self, step: int, metric: str, value: float) -> bool:
        """Marks `step` as the best if `value` is above that of the best so far. The best is never
        pruned."""
        if not self.would_be_best(metric, value):
            return False
        temporary = self._folder / f"{_BEST}.tmp"
        temporary.write_text(json.dumps({"step": step, "metric": metric, "value": value}))
        temporary.replace(self._folder / _BEST)
        return True

    def would_be_best(self, metric: str, value: float) -> bool:
        """True if `value` is above that of the best so far. Save a step before it is offered."""
        best = self._best()
        return best is None or best["metric"] != metric or value > best["value"]

    def rewind(self, step: int) -> None:
        """Forgets a best of after `step`: the run goes on from there and will do it again."""
        best = self._best()
        if best is not None and best["step"] > step:
            (self._folder / _BEST).unlink()

    def best(self) -> Checkpoint | None:
        """The best checkpoint, if one was marked and is whole."""
        best = self._best()
        if best is None:
            return None
        try:
            return self.load(best["step"])
        except CheckpointError as error:
            log.warning("%s", error)
            return None

    def _best(self) -> dict[str, Any] | None:
        try:
            best = json.loads((self._folder / _BEST).read_text(encoding="utf-8"))
            if int(best["step"]) not in self.steps():
                return None
            return {"step": int(best["step"]), "metric": best["metric"], "value": best["value"]}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _prune(self) -> None:
        best = self._best()
        for step in self.steps()[: -self._keep_last]:
            if best is None or step != best["step"]:
                shutil.rmtree(self._folder / f"step-{step:06d}", ignore_errors=True)


def _seal(folder: Path) -> None:
    """Lists every file with size and digest, and flushes all to disk."""
    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        name = path.relative_to(folder).as_posix()
        files[name] = {"bytes": path.stat().st_size, "sha256": digest}
    manifest = folder / _MANIFEST
    manifest.write_text(json.dumps({"files": files}, indent=1), encoding="utf-8")
    _sync(manifest)
    _sync(folder)


def _damage(folder: Path) -> str:
    """What is wrong with the files of a checkpoint; empty if nothing is."""
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    for name, listed in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != listed["bytes"]:
            return f"{name} has {path.stat().st_size} bytes, {listed['bytes']} were written"
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != listed["sha256"]:
                return f"{name} differs from what was written"
    return ""


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
