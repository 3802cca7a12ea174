"""Figures of evaluations and sweeps as PNG (or SVG, by the file's name)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.corag.report import Mean, Summary
from pipelines.corag.results import STAGES


def draw_comparison(summaries: Sequence[Summary], path: Path) -> Path:
    """ROUGE-L and reward by method and budget with their intervals, what they cost in sequences,
    and where the seconds go."""
    plt = _pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(15, 9), constrained_layout=True)
    _bars(axes[0][0], summaries, "rouge_l", "ROUGE-L F1")
    _bars(axes[0][1], summaries, "reward", "reward")
    _effort(axes[1][0], summaries)
    _stages(axes[1][1], summaries)
    return _save(plt, figure, path)


def draw_sweep(
    name: str, points: Mapping[str, Mapping[str, Mean]], path: Path, *, seconds: Mapping[str, float]
) -> Path:
    """ROUGE-L and reward over the values of one setting (value -> measure -> mean), and the seconds
    of a question."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5), constrained_layout=True)
    values = list(points)
    for axis, measure, title in (
        (axes[0], "rouge_l", "ROUGE-L F1"),
        (axes[1], "reward", "reward"),
    ):
        means = [points[value][measure] for value in values]
        axis.errorbar(range(len(values)), [m.value for m in means], yerr=_errors(means), fmt="o-",
                      capsize=4)  # fmt: skip
        axis.set_ylabel(f"{title}, 95% interval")
    axes[2].plot(range(len(values)), [seconds.get(value, float("nan")) for value in values], "o-")
    axes[2].set_ylabel("seconds a question")
    for axis in axes:
        axis.set_xticks(range(len(values)), values, rotation=30 if len(values) > 5 else 0)
        axis.set_xlabel(name)
        axis.grid(alpha=0.3)
    return _save(plt, figure, path)


def _bars(axis: Any, summaries: Sequence[Summary], measure: str, title: str) -> None:
    budgets = sorted({summary.budget for summary in summaries})
    methods = list(dict.fromkeys(summary.method for summary in summaries))
    width = 0.8 / len(budgets)
    for i, budget in enumerate(budgets):
        found = {s.method: s.measures[measure] for s in summaries if s.budget == budget}
        named = [method for method in methods if method in found]
        means = [found[method] for method in named]
        axis.bar(
            [methods.index(method) + i * width for method in named],
            [m.value for m in means],
            width,
            yerr=_errors(means),
            capsize=2,
            label=f"{budget:,} tokens",
        )
    axis.set_xticks([i + width * (len(budgets) - 1) / 2 for i in range(len(methods))], methods,
                    rotation=30)  # fmt: skip
    axis.set_title(f"{title}, 95% interval")
    axis.legend()
    axis.grid(alpha=0.3, axis="y")


def _effort(axis: Any, summaries: Sequence[Summary]) -> None:
    for method in dict.fromkeys(summary.method for summary in summaries):
        own = [summary for summary in summaries if summary.method == method]
        axis.plot(
            [max(s.sequences, 1) for s in own],
            [s.measures["reward"].value for s in own],
            "o-",
            label=method,
        )
    axis.set_xscale("log")
    axis.set_xlabel("sequences scored a question")
    axis.set_ylabel("reward")
    axis.set_title("What the reward costs (a point a budget)")
    axis.legend()
    axis.grid(alpha=0.3)


def _stages(axis: Any, summaries: Sequence[Summary]) -> None:
    timed = [summary for summary in summaries if summary.total_s]
    left = [0.0] * len(timed)
    for stage in STAGES:
        parts = [summary.seconds[stage] or 0.0 for summary in timed]
        axis.barh([f"{s.method} {s.budget:,}" for s in timed], parts, left=left, label=stage)
        left = [a + b for a, b in zip(left, parts, strict=True)]
    axis.invert_yaxis()
    axis.set_title("Seconds a question by stage")
    if timed:
        axis.legend()


def _errors(means: Sequence[Mean]) -> list[list[float]]:
    return [
        [max(0.0, m.value - m.low) for m in means],
        [max(0.0, m.high - m.value) for m in means],
    ]


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _save(plt: Any, figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
