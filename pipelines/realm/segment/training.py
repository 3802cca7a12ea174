"""Trains the segmenter on labelled traces and measures it beside the rules.

    train_segmenter(SegmenterSettings(data="r1_schoenfeld_labelled.jsonl"), RichReporter())

First on `extra` traces, if any, then on the training part of `data`; the epoch with the best F1 on
the dev part is kept, and its threshold is the one that is best there. The test part is measured
once, at the end, as a stream would be cut. Not resumed: it takes minutes, and the same settings on
the same machine give the same weights.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster.tracking import JsonlTracker, Tracker, Trackers, WandbTracker
from pipelines.data.cache import fill, sha256
from pipelines.progress import Reporter, SilentReporter
from pipelines.realm.segment.data import LabelledTrace, TraceSplit, load_traces, split_traces
from pipelines.realm.segment.features import PAD, Vocabulary
from pipelines.realm.segment.lessons import UNKNOWN, Lesson, lessons_of
from pipelines.realm.segment.metrics import BoundaryScores, boundary_scores
from pipelines.realm.segment.model import SegmenterModel
from pipelines.realm.segment.rules import EverySentence, RuleSegmenter
from pipelines.realm.segment.settings import SegmenterSettings
from pipelines.realm.types import Segmenter
from pipelines.threads import torch_threads

if TYPE_CHECKING:
    import torch

    from pipelines.realm.segment.network import SegmenterNetwork
    from pipelines.realm.segment.windows import Window

METRICS = "metrics.jsonl"
_PLACES = ("data", "extra", "out")  # they tell where, not what


@dataclass(frozen=True, eq=False)
class SegmenterTraining:
    """A finished training: the model, where it is, and `test/...` of it and of the baselines."""

    model: SegmenterModel
    folder: Path
    split: TraceSplit
    results: dict[str, dict[str, float]]
    """segmenter -> `precision`, `recall`, `f1`, and the same with `@16` for a tolerance of 16
    characters; `characters`: of a step, on average."""


def train_segmenter(
    settings: SegmenterSettings, reporter: Reporter | None = None
) -> SegmenterTraining:
    """Trains, and leaves weights, subwords, `metrics.jsonl` and the card in the folder; a former
    segmenter there is replaced at the end. Raises `CorpusError`, `SegmenterError`, `FetchError`."""
    import torch

    from pipelines.realm.segment.network import SegmenterNetwork, Shape

    reporter = reporter or SilentReporter()
    started = time.perf_counter()
    split = split_traces(load_traces(settings.data), settings.split_seed)
    extra = load_traces(settings.extra) if settings.extra else []
    reporter.say(
        f"traces: {len(split.train)} train, {len(split.dev)} dev, {len(split.test)} test, "
        f"{len(extra)} extra"
    )
    vocabulary = Vocabulary.learn(
        (trace.text for trace in (*split.train, *extra)), settings.vocabulary
    )
    # Labels of two files are two schemes, even where a name is in both.
    sources = {"data": split.train, "extra": tuple(extra)}
    names = sorted(
        {(s, each.label) for s, ts in sources.items() for t in ts for each in t.segments}
    )
    index = {name: number for number, name in enumerate(names)}
    lessons = {
        "train": lessons_of(split.train, vocabulary, index, "data"),
        "dev": lessons_of(split.dev, vocabulary, index, "data"),
        "extra": lessons_of(extra, vocabulary, index, "extra"),
    }
    shape = Shape(
        vocabulary=len(vocabulary),
        labels=len(names) if settings.label_weight else 0,
        window=settings.window,
        hidden=settings.hidden,
        layers=settings.layers,
        heads=settings.heads,
        feed_forward=settings.feed_forward,
        pooled=settings.pooled,
    )
    facts = {
        "labels": [f"{source}: {label}" for source, label in names],
        "settings": {k: v for k, v in asdict(settings).items() if k not in _PLACES},
        "data_sha256": sha256(Path(settings.data)),
        "extra_sha256": sha256(Path(settings.extra)) if settings.extra else "",
        "test_ids": [trace.id for trace in split.test],
    }
    with (
        fill(settings.folder, f"{time.time_ns()}") as scratch,
        torch_threads(settings.threads),
        torch.random.fork_rng(devices=[]),
    ):
        torch.manual_seed(settings.seed)
        network = SegmenterNetwork(shape, settings.dropout)
        model = SegmenterModel(network, vocabulary, settings.look_ahead)
        trackers = Trackers(
            JsonlTracker(scratch / METRICS),
            WandbTracker(scratch, settings.wandb, settings.project, config=asdict(settings)),
        )
        try:
            chosen = _learn(model, lessons, settings, trackers, reporter)
        finally:
            trackers.close()
        results = {
            name: _measure(cut, split.test, settings.tolerances)
            for name, cut in {
                "sentences": _cutter(EverySentence()),
                "rules": _cutter(RuleSegmenter()),
                "trained": model.boundaries,
            }.items()
        }
        model.facts = (
            facts
            | chosen
            | {
                "test": results,
                "seconds": round(time.perf_counter() - started, 1),
                "versions": {name: version(name) for name in ("torch", "tokenizers")},
            }
        )
        model.save(scratch)
    reporter.say(results_table(results))
    return SegmenterTraining(model, settings.folder, split, results)


def results_table(results: dict[str, dict[str, float]]) -> str:
    """As a Markdown table."""
    columns = list(next(iter(results.values())))
    lines = ["| segmenter | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in results.items():
        cells = [f"{row[each]:.0f}" if each == "characters" else f"{row[each]:.3f}" for each in row]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _learn(
    model: SegmenterModel,
    lessons: dict[str, list[Lesson]],
    settings: SegmenterSettings,
    tracker: Tracker,
    reporter: Reporter,
) -> dict[str, Any]:
    """Leaves the best epoch's weights and threshold in `model`; says which and how good."""
    network = model.network
    stages = [("train", settings.epochs, settings.rate, settings.stride)]
    if lessons["extra"]:
        stages.insert(
            0, ("extra", settings.extra_epochs, settings.extra_rate, settings.extra_stride)
        )
    best, best_state, epoch, step = -1.0, network.state_dict(), 0, 0
    chosen: dict[str, Any] = {}
    with reporter.bar("segmenter", sum(stage[1] for stage in stages)) as bar:
        for stage, epochs, rate, stride in stages:
            rng = np.random.default_rng(settings.seed)
            for losses in _epochs(network, lessons[stage], settings, epochs, rate, stride, rng):
                epoch, step = epoch + 1, step + len(losses)
                network.eval()
                threshold, scores = _best_threshold(model, lessons["dev"])
                tracker.log(
                    step,
                    {"epoch": epoch, "stage": stage, "train/loss": float(np.mean(losses))}
                    | {"dev/threshold": threshold}
                    | scores.flat("dev"),
                )
                bar.update(epoch, f"{stage}: loss {np.mean(losses):.3f}, dev F1 {scores.f1:.3f}")
                if stage == "train" and scores.f1 > best:
                    best, model.threshold = scores.f1, threshold
                    best_state = {name: each.clone() for name, each in network.state_dict().items()}
                    chosen = {"epoch": epoch, "dev": scores.flat("dev")}
    network.load_state_dict(best_state)
    return chosen | {"steps": step}


def _epochs(
    network: "SegmenterNetwork",
    lessons: Sequence[Lesson],
    settings: SegmenterSettings,
    epochs: int,
    rate: float,
    stride: int,
    rng: np.random.Generator,
) -> Iterator[list[float]]:
    """Losses of each epoch's steps. The rate goes up over `warm_up`, then down to 0, in lines."""
    import torch

    from pipelines.realm.segment.windows import training_windows

    learner = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=settings.decay)
    total = step = 0
    for _ in range(epochs):
        drawn = [
            (lesson, window)
            for lesson in lessons
            for window in training_windows(
                lesson.reading,
                settings.window,
                stride,
                int(rng.integers(stride)),
            )
        ]
        batches = np.array_split(
            rng.permutation(len(drawn)), max(1, round(len(drawn) / settings.batch_size))
        )
        total = total or epochs * len(batches)
        network.train()
        losses = []
        for rows in batches:
            done = step / total
            up = min(1.0, (done + 1 / total) / settings.warm_up) if settings.warm_up else 1.0
            for group in learner.param_groups:
                group["lr"] = rate * up * max(0.0, 1 - done)
            loss = _loss(network, [drawn[row] for row in rows], settings)
            learner.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
            learner.step()
            losses.append(float(loss.detach()))
            step += 1
        yield losses


def _loss(
    network: "SegmenterNetwork",
    drawn: Sequence[tuple[Lesson, "Window"]],
    settings: SegmenterSettings,
) -> "torch.Tensor":
    """Cross-entropy of the boundaries, and of the sentences' labels."""
    import torch
    from torch.nn.functional import cross_entropy

    from pipelines.realm.segment.windows import batch_of

    batch = batch_of([window for _, window in drawn])
    hidden = torch.rand(batch.tokens.shape) < settings.token_dropout
    logits, labels = network(replace(batch, tokens=batch.tokens.masked_fill(hidden, PAD)))
    at = [(lesson, list(window.candidates)) for lesson, window in drawn]
    targets = torch.from_numpy(np.concatenate([lesson.targets[rows] for lesson, rows in at]))
    loss = _known_loss(cross_entropy, logits, targets)
    if labels is not None and settings.label_weight:
        wanted = torch.from_numpy(np.concatenate([lesson.labels[rows] for lesson, rows in at]))
        loss = loss + settings.label_weight * _known_loss(
            cross_entropy, labels.flatten(0, 1), wanted.flatten()
        )
    return loss


def _known_loss(
    loss: Callable[..., "torch.Tensor"], logits: "torch.Tensor", targets: "torch.Tensor"
) -> "torch.Tensor":
    """0 where nothing is known: the mean over nothing would be nan."""
    if not bool((targets != UNKNOWN).any()):
        return logits.sum() * 0.0
    return loss(logits, targets, ignore_index=UNKNOWN)


def _best_threshold(
    model: SegmenterModel, lessons: Sequence[Lesson]
) -> tuple[float, BoundaryScores]:
    """The threshold from .05 to .95 with the best F1."""
    odds = [model.probabilities(each.reading, 0, len(each.reading.candidates)) for each in lessons]

    def at(threshold: float) -> BoundaryScores:
        return boundary_scores(
            (
                [
                    candidate.offset
                    for candidate, odd in zip(lesson.reading.candidates, these, strict=True)
                    if odd >= threshold
                ],
                lesson.trace.boundaries,
            )
            for lesson, these in zip(lessons, odds, strict=True)
        )

    tried = {round(share / 20, 2): at(share / 20) for share in range(1, 20)}
    best = max(tried, key=lambda threshold: (tried[threshold].f1, -abs(threshold - 0.5)))
    return best, tried[best]


def _cutter(segmenter: Segmenter) -> Callable[[str], list[int]]:
    def cut(text: str) -> list[int]:
        segmenter.reset()
        return segmenter.feed(text) + segmenter.finish()

    return cut


def _measure(
    cut: Callable[[str], list[int]], traces: Sequence[LabelledTrace], tolerances: Sequence[int]
) -> dict[str, float]:
    found = [cut(trace.text) for trace in traces]
    row: dict[str, float] = {}
    for tolerance in tolerances:
        pairs = zip(found, (trace.boundaries for trace in traces), strict=True)
        scores = boundary_scores(pairs, tolerance)
        suffix = f"@{tolerance}" if tolerance else ""
        row |= {f"{name}{suffix}": getattr(scores, name) for name in ("precision", "recall", "f1")}
    steps = sum(map(len, found)) + len(traces)
    return row | {"characters": sum(len(trace.text) for trace in traces) / steps}
