"""A reader of ClinicalTrials.gov studies, in every shape that they are handed around.

One study a JSON file (a folder or a zip file of the full download), saved pages of API v2
(`{"studies": [...], "nextPageToken": ...}`), JSON lists, JSON lines, and flat rows of other
collections (`nct_id`, `title`, `conditions`, ...), plain or gz.
"""

import gzip
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from actors.search.trials.study import Study, as_study, study_id
from pipelines.data.failures import CorpusError
from pipelines.data.items import Item, corpus_files, in_groups, json_members, of_zip, one_each
from pipelines.data.jsonl import read_objects

SUFFIXES = (".json", ".json.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".zip")
_LINES = (".jsonl", ".jsonl.gz", ".ndjson")
_LARGE = 1 << 22


def trial_items(paths: Iterable[str | Path]) -> list[Item]:
    """What `paths` name, cut into items, in name order. Raises `CorpusError`."""
    files = corpus_files(paths, SUFFIXES)
    zips = [path for path in files if path.name.endswith(".zip")]
    rest = [path for path in files if path not in zips]
    large = [p for p in rest if p.name.endswith(_LINES) or p.stat().st_size > _LARGE]
    small = sorted(set(rest).difference(large), key=lambda path: (path.name, str(path)))
    items = [*one_each(large), *in_groups(small), *(item for path in zips for item in of_zip(path))]
    return sorted(items, key=lambda item: (item.path.name, item.start))


def read_studies(item: Item) -> Iterator[Study]:
    """Yield the item's studies. Raises `CorpusError` with file, and line or place in the list."""
    if item.is_zip:
        with zipfile.ZipFile(item.path) as file:
            for member in json_members(file)[item.start : item.stop]:
                place = f"{item.path}/{member.filename}"
                try:
                    data = file.read(member)
                except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as err:
                    raise CorpusError(f"{place}: cannot be read: {err}") from err
                yield from _of_json(data, place)
        return
    for path in item.paths:
        if path.name.endswith(_LINES):
            for line, values in read_objects(path):
                yield from _studies(values, f"{path}, line {line}")
        else:
            yield from _of_json(_content(path), str(path))


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as err:
        raise CorpusError(f"{path}: cannot be read: {err}") from err


def _of_json(data: bytes, place: str) -> Iterator[Study]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as err:
        raise CorpusError(
            f"{place}, line {err.lineno}, column {err.colno}: not JSON ({err.msg})"
        ) from err
    yield from _studies(value, place)


def _studies(value: Any, place: str) -> Iterator[Study]:
    if isinstance(value, dict) and isinstance(value.get("studies"), list):
        value = value["studies"]
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield _study(each, f"{place}, studies[{number}]")
    else:
        yield _study(value, place)


def _study(value: Any, place: str) -> Study:
    if not isinstance(value, dict):
        raise CorpusError(f"{place}: expected a study, a JSON object, got {str(value)[:40]!r}")
    try:
        study = as_study(value)
        study_id(study)
    except (ValueError, TypeError, AttributeError) as err:
        raise CorpusError(f"{place}: {err}") from err
    return study
