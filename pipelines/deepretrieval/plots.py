"""Curves of a run as PNG: what figure 2 of the paper shows, and how the policy moved."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cluster.run_dir import read_jsonl
from pipelines.deepretrieval.reward import RECALL_TIERS

SMOOTHING = 8
"""Steps of the running mean drawn over single steps."""


def draw_curves(run: Path, warmup_steps: int, k: int) -> Path | None:
    """Draws `plots/curves.png` from `metrics.jsonl`; None before the first reinforcement step."""
    records = list(read_jsonl(run / "metrics.jsonl"))
    training = [r for r in records if "train/rl_step" in r]
    if not training:
        return None
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(15, 8), constrained_layout=True)
    steps = [r["train/rl_step"] for r in training]
    _lines(axes[0][0], "Mean reward", steps, training, {"reward/mean": "reward"})
    _lines(
        axes[0][1],
        "Wrong answers and format errors (share)",
        steps,
        training,
        {"reward/wrong_share": "wrong answers", "reward/format_error_share": "format errors"},
    )
    tiers = {f"recall/at_least_{tier:g}": f"recall ≥ {tier:g}" for tier, _ in RECALL_TIERS}
    _lines(axes[0][2], "Share of queries above each recall", steps, training, tiers)
    recall = axes[1][0]
    _lines(recall, f"Recall@{k}", steps, training, {"recall/mean": "training tasks"})
    held_out = [r for r in records if "held_out/recall/mean" in r and r["step"] >= warmup_steps]
    if held_out:
        recall.plot(
            [r["step"] - warmup_steps for r in held_out],
            [r["held_out/recall/mean"] for r in held_out],
            "o-",
            color="black",
            label="held-out tasks",
        )
        recall.legend()
    _lines(
        axes[1][1],
        "Policy: entropy, KL (nats a token)",
        steps,
        training,
        {"policy/entropy": "entropy", "policy/kl": "KL to the start"},
    )
    _lines(
        axes[1][2],
        "Seconds a step",
        steps,
        training,
        {"time/generate": "generate", "time/train": "train", "time/sync": "sync"},
    )
    path = run / "plots" / "curves.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """Mean of each value and up to `window - 1` before it."""
    return [
        sum(values[max(0, i - window + 1) : i + 1]) / min(window, i + 1) for i in range(len(values))
    ]


def _lines(
    axis: Any,
    title: str,
    steps: Sequence[float],
    records: Sequence[dict[str, Any]],
    names: dict[str, str],
) -> None:
    for name, label in names.items():
        points = [
            (s, r[name]) for s, r in zip(steps, records, strict=True) if r.get(name) is not None
        ]
        if not points:
            continue
        at, values = zip(*points, strict=True)
        (line,) = axis.plot(at, running_mean(values, SMOOTHING), label=label)
        axis.plot(at, values, color=line.get_color(), alpha=0.25, linewidth=0.8)
    axis.set_title(title)
    axis.set_xlabel("reinforcement step")
    axis.grid(alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend()
