"""Rankings of an evaluation: their nDCG@10 by trec_eval's rules, and TREC run files."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from actors.search.types import InfraFailure, SearchOutcome, SearchResult
from pipelines.data.task import Task
from pipelines.deepretrieval.failures import EvaluationError
from pipelines.deepretrieval.reward import Score

NDCG = "nDCG@10"


@dataclass(frozen=True, slots=True)
class Entry:
    """One search of an evaluation: the task, the sampling seed, what was found and earned."""

    task: Task
    seed: int
    score: Score
    outcome: SearchOutcome | None


def ndcg(entries: Sequence[Entry]) -> float:
    """Mean nDCG@10 over tasks and seeds, every relevant document counting alike."""
    from pipelines.ir.evaluate import measure_run

    means = []
    for run in _runs(entries).values():
        qrels = {e.task.id: dict.fromkeys(e.task.relevant, 1) for e in entries if e.task.id in run}
        values = measure_run(run, qrels, [NDCG])[NDCG]
        means.append(sum(values.values()) / len(values))
    return sum(means) / len(means)


def write_runs(folder: Path, name: str, entries: Sequence[Entry]) -> list[Path]:
    """One TREC run file a sampling seed, `NAME.SEED.run`; the paths.

    Raises `EvaluationError` where a search failed: in a run file that would read as no hits.
    """
    from pipelines.ir.runs import write_run

    failed = sum(isinstance(entry.outcome, InfraFailure) for entry in entries)
    if failed:
        raise EvaluationError(f"{name}: {failed} searches failed, its run files would be wrong")

    tag = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")
    paths = []
    for seed, run in _runs(entries).items():
        paths.append(folder / f"{tag}.{seed}.run")
        write_run(paths[-1], run, tag)
    return paths


def _runs(entries: Sequence[Entry]) -> dict[int, dict[str, list[tuple[str, float]]]]:
    """By seed and task: hits with their scores; where the order is no score's, 1 / rank."""
    runs: dict[int, dict[str, list[tuple[str, float]]]] = defaultdict(dict)
    for entry in entries:
        hits: list[tuple[str, float]] = []
        if isinstance(entry.outcome, SearchResult):
            ids, scores = entry.outcome.ids, entry.outcome.scores
            if len(scores) != len(ids):
                scores = tuple(1 / rank for rank in range(1, len(ids) + 1))
            hits = list(zip(ids, scores, strict=True))
        runs[entry.seed][entry.task.id] = hits
    return runs
