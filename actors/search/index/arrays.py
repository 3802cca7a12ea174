"""Named numpy arrays in one file, read through a memory map.

Layout: the eight bytes `SRARRAY1`, the length of a JSON table (uint64, little endian), the table
`{name: [dtype, offset, count]}`, then the arrays, each at a multiple of 64 bytes.
"""

import json
import mmap
from collections.abc import Mapping
from pathlib import Path

import numpy as np

_MAGIC = b"SRARRAY1"
_ALIGN = 64


class DamagedFileError(ValueError):
    """A file of an index that is missing, cut short or not what it should be."""


def save(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write one-dimensional `arrays` to `path`."""
    table: dict[str, tuple[str, int, int]] = {}
    end = 0
    for name, array in arrays.items():
        start = _aligned(end)
        table[name] = (array.dtype.newbyteorder("<").str, start, len(array))
        end = start + array.nbytes
    head = json.dumps({"end": end, "arrays": table}).encode()
    head += b" " * (_aligned(len(head) + 16) - 16 - len(head))
    with path.open("wb") as file:
        file.write(_MAGIC + len(head).to_bytes(8, "little") + head)
        written = 0
        for (dtype, start, _), array in zip(table.values(), arrays.values(), strict=True):
            file.write(bytes(start - written))
            file.write(np.ascontiguousarray(array, dtype=dtype).data.cast("B"))
            written = start + array.nbytes


def load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of `path`, read-only, backed by the file. Raises `DamagedFileError`."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, ValueError) as error:
        raise DamagedFileError(f"{path} is missing or empty: build the index again") from error
    length = int.from_bytes(data[8:16], "little")
    try:
        if data[:8] != _MAGIC:
            raise ValueError("it is not a file of arrays")
        head = json.loads(data[16 : 16 + length])
        base = 16 + length
        if len(data) < base + head["end"]:
            raise ValueError(f"it ends after {len(data)} bytes of {base + head['end']}")
        return {
            name: np.frombuffer(data, dtype=dtype, count=count, offset=base + start)
            if count
            else np.empty(0, dtype=dtype)
            for name, (dtype, start, count) in head["arrays"].items()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{path} is damaged, {error}: build the index again") from error


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN
