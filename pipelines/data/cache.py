"""The folder where fetched data and models are kept, filled all or nothing."""

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Report = Callable[[str], None]
_MARKER = "complete.json"


class FetchError(RuntimeError):
    """Sample data or a model could not be fetched; the message says why and what to do."""


def silent(_: str) -> None:
    """A progress callback that says nothing."""


def cache_folder(cache: str | Path | None = None) -> Path:
    """`cache`, else `$SEEKRAY_CACHE`, else the platform's user cache folder for seekray."""
    chosen = cache or os.environ.get("SEEKRAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "seekray"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "seekray" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seekray"


def sha256(path: Path) -> str:
    """The file's SHA-256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_complete(folder: Path, version: str) -> bool:
    """Whether `fill` finished this version of the folder and no file changed its size since."""
    try:
        marker = json.loads((folder / _MARKER).read_text("utf-8"))
        sizes = {name: (folder / name).stat().st_size for name in marker["sizes"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(sizes) and marker.get("version") == version and sizes == marker["sizes"]


@contextmanager
def fill(folder: Path, version: str) -> Iterator[Path]:
    """Give a scratch folder that becomes `folder` when the block ends well, and vanishes when not.

    Of two processes at once, the second keeps the first one's folder. Raises `FetchError` when the
    cache cannot be written or the disk is full.
    """
    with _readable_disk_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            yield scratch
            sizes = {
                path.relative_to(scratch).as_posix(): path.stat().st_size
                for path in sorted(scratch.rglob("*"))
                if path.is_file()
            }
            marker = json.dumps({"version": version, "sizes": sizes}, indent=1)
            (scratch / _MARKER).write_text(marker + "\n", "utf-8")
            _let_others_read(scratch)
            _replace(scratch, folder, version)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _let_others_read(folder: Path) -> None:
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _replace(scratch: Path, folder: Path, version: str) -> None:
    for _ in range(3):
        try:
            os.replace(scratch, folder)
            return
        except OSError as err:
            if err.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if is_complete(folder, version):
            return
        stale = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
        try:
            os.replace(folder, stale)
        finally:
            shutil.rmtree(stale, ignore_errors=True)
    raise FetchError(f"{folder} keeps being written by another process; try again")


@contextmanager
def _readable_disk_errors(folder: Path) -> Iterator[None]:
    other = "set SEEKRAY_CACHE to a folder elsewhere"
    try:
        yield
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            why = f"the disk is full: free some space, or {other}"
        elif err.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            why = f"it cannot be written ({err.strerror}): {other}"
        else:
            why = f"{err}; {other}"
        raise FetchError(f"cache {folder.parent}: {why}") from err
