"""The table of an evaluation: means with their intervals, and differences against NaiveRAG."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pipelines.corag.methods import METHODS
from pipelines.corag.results import STAGES, Row
from pipelines.files import write_whole
from pipelines.ir.significance import bootstrap_interval, randomisation_p

if TYPE_CHECKING:
    from rich.table import Table

MEASURES = ("rouge_1", "rouge_2", "rouge_l", "reward")
REFERENCE = "naive"
HONEST = (
    "Sequences are the different orders a method asked scores of. Scores and answers are shared "
    "between methods; seconds are what a method would take by itself: its sequences (its answer's "
    "tokens) at the pace measured where they were really scored (written)."
)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over questions with its 95% bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean difference to NaiveRAG on the same questions, its 95% interval, and the p of the paired
    randomisation test (two-sided)."""

    value: float
    low: float
    high: float
    p: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


@dataclass(frozen=True, slots=True)
class Summary:
    """A method under a budget. `seconds` a question by stage, None where unknown; `over_budget`
    counts answers whose chunks cost more than the budget: 0, or something is broken."""

    method: str
    budget: int
    questions: int
    measures: Mapping[str, Mean]
    against: Mapping[str, Difference]
    tokens: float
    chunks: float
    prompt_tokens: float
    sequences: float
    truncated: float
    cited: float
    over_budget: int
    seconds: Mapping[str, float | None]

    @property
    def total_s(self) -> float | None:
        """Seconds a question, if all stages are known."""
        parts = [part for part in self.seconds.values() if part is not None]
        return sum(parts) if parts and len(parts) == len(self.seconds) else None

    @property
    def shares(self) -> dict[str, float]:
        """Each stage's share of the seconds; empty where they are not known."""
        total = self.total_s
        return {stage: (s or 0.0) / total for stage, s in self.seconds.items()} if total else {}


def summarise(rows: Iterable[Row], *, reference: str = REFERENCE) -> list[Summary]:
    """One summary for each method and budget, budgets ascending, methods in their usual order."""
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.budget, row.method), []).append(row)
    place = {name: i for i, name in enumerate(METHODS)}
    order = sorted(groups, key=lambda group: (group[0], place.get(group[1], len(place)), group[1]))
    return [
        _summary(groups[group], groups.get((group[0], reference), []), reference) for group in order
    ]


def _summary(rows: Sequence[Row], others: Sequence[Row], reference: str) -> Summary:
    first = rows[0]
    against = {}
    if others and first.method != reference:
        questions = {r.question for r in rows} & {r.question for r in others}
        for name in MEASURES if questions else ():
            mine, theirs = (
                {r.question: getattr(r, name) for r in side if r.question in questions}
                for side in (rows, others)
            )
            against[name] = _difference(mine, theirs)
    return Summary(
        method=first.method,
        budget=first.budget,
        questions=len(rows),
        measures={name: mean([getattr(row, name) for row in rows]) for name in MEASURES},
        against=against,
        tokens=fmean(row.cost for row in rows),
        chunks=fmean(len(row.chunks) for row in rows),
        prompt_tokens=fmean(row.prompt_tokens for row in rows),
        sequences=fmean(row.sequences for row in rows),
        truncated=fmean(row.truncated for row in rows),
        cited=fmean(bool(row.citations) for row in rows),
        over_budget=sum(row.cost > row.budget for row in rows),
        seconds={stage: _known_mean(row.seconds.get(stage) for row in rows) for stage in STAGES},
    )


def mean(values: Sequence[float]) -> Mean:
    """The mean of a value per question, with its interval."""
    keyed = {str(i): value for i, value in enumerate(values)}
    low, high = bootstrap_interval(keyed, dict.fromkeys(keyed, 0.0))
    return Mean(fmean(values), low, high)


def _difference(mine: Mapping[str, float], theirs: Mapping[str, float]) -> Difference:
    low, high = bootstrap_interval(mine, theirs)
    value = fmean(mine[question] - theirs[question] for question in mine)
    return Difference(value, low, high, randomisation_p(mine, theirs))


def _known_mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def read_report(path: Path) -> list[Summary]:
    """The table of a `report.json`."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    out = []
    for row in rows:
        row.pop("shares")
        row["measures"] = {name: Mean(**mean) for name, mean in row["measures"].items()}
        row["against"] = {name: Difference(**each) for name, each in row["against"].items()}
        out.append(Summary(**row))
    return out


TITLES = (
    "budget", "method", "ROUGE-1", "ROUGE-2", "ROUGE-L", "95%", "ROUGE-L - naive", "p", "reward",
    "tokens", "sequences", "seconds", *STAGES,
)  # fmt: skip


def cells(summary: Summary) -> list[str]:
    """A summary as the texts of a table's row."""
    rouge_l, against = summary.measures["rouge_l"], summary.against.get("rouge_l")
    total, shares = summary.total_s, summary.shares
    return [
        f"{summary.budget:,}",
        summary.method,
        *(f"{summary.measures[name].value:.3f}" for name in ("rouge_1", "rouge_2", "rouge_l")),
        f"{rouge_l.low:.3f} to {rouge_l.high:.3f}",
        "" if against is None else str(against),
        "" if against is None else f"{against.p:.3f}",
        f"{summary.measures['reward'].value:.3f}",
        f"{summary.tokens:,.0f}",
        f"{summary.sequences:,.0f}",
        "" if total is None else f"{total:.2f}",
        *(f"{shares[stage]:.0%}" if stage in shares else "" for stage in STAGES),
    ]


def as_markdown(summaries: Sequence[Summary]) -> str:
    """The table as Markdown."""
    lines = [f"| {' | '.join(TITLES)} |", f"|--:|---|{'--:|' * (len(TITLES) - 2)}"]
    lines += [f"| {' | '.join(cells(summary))} |" for summary in summaries]
    return "\n".join(lines) + "\n"


def as_rich(summaries: Sequence[Summary]) -> "Table":
    """The table for a terminal, without the stages."""
    from rich.table import Table

    shown = [i for i, title in enumerate(TITLES) if title not in (*STAGES, "95%", "p")]
    questions = max((summary.questions for summary in summaries), default=0)
    table = Table(title=f"{questions} questions", padding=(0, 1), collapse_padding=True)
    for i in shown:
        table.add_column(TITLES[i], justify="left" if TITLES[i] == "method" else "right")
    for summary in summaries:
        row = cells(summary)
        table.add_row(*(row[i] for i in shown), style="bold" if summary.method == "corag" else None)
    return table


def write_report(
    folder: Path, about: Mapping[str, Any], summaries: Sequence[Summary]
) -> tuple[Path, Path]:
    """Writes `report.md` and `report.json`: what was evaluated, on what, and the table."""
    facts = "".join(f"- {name}: {value}\n" for name, value in about.items())
    over = sum(summary.over_budget for summary in summaries)
    text = (
        f"# {folder.name}\n\n{facts}- answers whose chunks cost more than the budget: {over}\n\n"
        f"{as_markdown(summaries)}\n{HONEST}\n"
    )
    markdown, data = folder / "report.md", folder / "report.json"
    write_whole(markdown, text)
    rows = [{**dataclasses.asdict(s), "shares": s.shares} for s in summaries]
    write_whole(data, json.dumps({"about": dict(about), "rows": rows}, indent=1) + "\n")
    return markdown, data
