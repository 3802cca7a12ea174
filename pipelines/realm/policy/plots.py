"""Curves of a policy's training."""

from pathlib import Path

from cluster.run_dir import read_jsonl

_PANELS = (
    ("F1", ("train/f1", "evaluation/f1")),
    ("retrievals a question", ("train/calls", "evaluation/calls")),
    ("reward", ("train/reward", "evaluation/objective")),
    ("entropy, nats", ("learner/entropy",)),
)


def draw_training(metrics: Path, path: Path) -> Path:
    """F1, calls, reward and entropy over the updates, as in `metrics.jsonl`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows = list(read_jsonl(metrics))
    figure, axes = plt.subplots(1, len(_PANELS), figsize=(17, 4), constrained_layout=True)
    for axis, (title, names) in zip(axes, _PANELS, strict=True):
        for name in names:
            points = [(row["step"], row[name]) for row in rows if name in row and "step" in row]
            if points:
                style = "o-" if name.startswith("evaluation") else "-"
                axis.plot(*zip(*points, strict=True), style, label=name, alpha=0.8)
        axis.set_title(title)
        axis.set_xlabel("update")
        if axis.lines:
            axis.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
