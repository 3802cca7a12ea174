"""What an evaluation leaves: run files, values of each query, a summary, a table."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from pipelines.files import write_whole
from pipelines.ir.evaluate import Evaluation
from pipelines.ir.failures import IREvaluationError
from pipelines.ir.runs import write_run
from pipelines.ir.significance import bootstrap_interval, randomisation_p


def check_names(sets: Sequence[Path]) -> None:
    """Raises `IREvaluationError` for two folders of one name: what one leaves would replace the
    other's."""
    seen: dict[str, Path] = {}
    for folder in sets:
        name = folder.resolve().name
        if name in seen:
            raise IREvaluationError(
                f"two sets are named {name!r}: {seen[name]} and {folder}; evaluate each with its "
                "own --out"
            )
        seen[name] = folder


def write_evaluation(evaluation: Evaluation, folder: str | Path) -> Path:
    """Write `SET/ENGINE.run` and `SET/ENGINE.jsonl` (a query a line) below `folder`."""
    target = Path(folder) / evaluation.set_name
    target.mkdir(parents=True, exist_ok=True)
    write_run(target / f"{evaluation.engine}.run", evaluation.run, evaluation.engine)
    measures = list(evaluation.values)
    lines = []
    for query in evaluation.values[measures[0]]:
        row: dict[str, Any] = {"query": query}
        row |= {name: evaluation.values[name][query] for name in measures}
        row["hits"] = len(evaluation.run.get(query, ()))
        if query in evaluation.query_errors:
            row["error"] = evaluation.query_errors[query]
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    write_whole(target / f"{evaluation.engine}.jsonl", "".join(lines))
    return target


def summary(evaluations: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """One row a set and engine. `against` compares the first measure with the set's first engine.

    p is of the paired randomisation test, the interval of the paired bootstrap (95%).
    """
    rows: list[dict[str, Any]] = []
    first: dict[str, Evaluation] = {}
    for one in evaluations:
        base = first.setdefault(one.set_name, one)
        row: dict[str, Any] = {
            "set": one.set_name,
            "engine": one.engine,
            "queries": one.queries,
            "k": one.k,
            **one.means,
            "query_errors": len(one.query_errors),
            "relevant_not_in_corpus": one.absent,
        }
        if base is not one:
            measure = next(iter(one.values))
            ours, theirs = one.values[measure], base.values[measure]
            low, high = bootstrap_interval(ours, theirs)
            row["against"] = {
                "engine": base.engine,
                "measure": measure,
                "difference": one.means[measure] - base.means[measure],
                "interval": [low, high],
                "p": randomisation_p(ours, theirs),
            }
        rows.append(row)
    return rows


def write_summary(rows: Sequence[dict[str, Any]], folder: str | Path) -> Path:
    """Write `summary.json` into `folder`."""
    path = Path(folder) / "summary.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(list(rows), indent=1, ensure_ascii=False) + "\n")
    return path


def table(rows: Sequence[dict[str, Any]], measures: Sequence[str]) -> Table:
    """The summary for a terminal."""
    made = Table(box=None, pad_edge=False, padding=(0, 1))
    made.add_column("set", no_wrap=True)  # the one that is cut on a narrow terminal
    made.add_column("engine", no_wrap=True, min_width=6)
    for name in ("queries", *measures):
        made.add_column(name, justify="right", no_wrap=True, min_width=max(6, len(name)))
    for row in rows:
        values = [f"{row[name]:.4f}" for name in measures]
        made.add_row(row["set"], row["engine"], str(row["queries"]), *values)
    return made


def comparisons(rows: Sequence[dict[str, Any]]) -> list[str]:
    """One line for each engine that was compared with its set's first."""
    lines = []
    for row in rows:
        if against := row.get("against"):
            low, high = against["interval"]
            lines.append(
                f"{row['set']}: {row['engine']} against {against['engine']}, "
                f"{against['measure']} {against['difference']:+.4f} "
                f"(95% {low:+.4f} to {high:+.4f}, p = {against['p']:.4f})"
            )
    return lines
