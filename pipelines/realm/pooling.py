"""Several evaluations, of different seeds say, as one table."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.run_dir import read_jsonl
from pipelines.realm.report import Summary, summarise, write_report
from pipelines.realm.rows import Row, read_row
from pipelines.row_file import ResultsError

SAME = ("set", "split", "passages", "reasoner", "engine", "search", "seconds")
"""What pooled evaluations must have in common."""


def pool_runs(runs: Sequence[Path], out: Path) -> list[Summary]:
    """Pools the last evaluation of each folder and writes the report to `out`. A question counts
    once a run. Raises `ResultsError` for a folder without one, and for evaluations that cannot be
    compared."""
    if len({run.resolve() for run in runs}) < len(runs):
        raise ResultsError("the same folder is given twice: every evaluation may count once")
    rows: list[Row] = []
    methods: dict[str, None] = {}
    first: dict[str, Any] = {}
    questions = 0
    for number, run in enumerate(runs):
        about, names, asked = _summary(run)
        common = {name: about.get(name) for name in SAME}
        if first and common != first:
            other = next(name for name in SAME if common[name] != first[name])
            raise ResultsError(
                f"{run}: {other} is {common[other]!r}, that of {runs[0]} is {first[other]!r}"
            )
        first = common
        questions += int(about["questions"])
        methods |= dict.fromkeys(names)
        found = (read_row(record) for record in read_jsonl(run / "rows.jsonl"))
        rows += [
            replace(row, question=f"{number}/{row.question}")
            for row in found
            if row is not None
            and row.setup == about["setup"]
            and row.method in names
            and row.question in asked
        ]
    summaries = summarise(rows, list(methods))
    out.mkdir(parents=True, exist_ok=True)
    write_report(out, {**first, "runs": len(runs), "questions": questions}, summaries)
    return summaries


def _summary(run: Path) -> tuple[dict[str, Any], list[str], set[str]]:
    try:
        told = json.loads((run / "summary.json").read_text(encoding="utf-8"))
        methods = [each["method"] for each in told["methods"]]
        return told["about"], methods, set(told["asked"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(
            f"{run}: no finished evaluation there ({error}): run `seekray realm evaluate` first"
        ) from error
