"""Tables and figures of an evaluation of step-wise retrieval."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipelines.files import write_whole
from pipelines.realm.metrics import Difference, paired_bootstrap
from pipelines.realm.rows import MEASURES, Row

REFERENCE = "ircot"
"""What other methods are compared with; the first method where it was not run."""


_MARKERS = "osD^vPX"


@dataclass(frozen=True, slots=True)
class Summary:
    """Means of a method over its sound rows; None where nothing can be told."""

    method: str
    questions: int
    left_out: int
    """Questions under which engine or index failed."""
    means: Mapping[str, float | None]
    kept_share: float | None
    hit_rate: float | None
    rsus_share: float | None
    """Seconds of measuring RSUS over those of writing."""
    by_hops: Mapping[int, float]
    """Mean F1 of the questions of so many hops."""
    statuses: Mapping[str, int]
    against: Mapping[str, Difference] = field(default_factory=dict)
    """`f1` and `calls` minus the reference's, on the questions that both have."""


def summarise(rows: Iterable[Row], methods: Sequence[str]) -> list[Summary]:
    """One summary a method, in the order given; methods without rows are left out."""
    grouped: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        grouped[row.method][row.question] = row
    known = [method for method in methods if grouped.get(method)]
    if not known:
        return []
    reference = grouped[REFERENCE if REFERENCE in known else known[0]]
    return [_summary(method, grouped[method], reference) for method in known]


def _summary(method: str, rows: Mapping[str, Row], reference: Mapping[str, Row]) -> Summary:
    sound = {id: row for id, row in rows.items() if row.sound}
    hops: dict[int, list[float]] = defaultdict(list)
    statuses: dict[str, int] = defaultdict(int)
    for row in rows.values():
        statuses[row.status] += 1
    for row in sound.values():
        hops[row.hops].append(row.f1)
    total = {
        name: sum(getattr(row, name) for row in sound.values())
        for name in ("fetched_tokens", "kept_tokens", "cache_hits", "calls", "rsus_s", "write_s")
    }
    both = [id for id in sound if id in reference and reference[id].sound]
    against = {}
    if rows is not reference and both:
        for name in ("f1", "calls"):
            mine = [float(getattr(sound[id], name)) for id in both]
            theirs = [float(getattr(reference[id], name)) for id in both]
            against[name] = paired_bootstrap(mine, theirs)
    return Summary(
        method=method,
        questions=len(sound),
        left_out=len(rows) - len(sound),
        means={name: _mean(getattr(row, name) for row in sound.values()) for name in MEASURES},
        kept_share=_share(total["kept_tokens"], total["fetched_tokens"]),
        hit_rate=_share(total["cache_hits"], total["calls"]),
        rsus_share=_share(total["rsus_s"], total["write_s"]),
        by_hops={count: sum(values) / len(values) for count, values in sorted(hops.items())},
        statuses=dict(statuses),
        against=against,
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def write_report(
    folder: Path,
    about: Mapping[str, Any],
    summaries: Sequence[Summary],
    asked: Sequence[str] = (),
) -> None:
    """Writes `report.md`, `summary.json` (with ids of the questions asked) and `f1_calls.png`."""
    facts: dict[str, Any] = {"about": dict(about), "asked": list(asked)}
    facts["methods"] = [asdict(summary) for summary in summaries]
    write_whole(folder / "summary.json", json.dumps(facts, indent=1))
    write_whole(folder / "report.md", table(about, summaries))
    draw(summaries, folder / "f1_calls.png", str(about.get("reasoner", "")))


def table(about: Mapping[str, Any], summaries: Sequence[Summary]) -> str:
    """The report as Markdown."""
    lines = [f"# {about.get('set', 'Questions')}, reasoner: {about.get('reasoner', '')}", ""]
    lines += [f"- {name}: {value}" for name, value in about.items()] + [""]
    lines.append(
        "| method | EM | F1 | F1 − reference (95%) | calls | − reference | s | tokens | R@5 | "
        "P@5 | MRR | kept | prefetched | RSUS / writing | left out |"
    )
    lines.append("|---|" + "--:|" * 14)
    for s in summaries:
        m = s.means
        f1, calls = s.against.get("f1"), s.against.get("calls")
        gain = f"{f1.mean:+.3f} ({f1.low:+.3f} to {f1.high:+.3f})" if f1 else ""
        fewer = f"{calls.mean:+.2f}" if calls else ""
        lines.append(
            f"| {s.method} | {_n(m['em'])} | {_n(m['f1'])} | {gain} | {_n(m['calls'], 2)} | "
            f"{fewer} | {_n(m['seconds'], 2)} | {_n(m['tokens'], 0)} | {_n(m['recall_at_5'])} | "
            f"{_n(m['precision_at_5'])} | {_n(m['mrr'])} | {_p(s.kept_share)} | {_p(s.hit_rate)} | "
            f"{_p(s.rsus_share)} | {s.left_out} |"
        )
    counts = sorted({count for s in summaries for count in s.by_hops})
    lines += ["", "F1 by hops:", "", "| method |" + "".join(f" {c} |" for c in counts)]
    lines.append("|---|" + "--:|" * len(counts))
    for s in summaries:
        lines.append(f"| {s.method} |" + "".join(f" {_n(s.by_hops.get(c))} |" for c in counts))
    return "\n".join(lines) + "\n"


def _n(value: float | None, places: int = 3) -> str:
    return "" if value is None else f"{value:,.{places}f}"


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def draw(summaries: Sequence[Summary], path: Path, reasoner: str) -> Path:
    """F1 over calls, a point a method."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(9.5, 5.5), constrained_layout=True)
    known = [s for s in summaries if s.means["calls"] is not None and s.means["f1"] is not None]
    for place, summary in enumerate(sorted(known, key=lambda s: -(s.means["f1"] or 0.0))):
        marker = "*" if summary.method.startswith("policy") else _MARKERS[place % len(_MARKERS)]
        axis.plot(
            summary.means["calls"],
            summary.means["f1"],
            marker,
            markersize=15 if marker == "*" else 8,
            color=f"C{place % 10}",
            label=f"{summary.means['f1']:.3f}  {summary.method}",
        )
    axis.legend(title="F1", loc="center left", bbox_to_anchor=(1.0, 0.5))
    axis.set_xlabel("retrievals a question")
    axis.set_ylabel("F1")
    axis.set_title(f"reasoner: {reasoner}" if reasoner else "")
    axis.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
