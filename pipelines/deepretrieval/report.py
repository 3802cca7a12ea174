"""The evaluation table of a run, for the terminal and as `report.md`."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.table import Table

from configs.schema import RewriterConfig
from pipelines.deepretrieval.baselines import BASELINES, FREE_TEXT_BASELINES
from pipelines.deepretrieval.environment import Environment
from pipelines.deepretrieval.evaluate import HUMAN, PSEUDO, TRAINED, UNTRAINED, WARMED_UP, Row

ORDER = (*BASELINES, *FREE_TEXT_BASELINES, HUMAN, PSEUDO, UNTRAINED, WARMED_UP, TRAINED)


def ordered(rows: Mapping[str, Row]) -> list[Row]:
    """Baselines first, then the models in the order of their training."""
    rank = {name: i for i, name in enumerate(dict.fromkeys(ORDER))}
    return sorted(rows.values(), key=lambda row: rank.get(row.name, len(rank)))


def header(row_kinds: Iterable[str], k: int, *, ranks: bool = False) -> list[str]:
    """Column titles; K is always named."""
    measures = [f"Recall@{k}", "± seeds", *row_kinds, *(["nDCG@10"] if ranks else [])]
    return ["query by", *measures, "recall ≥ .5", "format errors", "reward"]


def cells(row: Row, kinds: Iterable[str]) -> list[str]:
    """A row as text."""
    return [
        row.name,
        f"{row.recall:.3f}",
        f"{row.recall_spread:.3f}" if row.seeds > 1 else "",
        *(f"{row.by_kind[kind]:.3f}" if kind in row.by_kind else "" for kind in kinds),
        *([] if row.ndcg is None else [f"{row.ndcg:.3f}"]),
        f"{row.at_least_half:.1%}",
        f"{row.format_errors:.1%}",
        f"{row.reward:+.2f}",
    ]


def kinds_of(rows: Iterable[Row]) -> list[str]:
    """Kinds of tasks, where there are several."""
    kinds = sorted({kind for row in rows for kind in row.by_kind})
    return kinds if len(kinds) > 1 else []


def as_rich(rows: Mapping[str, Row], k: int) -> Table:
    """The table for a terminal of 80 columns; `report.md` has a column for every kind of task."""
    table = Table(title=f"Held-out tasks, first {k} hits", padding=(0, 1), collapse_padding=True)
    ranks = any(row.ndcg is not None for row in rows.values())
    for i, title in enumerate(header([], k, ranks=ranks)):
        title = title.replace("@", " @")  # may break there
        table.add_column(title, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in ordered(rows):
        table.add_row(*cells(row, []), style="bold" if row.name == TRAINED else None)
    return table


def as_markdown(rows: Mapping[str, Row], k: int) -> str:
    """The table as Markdown."""
    lines = ordered(rows)
    kinds = kinds_of(lines)
    titles = header(kinds, k, ranks=any(row.ndcg is not None for row in lines))
    out = [f"| {' | '.join(titles)} |", f"|---|{'--:|' * (len(titles) - 1)}"]
    out += [f"| {' | '.join(cells(row, kinds))} |" for row in lines]
    return "\n".join(out) + "\n"


def write_report(
    run: Path, config: RewriterConfig, rows: Mapping[str, Row], environment: Environment
) -> Path:
    """Writes `report.md`: what was evaluated, on what, and the table."""
    split = environment.split
    text = (
        f"# {run.name}\n\n"
        f"{environment.records:,} records, order `{config.search.resolved_order}`, first "
        f"{config.search.k} hits; {len(split.train)} training tasks, {len(split.test)} held-out "
        f"tasks ({config.data.tasks}); {config.train.final_eval_samples} sampling seeds at "
        f"temperature {config.train.eval_temperature:g}.\n\n{as_markdown(rows, config.search.k)}"
    )
    path = run / "report.md"
    path.write_text(text, encoding="utf-8")
    return path
