"""Files that others see whole: as they were, or as they are."""

import os
import secrets
from pathlib import Path


def write_whole(path: str | Path, text: str) -> None:
    """Write `text` in UTF-8 to `path`; the former file stays until the new one is on the disk.

    Of several writers at once, whoever ends last is read.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
