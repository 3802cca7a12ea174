"""A folder takes the place of another, whole or not at all, whatever is killed and whoever else.

A folder cannot replace a full one in one step, so the former is moved to `.NAME.former.*` first. A
kill between the two steps leaves it there: `recover` puts it back, the next `put_in_place` throws
it away.
"""

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_KEPT = "index"


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Hold the lock `.NAME.lock` beside `target`, waiting for it; afterwards the file is gone."""
    path = target.parent / f".{target.name}.lock"
    while True:
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                held = os.path.samestat(path.stat(), os.fstat(lock.fileno()))
            except FileNotFoundError:
                held = False
            if not held:  # whoever had it took the file away
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def put_in_place(building: Path, target: Path, check: Callable[[Path], None]) -> None:
    """Make `building` durable and move it to `target`; what was there goes.

    `check(target)` raises where it must stay.
    """
    os.chmod(building, 0o755)
    sync(building)
    with alone(target):
        check(target)
        former = None
        if target.exists():
            former = Path(tempfile.mkdtemp(prefix=f".{target.name}.former.", dir=target.parent))
            os.rename(target, former / _KEPT)
        try:
            os.rename(building, target)
        except OSError:
            if former is not None:
                os.rename(former / _KEPT, target)
                former.rmdir()
            raise
        _sync(target.parent)
        for left in _formers(target):
            shutil.rmtree(left, ignore_errors=True)


def recover(target: Path) -> None:
    """Put back what a killed `put_in_place` moved aside, where nothing else is at `target`.

    Waits for one that is under way. Of several left aside none is chosen.
    """
    if target.exists() or not _formers(target):
        return
    with alone(target):
        left = [path for path in _formers(target) if (path / _KEPT).is_dir()]
        if not target.exists() and len(left) == 1:
            os.rename(left[0] / _KEPT, target)
            left[0].rmdir()
            _sync(target.parent)


def sync(folder: Path) -> None:
    """Bring all files and folders below `folder`, and itself, to the disk."""
    for path, _, files in os.walk(folder, topdown=False):
        for name in files:
            _sync(Path(path, name))
        _sync(Path(path))


def _formers(target: Path) -> list[Path]:
    return list(target.parent.glob(f".{glob.escape(target.name)}.former.*"))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
