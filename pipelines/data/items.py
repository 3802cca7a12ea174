"""Input of an index build, cut into items that are read one by one, on any machine."""

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.data.failures import CorpusError

_FILES_PER_ITEM = 2_000
_MEMBERS_PER_ITEM = 20_000


@dataclass(frozen=True, slots=True)
class Item:
    """One file, several small ones (`paths`), or the members `start` to `stop` of a zip file.

    `packed` are the bytes that those members take: a long directory is not read for each item anew.
    """

    name: str
    paths: tuple[Path, ...]
    start: int = 0
    stop: int = 0
    packed: int = 0

    @property
    def path(self) -> Path:
        """The file, where it is one."""
        return self.paths[0]

    @property
    def is_zip(self) -> bool:
        """True where the content is in a zip file."""
        return self.stop > 0

    def size(self) -> int:
        """Bytes to read, on disk."""
        if self.is_zip:
            return self.packed
        return sum(path.stat().st_size for path in self.paths)

    def digest(self) -> str:
        """SHA-256 over the content; of a zip file's members over names, sizes and check sums.

        Raises `CorpusError` when a file cannot be read.
        """
        digest = hashlib.sha256()
        try:
            if self.is_zip:
                with zipfile.ZipFile(self.path) as file:
                    for member in json_members(file)[self.start : self.stop]:
                        line = f"{member.filename} {member.file_size} {member.CRC}\n"
                        digest.update(line.encode("utf-8", "surrogateescape"))
                return digest.hexdigest()
            for path in self.paths:
                with path.open("rb") as lines:
                    digest.update(hashlib.file_digest(lines, "sha256").digest())
        except (OSError, zipfile.BadZipFile) as err:
            raise CorpusError(f"{self.path}: cannot be read: {err}") from err
        return digest.hexdigest()


def json_members(file: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The JSON files of a zip file, in name order."""
    members = (m for m in file.infolist() if m.filename.endswith(".json") and not m.is_dir())
    return sorted(members, key=lambda member: member.filename)


def corpus_files(paths: Iterable[str | Path], suffixes: Sequence[str]) -> list[Path]:
    """Files with one of `suffixes`, folders opened at every depth, each once, in name order.

    A file that is named itself is taken whatever it is called. Raises `CorpusError` for a path that
    is not there and for a folder that holds no such file.
    """
    found: dict[Path, Path] = {}
    for given in map(Path, paths):
        path = given.expanduser()
        if path.is_dir():
            inside = [p for p in path.rglob("*") if p.name.endswith(tuple(suffixes))]
            if not inside:
                raise CorpusError(f"{path}: holds no {', '.join('*' + s for s in suffixes)}")
            found.update((p.resolve(), p) for p in inside if p.is_file())
        elif path.is_file():
            found[path.resolve()] = path
        else:
            raise CorpusError(f"{path}: no such file or folder")
    if not found:
        raise CorpusError("no file is given")
    return sorted(found.values(), key=lambda path: (path.name, str(path)))


def one_each(files: Iterable[Path]) -> list[Item]:
    """Each file as an item."""
    return [Item(path.name, (path,)) for path in files]


def in_groups(files: Sequence[Path]) -> Iterator[Item]:
    """Small files, some thousands to an item."""
    for at in range(0, len(files), _FILES_PER_ITEM):
        group = tuple(files[at : at + _FILES_PER_ITEM])
        name = group[0].name if len(group) == 1 else f"{group[0].name} to {group[-1].name}"
        yield Item(name, group)


def of_zip(path: Path) -> Iterator[Item]:
    """The JSON members of a zip file, some thousands to an item."""
    try:
        with zipfile.ZipFile(path) as file:
            sizes = [member.compress_size for member in json_members(file)]
    except (OSError, zipfile.BadZipFile) as err:
        raise CorpusError(f"{path}: cannot be read: {err}") from err
    if not sizes:
        raise CorpusError(f"{path}: holds no *.json")
    for start in range(0, len(sizes), _MEMBERS_PER_ITEM):
        stop = min(len(sizes), start + _MEMBERS_PER_ITEM)
        packed = sum(sizes[start:stop])
        yield Item(f"{path.name}[{start}:{stop}]", (path,), start, stop, packed)
