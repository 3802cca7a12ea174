"""Losses of the agent's training as PNG."""

from pathlib import Path

from cluster.run_dir import read_jsonl

PARTS = ("total", "contrastive", "reranker", "settings")


def draw_losses(metrics: Path, path: Path, best_epoch: int) -> Path:
    """Draws each loss over epochs, training and validation, with the epoch that was kept."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    records = list(read_jsonl(metrics))
    figure, axes = plt.subplots(1, len(PARTS), figsize=(16, 3.6), constrained_layout=True)
    for axis, part in zip(axes, PARTS, strict=True):
        for kind in ("train", "validation"):
            at = [record["step"] for record in records]
            axis.plot(at, [record[f"{kind}/{part}"] for record in records], label=kind)
        axis.axvline(best_epoch, color="black", linewidth=0.8, linestyle=":", label="kept")
        axis.set_title(part)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("loss")
    axes[0].legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
