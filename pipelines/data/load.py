"""From the `data` section of a configuration to records and tasks."""

import random
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path

from actors.search.types import Record
from configs.schema import DataConfig
from pipelines.data.failures import CorpusError
from pipelines.data.mesh_tasks import mesh_pair_tasks, mesh_pico_tasks
from pipelines.data.pubmed_xml import Report
from pipelines.data.query_files import read_corpus, read_query_file
from pipelines.data.sample import resolve_corpus
from pipelines.data.split import TaskSplit, split_tasks
from pipelines.data.task import Task

_MADE = {"mesh-pico": mesh_pico_tasks, "mesh-pairs": mesh_pair_tasks}


JUDGED = "judged"
"""`data.tasks` for the queries that come with an IR collection."""


class TaskError(ValueError):
    """Tasks that cannot be used with this corpus; the message says why."""


def load_records(
    config: DataConfig, cache: str | Path | None = None, report: Report | None = None
) -> list[Record]:
    """The records that `data.corpus` names. Raises `CorpusError` or `FetchError`."""
    paths = resolve_corpus(config, cache, report)
    return read_corpus(paths, report, abstracts_only=config.abstracts_only)


def load_tasks(
    config: DataConfig, records: Sequence[Record], report: Report | None = None
) -> TaskSplit:
    """The tasks that `data.tasks` names, fitted to the indexed `records` and split.

    Relevant ids that are not among the records are dropped and counted, and so are tasks left
    without any. `data.max_test_tasks` then cuts the test set at random. Raises `TaskError` when no
    task is left for training or for the test, `CorpusError` for a query file that cannot be read.
    """
    found = [task for name in config.tasks.split("+") for task in _named(name.strip(), records)]
    if not found:
        raise TaskError(f"data.tasks: the records' indexing makes no {config.tasks} task")
    return split_fitting(found, {record.id for record in records}, config, report)


def read_tasks(config: DataConfig) -> list[Task]:
    """The tasks of the query files that `data.tasks` names. Raises `CorpusError`."""
    return [task for name in config.tasks.split("+") for task in _of_file(name.strip())]


def split_fitting(
    found: Sequence[Task], ids: Container[str], config: DataConfig, report: Report | None = None
) -> TaskSplit:
    """`found`, fitted to the indexed `ids` and split, the test set cut to `data.max_test_tasks`."""
    tasks, empty, missing = fit(found, ids)
    if not tasks:
        raise TaskError(
            f"data.tasks: none of the relevant records of {config.tasks} is in the corpus "
            f"{config.corpus} ({len(found)} tasks, {missing} ids): do they belong together?"
        )
    split = split_tasks(tasks, config.test_fraction, config.split_seed)
    test = split.test
    if not split.train or not test:
        raise TaskError(
            f"data.tasks: {len(tasks)} tasks of {config.tasks} are too few, or too entangled, to "
            f"hold out {config.test_fraction} of them ({len(split.train)} left for training, "
            f"{len(test)} for the test)"
        )
    if 0 < config.max_test_tasks < len(test):
        drawn = random.Random(config.split_seed).sample(range(len(test)), config.max_test_tasks)
        test = [test[i] for i in sorted(drawn)]
    if report:
        report(
            f"tasks: {len(split.train)} to train on, {len(test)} held out, {split.dropped} dropped "
            f"by the split, {empty} without relevant records ({missing} relevant ids missing)"
        )
    return replace(split, test=test, empty=empty, missing=missing)


def fit(tasks: Sequence[Task], ids: Container[str]) -> tuple[list[Task], int, int]:
    """Keep only relevant ids in `ids`: (tasks that still have some, tasks lost, ids lost)."""
    kept, missing = [], 0
    for task in tasks:
        there = frozenset(id for id in task.relevant if id in ids)
        missing += len(task.relevant) - len(there)
        if there:
            kept.append(replace(task, relevant=there))
    return kept, len(tasks) - len(kept), missing


def _named(name: str, records: Sequence[Record]) -> list[Task]:
    if name in _MADE:
        return _MADE[name](records)
    return _of_file(name)


def _of_file(name: str) -> list[Task]:
    path = Path(name).expanduser()
    if not path.is_file():
        known = ", ".join((*_MADE, JUDGED))
        raise CorpusError(f"data.tasks: {name!r} is neither {known} nor a query file")
    return read_query_file(path)
