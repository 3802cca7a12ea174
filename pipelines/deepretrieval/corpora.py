"""From the `data` and `search` sections to an index on disk and tasks that fit it."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from actors.search.index import (
    Manifest,
    ShardIndex,
    build_index,
    corpus_hash,
    open_index,
)
from actors.search.index.placing import alone
from actors.search.index.shard import ID
from actors.search.lookup import Atom
from actors.search.types import Record
from configs.schema import DataConfig, RewriterConfig
from pipelines.data.cache import Report, cache_folder
from pipelines.data.failures import CorpusError
from pipelines.data.load import JUDGED, load_records, load_tasks, read_tasks, split_fitting
from pipelines.data.sample import resolve_corpus
from pipelines.data.split import TaskSplit
from pipelines.files import write_whole
from pipelines.progress import Reporter

Opened = TypeVar("Opened")


@dataclass(frozen=True)
class Corpus:
    """What is searched, and what is asked of it."""

    index: Path
    records: int
    split: TaskSplit


def load_corpus(config: RewriterConfig, reporter: Reporter) -> Corpus:
    """The corpus of the configured engine. Raises `CorpusError`, `TaskError` or `FetchError`."""
    if config.search.index:
        return _built(config, reporter)
    load = {"pubmed": _pubmed, "trials": _trials}.get(config.search.engine, _passages)
    return load(config, reporter)


class _Ids:
    """The ids of an index, asked one by one: the whole list may be long."""

    def __init__(self, shards: Sequence[ShardIndex]) -> None:
        self._shards = shards

    def __contains__(self, id: object) -> bool:
        return any(shard.count(Atom((ID,), (str(id),))) for shard in self._shards)


def _built(config: RewriterConfig, reporter: Reporter) -> Corpus:
    folder = Path(config.search.index).expanduser()
    manifest = Manifest.load(folder)
    shards = [open_index(folder, shard=number) for number in range(len(manifest.shards))]
    split = split_fitting(read_tasks(config.data), _Ids(shards), config.data, reporter.say)
    return Corpus(folder, manifest.records, split)


def _pubmed(config: RewriterConfig, reporter: Reporter) -> Corpus:
    records = load_records(config.data, report=reporter.say)
    split = load_tasks(config.data, records, report=reporter.say)
    index = ensure_index(records, config.search.fields, config.data.corpus, reporter.say)
    return Corpus(index, len(records), split)


def _trials(config: RewriterConfig, reporter: Reporter) -> Corpus:
    from actors.search.trials.build import open_trials_index
    from pipelines.data.build_index import build_trials_index
    from pipelines.data.trials_files import trial_items

    paths = [Path(name.strip()).expanduser() for name in config.data.corpus.split("+")]
    files = [path for item in trial_items(paths) for path in item.paths]
    folder = cache_folder() / "indexes" / f"trials-{_digest(_fingerprint(files))}"
    index = _opened_or_built(
        folder,
        lambda: open_trials_index(folder),
        lambda: build_trials_index(paths, folder, workers=1, reporter=reporter),
        reporter.say,
    )
    tasks = read_tasks(config.data)
    split = split_fitting(tasks, set(index.ids), config.data, reporter.say)
    return Corpus(folder, index.size, split)


def _passages(config: RewriterConfig, reporter: Reporter) -> Corpus:
    from pipelines.data.ir_sets import load_ir_set
    from pipelines.ir.engines import EngineMaker
    from pipelines.ir.evaluate import tasks_of

    ir_set = load_ir_set(config.data.corpus)
    maker = EngineMaker(reporter=reporter)
    maker.engine(ir_set, config.search.engine)
    tasks = tasks_of(ir_set) if config.data.tasks == JUDGED else read_tasks(config.data)
    known = {passage.id for passage in ir_set.corpus}
    split = split_fitting(tasks, known, config.data, reporter.say)
    return Corpus(maker.folder(ir_set), len(known), split)


def corpus_index(data: DataConfig, fields: Sequence[str], report: Report) -> Path:
    """The index of the records that `data` names, over `fields`, in the cache folder.

    What was indexed before is recognised by the corpus files' names, sizes and times, so that a
    second search need not read them.
    """
    paths = resolve_corpus(data, report=report)
    name = _digest([_fingerprint(paths), list(fields), data.abstracts_only])
    pointer = cache_folder() / "indexes" / f"{name}.pointer"
    if pointer.exists():
        folder = pointer.parent / pointer.read_text().strip()
        try:
            open_index(folder, fields=fields)
            return folder
        except (OSError, ValueError):
            pass  # of a former version, or damaged: built again below
    records = load_records(data, report=report)
    folder = ensure_index(records, fields, data.corpus, report)
    write_whole(pointer, folder.name)
    return folder


def ensure_index(records: list[Record], fields: Sequence[str], corpus: str, report: Report) -> Path:
    """The index of exactly these records and fields, in the cache folder; built when missing."""
    digest = corpus_hash(records)
    folder = cache_folder() / "indexes" / _digest([digest, list(fields)])

    def build() -> None:
        if not records:
            raise CorpusError(f"corpus {corpus} has no records to index")
        report(f"indexing {len(records):,} records")
        build_index(records, folder, fields=fields, corpus=corpus)

    _opened_or_built(
        folder, lambda: open_index(folder, content_hash=digest, fields=fields), build, report
    )
    return folder


def _opened_or_built(
    folder: Path, open_it: Callable[[], Opened], build: Callable[[], object], report: Report
) -> Opened:
    """The index in `folder`. One process at a time builds it; the others wait and use that one."""
    with suppress(OSError, ValueError):
        return open_it()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.with_name(f"{folder.name}.making")):
        try:
            return open_it()
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            report(f"the index in the cache is not usable and is built again: {error}")
        build()
        return open_it()


def _fingerprint(paths: Sequence[Path]) -> list[list[object]]:
    return [[str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns] for p in paths]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
