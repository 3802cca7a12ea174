"""JSON lines, plain or gz, with errors that name the file and the line."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.data.failures import CorpusError


def read_objects(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object); empty lines are passed over.

    Raises `CorpusError` for a file that cannot be read or a line that is no JSON object.
    """
    path = Path(path)
    line = 0
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as lines:
            for line, raw in enumerate(lines, 1):
                if raw.strip():
                    yield line, _object(raw, path, line)
    except (EOFError, zlib.error, gzip.BadGzipFile) as err:
        raise CorpusError(
            f"{path}: the gz stream breaks off or is damaged after line {line} ({err})"
        ) from err
    except OSError as err:
        raise CorpusError(f"{path}: cannot be read: {err.strerror or err}") from err


def _object(raw: bytes, path: Path, line: int) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except ValueError as err:
        raise CorpusError(f"{path}, line {line}: not JSON ({err})") from err
    if not isinstance(found, dict):
        raise CorpusError(f"{path}, line {line}: expected a JSON object, got {raw[:40]!r}")
    return found


class Fields:
    """Typed access to one object's fields; a wrong type is a `CorpusError` with the place."""

    def __init__(self, values: dict[str, Any], path: str | Path, line: int) -> None:
        self.values = values
        self.place = f"{path}, line {line}"

    def text(self, *names: str) -> str:
        """The first field of these that is there, as stripped text; "" when none is."""
        for name in names:
            value = self.values.get(name)
            if value is None or value == "":
                continue
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            if not isinstance(value, str):
                raise CorpusError(f"{self.place}: {name} is not text: {value!r:.60}")
            return value.strip()
        return ""

    def texts(self, *names: str) -> tuple[str, ...]:
        """The first field of these that is there, a list of texts; () when none is."""
        for name in names:
            value = self.values.get(name)
            if value is None:
                continue
            if not isinstance(value, list):
                raise CorpusError(f"{self.place}: {name} is not a list: {value!r:.60}")
            for item in value:
                if isinstance(item, bool) or not isinstance(item, str | int):
                    raise CorpusError(f"{self.place}: {name} holds {item!r:.60}, which is no text")
            return tuple(str(item).strip() for item in value)
        return ()

    def required(self, *names: str) -> str:
        """Like `text`, but raises `CorpusError` when there is nothing."""
        found = self.text(*names)
        if not found:
            raise CorpusError(f"{self.place}: no {' or '.join(names)}")
        return found
