"""What `seekray realm train-proxy` does: pairs from a file, from chains, or from traces."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from actors.rollout.sessions.types import SessionEngine
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields, read_objects
from pipelines.progress import Reporter, SilentReporter
from pipelines.realm.deciders.timing import RandomTiming
from pipelines.realm.run_many import MakeReasoner, Question, run_chains
from pipelines.realm.types import Chain, Meter, Retriever, Segmenter
from pipelines.realm.uncertainty.opening import open_encoder
from pipelines.realm.uncertainty.proxy import ProxyError
from pipelines.realm.uncertainty.proxy_pairs import (
    Measuring,
    ProxyPair,
    Trace,
    collect_from_texts,
    pairs_of,
    write_pairs,
)
from pipelines.realm.uncertainty.proxy_training import ProxySettings, ProxyTraining, train_proxy
from pipelines.realm.uncertainty.rsus import RsusMeter, RsusSettings, Weights
from pipelines.realm.uncertainty.titles import TitleIndex

PAIRS = "pairs.jsonl"
Q = TypeVar("Q", bound=Question)


def asking_meter(
    retriever: Retriever | None = None, titles: TitleIndex | None = None, seed: int = 0
) -> RsusMeter:
    """What pairs are collected with: it asks, never guesses, and leaves U_cons out."""
    settings = RsusSettings(weights=Weights(cons=0.0), verbal="ask")
    return RsusMeter(settings, retriever=retriever, titles=titles, seed=seed)


async def collect_from_chains(
    questions: Sequence[Q],
    make_reasoner: MakeReasoner[Q],
    *,
    titles: TitleIndex | None = None,
    rate: float = 0.3,
    seed: int = 0,
    concurrency: int = 16,
    reporter: Reporter | None = None,
) -> list[ProxyPair]:
    """Reasons on every question, measures every step, and gives the pairs in the questions' order.

    Retrieval comes by chance (`rate` after each step), so that steps with and without evidence are
    learned from. The reasoners' `Parts` have an `asking_meter`.
    """
    decider = Measuring(RandomTiming(rate, seed))
    chains: dict[str, Chain] = {}
    with (reporter or SilentReporter()).bar("reasoning", len(questions)) as bar:
        async for chain in run_chains(questions, make_reasoner, decider, concurrency):
            chains[chain.question_id] = chain
            bar.update(len(chains))
    return pairs_of((chains[q.id] for q in questions if q.id in chains), titles)


async def collect_from_traces(
    path: str | Path,
    engine: SessionEngine,
    segmenter: Callable[[], Segmenter],
    meter: Meter,
    *,
    titles: TitleIndex | None = None,
    most_steps: int = 12,
    most_traces: int = 0,
    concurrency: int = 8,
) -> list[ProxyPair]:
    """Has a model state its confidence along the traces of a file of JSON lines (`id`, `question`,
    `trace`): the first `most_steps` of each of the first `most_traces` (0: all)."""
    traces = read_traces(path, segmenter, most_steps=most_steps, most_traces=most_traces)
    return await collect_from_texts(engine, traces, meter, titles=titles, concurrency=concurrency)


def read_traces(
    path: str | Path,
    segmenter: Callable[[], Segmenter],
    *,
    most_steps: int = 12,
    most_traces: int = 0,
) -> list[Trace]:
    """The traces of a file, cut into steps. Raises `CorpusError` naming the line."""
    found: list[Trace] = []
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        text = fields.required("trace", "text")
        cutter = segmenter()
        cutter.reset()
        ends = [*cutter.feed(text), *cutter.finish(), len(text)]
        starts = [0, *ends]
        steps = [text[a:b] for a, b in zip(starts, ends, strict=False) if text[a:b].strip()]
        name = fields.text("id") or str(line)
        found.append(Trace(name, fields.text("question"), tuple(steps[:most_steps])))
        if len(found) == most_traces:
            break
    if not found:
        raise CorpusError(f"{path}: holds no trace")
    return found


def train_and_keep(
    pairs: Sequence[ProxyPair],
    folder: str | Path,
    *,
    encoder: str = "minilm",
    settings: ProxySettings | None = None,
    reporter: Reporter | None = None,
) -> ProxyTraining:
    """Trains on `pairs` and leaves them beside the proxy in `folder` (`pairs.jsonl`), so that it
    can be trained anew. `encoder` as `open_encoder` takes it. Raises `ProxyError`."""
    reporter = reporter or SilentReporter()
    if not pairs:
        raise ProxyError(
            "there is no step with a stated confidence to learn from: the model never replied "
            "with a number; use a larger one, or pairs of another model"
        )
    folder = Path(folder)
    write_pairs(folder / PAIRS, pairs)
    reporter.say(f"{len(pairs):,} steps with a stated confidence are in {folder / PAIRS}")
    return train_proxy(pairs, open_encoder(encoder), folder, settings, reporter)
