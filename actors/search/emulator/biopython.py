"""Points `Bio.Entrez` at an emulator: its functions name NCBI's host themselves, no other."""

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

NCBI = "https://eutils.ncbi.nlm.nih.gov"


@contextmanager
def entrez_at(url: str, entrez: ModuleType) -> Iterator[ModuleType]:
    """Within it, requests of `entrez` (the module `Bio.Entrez`) to NCBI go to `url` instead.

    `url` is the emulator's, without a path: `http://127.0.0.1:8080`. The module is changed for the
    whole process meanwhile; all else about it, parsing and pacing too, stays as it is.
    """
    before = entrez.urlopen

    def urlopen(request: urllib.request.Request, *args: Any, **kwargs: Any) -> Any:
        if not request.full_url.startswith(NCBI + "/"):
            return before(request, *args, **kwargs)
        there = url.rstrip("/") + request.full_url.removeprefix(NCBI)
        moved = urllib.request.Request(there, request.data, dict(request.headers))
        return before(moved, *args, **kwargs)

    entrez.urlopen = urlopen  # type: ignore[attr-defined]
    try:
        yield entrez
    finally:
        entrez.urlopen = before  # type: ignore[attr-defined]
