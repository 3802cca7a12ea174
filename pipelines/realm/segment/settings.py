"""What a training run of the segmenter depends on."""

from dataclasses import dataclass, field
from pathlib import Path

from pipelines.data.cache import cache_folder
from pipelines.realm.segment.opening import FOLDER, SegmenterError


@dataclass(frozen=True)
class SegmenterSettings:
    """Sizes are the paper's where it gives them."""

    data: str
    """Labelled traces (see `data.py`): split by trace into train, dev and test."""
    extra: str = ""
    """More labelled traces, of noisy labels, learned from first; none of them is tested on."""
    out: str = ""
    """The segmenter's folder; empty for `realm-segmenter` in the user's cache."""
    seed: int = 0
    split_seed: int = 0
    hidden: int = 256
    layers: int = 3
    heads: int = 4
    feed_forward: int = 512
    window: int = 128
    stride: int = 64
    vocabulary: int = 4096
    """Subwords at most."""
    look_ahead: int = 16
    """Tokens from a candidate on that decide. More tell no more (dev F1 .669; .668 with 31), and
    what is written behind a boundary is lost where evidence is put in. With the `LOOK_AHEAD`
    characters that tell a candidate, 17 of SmolLM2's tokens on average and 30 at most."""
    pooled: int = 31
    """Tokens before and behind a candidate whose states are averaged for it."""
    dropout: float = 0.2
    token_dropout: float = 0.15
    """Share of the tokens that are hidden in training: words of a dozen traces are soon known by
    heart."""
    batch_size: int = 32
    """Windows."""
    extra_stride: int = 112
    """On `extra` traces: long ones that need not be read twice."""
    extra_epochs: int = 1
    epochs: int = 10
    extra_rate: float = 5e-4
    rate: float = 3e-4
    """The paper's 5e-5 belongs to 2,847 traces; a dozen give too few steps for it."""
    decay: float = 0.01
    warm_up: float = 0.05
    """Share of each stage."""
    clip: float = 1.0
    label_weight: float = 0.5
    """Of the loss of telling sentences' labels, beside the boundaries' cross-entropy."""
    threads: int = 2
    wandb: str = "disabled"
    project: str = "seekray"
    tolerances: tuple[int, ...] = field(default=(0, 16))
    """Characters that a boundary may be off, for the measures."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        least = {
            "hidden": 1,
            "layers": 1,
            "heads": 1,
            "feed_forward": 1,
            "window": 16,
            "stride": 1,
            "extra_stride": 1,
            "vocabulary": 300,
            "look_ahead": 1,
            "pooled": 1,
            "batch_size": 1,
            "epochs": 1,
            "extra_epochs": 0,
            "threads": 0,
            "label_weight": 0,
            "decay": 0,
            "warm_up": 0,
            "dropout": 0,
            "token_dropout": 0,
        }
        out = [
            f"{name}: {getattr(self, name)} is below {bound}"
            for name, bound in least.items()
            if not getattr(self, name) >= bound
        ]
        out += [
            f"{name}: {getattr(self, name)} is not above 0"
            for name in ("rate", "extra_rate", "clip")
            if not getattr(self, name) > 0
        ]
        if self.heads >= 1 and self.hidden % self.heads:
            out.append(f"hidden: {self.hidden} is no multiple of {self.heads} heads")
        out += [
            f"{name}: {getattr(self, name)} leaves gaps between windows of {self.window} tokens"
            for name in ("stride", "extra_stride")
            if getattr(self, name) > self.window - 8
        ]
        if self.look_ahead >= self.window:
            out.append(f"look_ahead: {self.look_ahead} is not inside a window of {self.window}")
        out += [
            f"{name}: {getattr(self, name)} is not below 1"
            for name in ("warm_up", "dropout", "token_dropout")
            if not getattr(self, name) < 1
        ]
        if self.wandb not in ("online", "offline", "disabled"):
            out.append(f"wandb: {self.wandb!r} is not one of online, offline, disabled")
        return out

    def __post_init__(self) -> None:
        if problems := self.problems():
            raise SegmenterError("segmenter training: " + "; ".join(problems))

    @property
    def folder(self) -> Path:
        """Where the segmenter goes."""
        return Path(self.out).expanduser() if self.out else cache_folder() / FOLDER
