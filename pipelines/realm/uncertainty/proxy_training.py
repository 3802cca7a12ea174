"""Trains the proxy for U_verb on pairs.

    training = train_proxy(read_pairs(path), encoder, folder, ProxySettings())

Left out in the paper and chosen here: the loss is cross-entropy with the stated uncertainty as a
soft target, and the epoch of the least validation loss is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster.tracking import JsonlTracker, Trackers, WandbTracker
from pipelines.progress import Reporter, SilentReporter
from pipelines.realm.uncertainty.proxy import NUMBERS, ProxyError, VerbalProxy, numbers
from pipelines.realm.uncertainty.proxy_pairs import ProxyPair
from pipelines.realm.uncertainty.vectors import Encoder, TextVectors
from pipelines.seeds import seed_of
from pipelines.threads import torch_threads

if TYPE_CHECKING:
    import torch

    from pipelines.realm.uncertainty.proxy_network import ProxyNetwork

METRICS, WANDB_MEMORY = "metrics.jsonl", "wandb.json"
SPLITS = ("train", "validation", "test")
_TENTHS = 10


@dataclass(frozen=True)
class ProxySettings:
    """How the proxy is trained."""

    epochs: int = 40
    batch_size: int = 64
    lr: float = 1e-3
    weight_decay: float = 0.01
    seed: int = 0
    """Of the split, the first weights and the order of the rows."""
    wandb: str = "disabled"
    """`online` | `offline` | `disabled`; `metrics.jsonl` is written in any case."""
    project: str = "seekray"

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        out = [
            f"{name}: {getattr(self, name)} is below 1"
            for name in ("epochs", "batch_size")
            if getattr(self, name) < 1
        ]
        if not self.lr > 0:
            out.append(f"lr: {self.lr} is not above 0")
        if not self.weight_decay >= 0:
            out.append(f"weight_decay: {self.weight_decay} is below 0")
        if self.wandb not in ("online", "offline", "disabled"):
            out.append(f"wandb: {self.wandb!r} is not one of online, offline, disabled")
        return out


@dataclass(frozen=True, eq=False)
class ProxyTraining:
    """A finished training. `metrics` has, on held-out chains, `test/mae`, `test/rmse` and
    `test/correlation` (Pearson) of stated and guessed uncertainty, and `test/mae_constant` of
    always guessing the training mean."""

    proxy: VerbalProxy
    folder: Path
    metrics: dict[str, Any]


def split_of(chain: str, seed: int) -> str:
    """`train` (8 of 10 chains), `validation` or `test`: all steps of a chain on one side."""
    tenth = seed_of("proxy split", seed, chain) % _TENTHS
    return SPLITS[0] if tenth < _TENTHS - 2 else SPLITS[tenth - (_TENTHS - 3)]


def train_proxy(
    pairs: Sequence[ProxyPair],
    encoder: Encoder,
    folder: str | Path,
    settings: ProxySettings | None = None,
    reporter: Reporter | None = None,
) -> ProxyTraining:
    """Trains, and leaves the proxy and `metrics.jsonl` in `folder`; a former proxy there is
    replaced at the end. The same pairs, encoder and settings give the same proxy.

    Raises `ProxyError` for impossible settings, or pairs of too few chains for a split.
    """
    settings, reporter = settings or ProxySettings(), reporter or SilentReporter()
    if settings.problems():
        raise ProxyError("proxy training: " + "; ".join(settings.problems()))
    parts = {
        name: [pair for pair in pairs if split_of(pair.chain, settings.seed) == name]
        for name in SPLITS
    }
    empty = [name for name, found in parts.items() if not found]
    if empty:
        raise ProxyError(
            f"{len(pairs)} pairs of {len({pair.chain for pair in pairs})} chains leave none for "
            f"{' and '.join(empty)}: collect from more questions"
        )
    rows = {name: _features(found, encoder) for name, found in parts.items()}
    wanted = {
        name: np.array([1 - pair.confidence for pair in found], dtype=np.float32)
        for name, found in parts.items()
    }
    mean, spread = _standard(rows["train"], encoder.dimension)
    scaled = {name: (found - mean) / spread for name, found in rows.items()}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in (METRICS, WANDB_MEMORY):
        (folder / old).unlink(missing_ok=True)
    trackers = Trackers(
        JsonlTracker(folder / METRICS),
        WandbTracker(folder, settings.wandb, settings.project, config=asdict(settings)),
    )
    network = _network(rows["train"].shape[1], settings.seed)
    best_loss, best_epoch, best_weights = float("inf"), 0, None
    try:
        with torch_threads(1), reporter.bar("proxy", settings.epochs) as bar:
            for epoch, measured in _epochs(network, scaled, wanted, settings):
                trackers.log(epoch, measured)
                bar.update(epoch, f"validation loss {measured['validation/loss']:.4f}")
                if measured["validation/loss"] < best_loss:
                    best_loss, best_epoch = measured["validation/loss"], epoch
                    best_weights = {k: v.clone() for k, v in network.state_dict().items()}
    finally:
        trackers.close()
    if best_weights is None:
        raise ProxyError("no epoch had a finite validation loss: lower lr")
    network.load_state_dict(best_weights)
    proxy = VerbalProxy(network.eval(), TextVectors(encoder), mean, spread)
    metrics = {
        "epoch": best_epoch,
        **{f"pairs/{name}": len(found) for name, found in parts.items()},
        "validation/loss": best_loss,
        **_tested(proxy.predict(rows["test"]), wanted["test"], float(wanted["train"].mean())),
        "settings": asdict(settings),
    }
    proxy = VerbalProxy(proxy.network, proxy.vectors, mean, spread, metrics)
    proxy.save(folder)
    reporter.say(
        f"proxy: mean error {metrics['test/mae']:.3f} on held-out chains "
        f"({metrics['test/mae_constant']:.3f} for the mean alone), "
        f"correlation {metrics['test/correlation']:.2f}"
    )
    return ProxyTraining(proxy, folder, metrics)


def _features(pairs: Sequence[ProxyPair], encoder: Encoder) -> np.ndarray:
    """(pairs, dimension + 4) float32, not standardised."""
    vectors, _ = encoder.embed_queries([pair.text for pair in pairs])
    beside = [numbers(pair.text, pair.entities, pair.recent) for pair in pairs]
    return np.hstack([vectors, np.array(beside, dtype=np.float32)])


def _standard(train: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and spread of each feature. The embedding has one spread for all its places, so that
    its geometry stays and a place that seldom differs from 0 is not blown up."""
    mean = train.mean(axis=0)
    spread = train.std(axis=0)
    spread[:dimension] = np.sqrt(np.square(spread[:dimension]).mean())
    spread[spread < 1e-6] = 1.0
    assert len(spread) == dimension + len(NUMBERS)
    return mean, spread


def _network(width: int, seed: int) -> "ProxyNetwork":
    import torch

    from pipelines.realm.uncertainty.proxy_network import ProxyNetwork

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ProxyNetwork(width)


def _epochs(
    network: "ProxyNetwork",
    rows: dict[str, np.ndarray],
    wanted: dict[str, np.ndarray],
    settings: ProxySettings,
) -> Iterator[tuple[int, dict[str, float]]]:
    """Yields (epoch from 1, its losses). The training loss is the mean over the epoch's rows."""
    import torch
    from torch.nn import functional

    def loss_of(features: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        return functional.binary_cross_entropy_with_logits(network(features), targets)

    held = {name: (torch.from_numpy(rows[name]), torch.from_numpy(wanted[name])) for name in rows}
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=settings.lr, weight_decay=settings.weight_decay
    )
    draw = torch.Generator().manual_seed(settings.seed)
    features, targets = held["train"]
    for epoch in range(1, settings.epochs + 1):
        network.train()
        total = 0.0
        for chosen in torch.randperm(len(targets), generator=draw).split(settings.batch_size):
            loss = loss_of(features[chosen], targets[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(chosen)
        network.eval()
        with torch.inference_mode():
            validation = float(loss_of(*held["validation"]))
        yield epoch, {"train/loss": total / len(targets), "validation/loss": validation}


def _tested(guessed: np.ndarray, stated: np.ndarray, constant: float) -> dict[str, float]:
    errors = guessed - stated
    both = min(guessed.std(), stated.std()) > 0
    return {
        "test/mae": float(np.abs(errors).mean()),
        "test/rmse": float(np.sqrt(np.square(errors).mean())),
        "test/correlation": float(np.corrcoef(guessed, stated)[0, 1]) if both else 0.0,
        "test/mae_constant": float(np.abs(stated - constant).mean()),
    }
