"""Trains the configuration agent on labels.

    training = train_agent(read_labels(path), embedder, space, folder, AgentSettings())

Left out: the paper does not say which epoch is kept; here it is the one of the least validation
loss.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster.tracking import JsonlTracker, Trackers, WandbTracker
from pipelines.corag.agent import AgentError, ConfigurationAgent, EncoderFacts, QueryEncoder
from pipelines.corag.agent_comparison import ORACLE, compare, methods, nearest_label, oracle
from pipelines.corag.agent_data import Split, Target, split_queries, targets
from pipelines.corag.labels import Label, LabelError
from pipelines.corag.space import SearchSpace
from pipelines.progress import Reporter, SilentReporter
from pipelines.threads import torch_threads

if TYPE_CHECKING:
    import torch

    from pipelines.corag.agent_network import AgentNetwork

METRICS, WANDB_MEMORY, PLOT = "metrics.jsonl", "wandb.json", "losses.png"


@dataclass(frozen=True)
class AgentSettings:
    """How the agent is trained; the paper's values."""

    epochs: int = 60
    batch_size: int = 32
    lr: float = 1e-3
    margin: float = 1.0
    """Of the contrastive loss."""
    seed: int = 0
    """Of the split, the first weights and the order of the rows."""
    least_gap: float = 0.10
    """Only queries are learned from whose ROUGE-L differs by more than this between the best and
    the worst reranker, each at its best settings."""
    relative: bool = True
    """`least_gap` is a share of the best reranker's ROUGE-L; False: points of ROUGE-L. The paper
    does not say which."""
    wandb: str = "disabled"
    """`online` | `offline` | `disabled`; `metrics.jsonl` is written in any case."""
    project: str = "seekray"

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        least = (("epochs", 1), ("batch_size", 2), ("least_gap", 0))
        out = [
            f"{name}: {getattr(self, name)} is below {bound}"
            for name, bound in least
            if not getattr(self, name) >= bound
        ]
        out += [
            f"{name}: {getattr(self, name)} is not above 0"
            for name in ("lr", "margin")
            if not getattr(self, name) > 0
        ]
        if self.wandb not in ("online", "offline", "disabled"):
            out.append(f"wandb: {self.wandb!r} is not one of online, offline, disabled")
        return out


@dataclass(frozen=True, eq=False)
class AgentTraining:
    """A finished training: the agent of the best epoch, the split of all labelled queries, and how
    many of them were learned from."""

    agent: ConfigurationAgent
    folder: Path
    split: Split
    metrics: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Vectors (n, dimension), best rerankers (n,) int64, wanted settings (n, 3)."""

    vectors: "torch.Tensor"
    best: "torch.Tensor"
    wanted: "torch.Tensor"

    def __len__(self) -> int:
        return len(self.best)

    def take(self, rows: "torch.Tensor") -> "_Rows":
        return _Rows(self.vectors[rows], self.best[rows], self.wanted[rows])


def train_agent(
    labels: Sequence[Label],
    encoder: QueryEncoder,
    space: SearchSpace,
    folder: str | Path,
    settings: AgentSettings | None = None,
    reporter: Reporter | None = None,
) -> AgentTraining:
    """Trains, and leaves agent, `metrics.jsonl` and `losses.png` in `folder`; a former agent there
    is replaced at the end. The same labels, encoder and settings give the same agent.

    Raises `LabelError` for labels that cannot be split or do not fit the space, `AgentError` for
    impossible settings or too few queries to learn from.
    """
    settings, reporter = settings or AgentSettings(), reporter or SilentReporter()
    if settings.problems():
        raise AgentError("agent training: " + "; ".join(settings.problems()))
    split = split_queries(_text(labels), settings.seed)
    parts = {
        name: targets(labels, space, queries, split.train)
        for name, queries in (("train", split.train), ("validation", split.validation))
    }
    kept = {
        name: [row for row in found if row.differs(settings.least_gap, settings.relative)]
        for name, found in parts.items()
    }
    counts = {f"queries/{name}": len(queries) for name, queries in asdict(split).items()} | {
        f"queries/{name}_kept": len(rows) for name, rows in kept.items()
    }
    if len(kept["train"]) < 2:
        raise AgentError(
            f"{len(kept['train'])} of {len(split.train)} training queries differ by over "
            f"{settings.least_gap:.0%} between rerankers: label more, or lower least_gap"
        )
    if not kept["validation"]:
        reporter.say("no validation query differs between rerankers: all of them are validated on")
        kept["validation"] = parts["validation"]
    rows = {name: _rows(found, encoder, space) for name, found in kept.items()}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in (METRICS, WANDB_MEMORY):
        (folder / old).unlink(missing_ok=True)
    trackers = Trackers(
        JsonlTracker(folder / METRICS),
        WandbTracker(folder, settings.wandb, settings.project, config=asdict(settings)),
    )
    best_loss, best_epoch, best_weights = float("inf"), 0, None
    network = _network(encoder.dimension, len(space.rerankers), settings.seed)
    try:
        with (
            torch_threads(1),
            reporter.bar("configuration agent", settings.epochs) as bar,
        ):
            for epoch, measured in _epochs(network, rows, settings):
                trackers.log(epoch, measured)
                bar.update(epoch, f"validation loss {measured['validation/total']:.4f}")
                if measured["validation/total"] < best_loss:
                    best_loss, best_epoch = measured["validation/total"], epoch
                    best_weights = {k: v.clone() for k, v in network.state_dict().items()}
                    best = measured
    finally:
        trackers.close()
    if best_weights is None:
        raise AgentError("no epoch had a finite validation loss: look at the encoder's vectors")
    network.load_state_dict(best_weights)
    metrics = {**counts, "epoch": best_epoch, "settings": asdict(settings), **best}
    agent = ConfigurationAgent(network.eval(), space, EncoderFacts.of(encoder), metrics)
    metrics |= _tested(agent, labels, split, encoder, reporter)
    agent.save(folder)

    from pipelines.corag.agent_plot import draw_losses

    draw_losses(folder / METRICS, folder / PLOT, best_epoch)
    return AgentTraining(agent, folder, split, metrics)


def _tested(
    agent: ConfigurationAgent,
    labels: Sequence[Label],
    split: Split,
    encoder: QueryEncoder,
    reporter: Reporter,
) -> dict[str, float]:
    """`test/...`: the agent and its baselines on all test queries, by the nearest labels."""
    texts = _text(labels)
    vectors, _ = encoder.embed_queries([texts[query] for query in split.test])
    chosen = methods(agent, vectors, labels, split.train, split.test)
    chosen[ORACLE] = oracle(labels, split.test)
    try:
        return compare(chosen, nearest_label(labels, agent.space)).flat("test")
    except LabelError as error:
        reporter.say(f"not compared on the test queries: {error}")
        return {}


def _text(labels: Sequence[Label]) -> dict[str, str]:
    return {label.query: label.text for label in labels}


def _rows(found: Sequence[Target], encoder: QueryEncoder, space: SearchSpace) -> _Rows:
    import torch

    vectors, _ = encoder.embed_queries([row.text for row in found])
    best = [space.index(row.configuration.reranker) for row in found]
    wanted = [space.scaled(row.configuration.settings) for row in found]
    return _Rows(
        vectors=torch.from_numpy(np.array(vectors, dtype=np.float32)),
        best=torch.tensor(best, dtype=torch.int64),
        wanted=torch.tensor(wanted, dtype=torch.float32),
    )


def _network(dimension: int, rerankers: int, seed: int) -> "AgentNetwork":
    import torch

    from pipelines.corag.agent_network import AgentNetwork

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AgentNetwork(dimension, rerankers)


def _epochs(
    network: "AgentNetwork", rows: dict[str, _Rows], settings: AgentSettings
) -> Iterator[tuple[int, dict[str, float]]]:
    """Yields (epoch from 1, its metrics). Training losses are means over the epoch's batches."""
    import torch

    from pipelines.corag.agent_network import agent_losses

    optimiser = torch.optim.Adam(network.parameters(), lr=settings.lr)
    draw = torch.Generator().manual_seed(settings.seed)
    train = rows["train"]
    for epoch in range(1, settings.epochs + 1):
        network.train()
        sums: dict[str, float] = {}
        batches = torch.randperm(len(train), generator=draw).split(settings.batch_size)
        for chosen in batches:
            batch = train.take(chosen)
            features, logits, made = network(batch.vectors)
            losses = agent_losses(features, logits, made, batch.best, batch.wanted, settings.margin)
            optimiser.zero_grad()
            losses.total.backward()
            optimiser.step()
            for name in ("total", "contrastive", "reranker", "settings"):
                value = float(getattr(losses, name).detach()) * len(batch)
                sums[f"train/{name}"] = sums.get(f"train/{name}", 0.0) + value
        measured = {name: value / len(train) for name, value in sums.items()}
        yield epoch, {**measured, **_validate(network, rows["validation"], settings.margin)}


def _validate(network: "AgentNetwork", rows: _Rows, margin: float) -> dict[str, float]:
    import torch

    from pipelines.corag.agent_network import agent_losses

    network.eval()
    with torch.no_grad():
        features, logits, settings = network(rows.vectors)
        losses = agent_losses(features, logits, settings, rows.best, rows.wanted, margin)
    right = (logits.argmax(dim=1) == rows.best).float().mean()
    off = (settings.clamp(0, 1) - rows.wanted).abs().mean()
    return {
        "validation/total": float(losses.total),
        "validation/contrastive": float(losses.contrastive),
        "validation/reranker": float(losses.reranker),
        "validation/settings": float(losses.settings),
        "validation/accuracy": float(right),
        "validation/settings_error": float(off),
    }
