"""Trains the `cross-encoder` reranker from the weights of a small sentence embedder.

    train_cross_encoder(CrossEncoderSettings(data="…/passages"), RichReporter())

Training parts of MS MARCO lists, BioASQ and PubMedQA (`ranking_lists.py`); single passages and
ordered lists with soft targets (`graded_orders.py`). A model of this size learns little from some
thousand labels. So easy pairs come first (`draw_pairs`); then single passages have the target that
the embedder's own cosine gives them, and labels take over as training goes on. Not
resumed: it takes minutes, and the same settings on the same machine give the same weights.
"""

import hashlib
import json
import platform
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cluster.tracking import JsonlTracker
from pipelines.corag.graded_orders import Calibration, draw_orders, draw_pairs
from pipelines.corag.ranking_lists import (
    Embed,
    ListShape,
    RankingList,
    article_lists,
    msmarco_lists,
)
from pipelines.corag.ranking_measures import (
    Scorer,
    list_scores,
    order_sense,
    ranking,
    values,
)
from pipelines.corag.reranker_settings import FOLDER, CrossEncoderSettings
from pipelines.data.cache import fill, is_complete, sha256
from pipelines.data.failures import CorpusError
from pipelines.data.minilm import resolve_embedder
from pipelines.progress import Reporter, SilentReporter
from pipelines.threads import torch_threads

CARD = "model_card.json"
_RECIPE = 2  # raised whenever the same settings would give other weights


def train_cross_encoder(settings: CrossEncoderSettings, reporter: Reporter | None = None) -> Path:
    """The model's folder: weights, tokenizer, `metrics.jsonl` and `model_card.json`, which holds
    settings, hashes and results. Nothing is done where the same settings, base and data made it
    already. Raises `CorpusError`, `RerankerError`, `FetchError`."""
    reporter = reporter or SilentReporter()
    base = Path(resolve_embedder(settings.base, report=reporter.say))
    facts = _facts(settings, base)
    made = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    if is_complete(settings.folder, made):
        reporter.say(f"{settings.folder} is there already, made with the same settings and data")
        return settings.folder
    with torch_threads(settings.threads), fill(settings.folder, made) as scratch:
        started = time.perf_counter()
        lists = load_lists(settings, embedder(base))
        reporter.say("; ".join(f"{source}: {_counted(of)}" for source, of in lists.items()))
        prepared = time.perf_counter()
        outcome = _train(settings, base, lists, scratch, reporter)
        trained = time.perf_counter()
        reporter.say("measuring on the test part")
        results = measure(lists, str(scratch), str(base), settings)
        card = {
            "name": FOLDER,
            **facts,
            "lists": {source: _counts(of) for source, of in lists.items()},
            **outcome,
            "test": results,
            "seconds": {
                "prepare": round(prepared - started, 1),
                "train": round(trained - prepared, 1),
                "measure": round(time.perf_counter() - trained, 1),
            },
            "weights_sha256": sha256(scratch / "model.safetensors"),
            "threads": _torch_threads(),
            "python": platform.python_version(),
            "versions": {name: version(name) for name in ("torch", "transformers")},
        }
        (scratch / CARD).write_text(json.dumps(card, indent=1) + "\n", "utf-8")
    reporter.say(table(results))
    return settings.folder


def load_lists(settings: CrossEncoderSettings, embed: Embed) -> dict[str, list[RankingList]]:
    """Lists of every source, all parts. Raises `CorpusError` for a source without questions to
    train on, or to measure on."""
    lists = {
        source: msmarco_lists(path, embed, settings.split_seed)
        if source == "msmarco"
        else article_lists(path, embed, settings.split_seed, shape=ListShape())
        for source, path in settings.files().items()
    }
    for source, found in lists.items():
        for part in ("train", "dev", "test"):
            if not any(each.split == part for each in found):
                raise CorpusError(
                    f"{settings.files()[source]}: no list for part {part}: too few questions"
                )
    return lists


def embedder(base: str | Path) -> Embed:
    """The embedder's unit vectors, in bfloat16: near enough to guess and to pick by."""
    from actors.search.dense.embed import Embedder

    made = Embedder(base, device="cpu")
    known: dict[str, np.ndarray] = {}

    def embed(texts: Sequence[str]) -> np.ndarray:
        import torch

        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                vectors = made.embed_passages(new).vectors
            known.update(zip(new, vectors, strict=True))
        return np.stack([known[text] for text in texts])

    return embed


def measure(
    lists: Mapping[str, Sequence[RankingList]],
    model: str,
    base: str,
    settings: CrossEncoderSettings,
) -> dict[str, dict[str, dict[str, float]]]:
    """source -> ranker -> measure, on the test part; the saved model is loaded as the system loads
    it. `given` is the data set's own BM25 order."""
    from actors.expansion.bi_encoder import BiEncoderReranker
    from actors.expansion.cross_encoder import CrossEncoderReranker
    from actors.expansion.lexical import LexicalReranker, WordStatistics

    cross, cosine = CrossEncoderReranker(model, device="cpu"), BiEncoderReranker(base, device="cpu")
    results: dict[str, dict[str, dict[str, float]]] = {}
    for source, of in lists.items():
        test = part(of, "test", settings.test_lists)
        words = WordStatistics.of(text for each in of for text in each.passages)
        lexical = LexicalReranker(statistics=words)
        rows: dict[str, dict[str, float]] = {}
        if all(each.given for each in test):
            found = [[-float(rank) for rank in each.given] for each in test]
            rows["given"] = asdict(ranking(test, found))
        for name, scorer in (
            ("bm25", values(lexical)),
            ("minilm", values(cosine)),
            ("cross-encoder", values(cross)),
        ):
            rows[name] = asdict(ranking(test, list_scores(scorer, test)))
            rows[name] |= asdict(order_sense(scorer, test, seed=settings.seed))
        results[source] = rows
    return results


def table(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The results as a Markdown table."""
    names = ("mrr", "ndcg", "auc", "gold_first", "alone", "two_gold")
    lines = [
        "| source | lists | ranker | MRR@10 | nDCG@10 | AUC | gold first | alone | two gold |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for source, rankers in results.items():
        for ranker, row in rankers.items():
            cells = [f"{row[name]:.3f}" if name in row else "" for name in names]
            lines.append(f"| {source} | {row['lists']} | {ranker} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def part(lists: Sequence[RankingList], split: str, most: int) -> list[RankingList]:
    """The first `most` lists of one part."""
    return [each for each in lists if each.split == split][:most]


def _train(
    settings: CrossEncoderSettings,
    base: Path,
    lists: Mapping[str, Sequence[RankingList]],
    scratch: Path,
    reporter: Reporter,
) -> dict[str, Any]:
    import torch

    from pipelines.corag.cross_encoder_training import TrainedEncoder, optimiser, set_rate

    training = [each for of in lists.values() for each in of if each.split == "train"]
    calibrations = {
        source: Calibration.of([each for each in of if each.split == "train"])
        for source, of in lists.items()
    }
    dev = {source: part(of, "dev", settings.dev_lists) for source, of in lists.items()}
    with torch.random.fork_rng(devices=[]):
        encoder = TrainedEncoder(base, settings.window, settings.seed, autocast=settings.autocast)
        learner = optimiser(encoder.model, settings.rate, settings.head_rate, settings.decay)
        tracker = JsonlTracker(scratch / "metrics.jsonl")
        rng = random.Random(settings.seed)
        easy = _easy(settings, encoder, training, rng)
        graded = _graded(settings, encoder, training, calibrations, rng)
        best, best_state, waited = -1.0, encoder.state(), 0
        tokens = step = evaluated = 0
        with reporter.bar("training", settings.tokens) as bar:
            while tokens < settings.tokens and waited < settings.patience:
                done = tokens / settings.tokens
                encoder.model.train()
                factor = set_rate(learner, done, settings.warm_up)
                batch = next(easy if done < settings.easy else graded)
                loss = encoder.loss(batch, settings.trust(done))
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(encoder.model.parameters(), settings.clip)
                learner.step()
                learner.zero_grad()
                step += 1
                tokens += len(batch) * max(len(each.input.ids) for each in batch)
                metrics: dict[str, float] = {
                    "loss": float(loss.detach()),
                    "gradient_norm": float(norm.detach()),
                    "rate": settings.rate * factor,
                    "tokens": tokens,
                }
                if tokens >= settings.tokens * (evaluated + 1) / settings.evaluations:
                    evaluated += 1
                    metrics |= _dev(encoder.score, dev)
                    if metrics["dev_ndcg"] > best:
                        best, best_state, waited = metrics["dev_ndcg"], encoder.state(), 0
                    else:
                        waited += 1
                tracker.log(step, metrics)
                bar.update(min(tokens, settings.tokens), f"loss {metrics['loss']:.3f}")
        tracker.close()
        encoder.save(scratch, best_state)
    return {
        "steps": step,
        "tokens": tokens,
        "dev_ndcg": best,
        "stopped_early": waited >= settings.patience,
    }


def _easy(
    settings: CrossEncoderSettings,
    encoder: Any,
    training: Sequence[RankingList],
    rng: random.Random,
) -> Iterator[Any]:
    from pipelines.corag.cross_encoder_training import batches

    while True:
        pairs = encoder.encode(draw_pairs(training, rng, 512))
        yield from batches(pairs, settings.batch_tokens, rng)


def _graded(
    settings: CrossEncoderSettings,
    encoder: Any,
    training: Sequence[RankingList],
    calibrations: dict[str, Calibration],
    rng: random.Random,
) -> Iterator[Any]:
    from pipelines.corag.cross_encoder_training import batches

    while True:
        orders = draw_orders(
            training, calibrations, rng, useless=settings.useless, pairs=settings.order_pairs
        )
        yield from batches(encoder.encode(orders), settings.batch_tokens, rng)


def _dev(scorer: Scorer, dev: Mapping[str, Sequence[RankingList]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for source, lists in dev.items():
        measured = ranking(lists, list_scores(scorer, lists))
        found |= {f"dev_ndcg_{source}": measured.ndcg, f"dev_mrr_{source}": measured.mrr}
    found["dev_ndcg"] = sum(found[f"dev_ndcg_{source}"] for source in dev) / len(dev)
    return found


def _facts(settings: CrossEncoderSettings, base: Path) -> dict[str, Any]:
    """What the weights come from."""
    files = settings.files()
    for path in files.values():
        if not path.is_file():
            raise CorpusError(f"{path}: no such file: give the folder of the training data")
    chosen = asdict(settings)
    for elsewhere in ("data", "out", "threads"):  # they tell where, not what
        del chosen[elsewhere]
    weights = base / "model.safetensors"
    return {
        "recipe": _RECIPE,
        "settings": chosen,
        "data_sha256": {source: sha256(path) for source, path in files.items()},
        "base_sha256": sha256(weights) if weights.is_file() else str(base),
    }


def _counts(lists: Sequence[RankingList]) -> dict[str, int]:
    return {split: sum(each.split == split for each in lists) for split in ("train", "dev", "test")}


def _counted(lists: Sequence[RankingList]) -> str:
    return ", ".join(f"{count} {split}" for split, count in _counts(lists).items())


def _torch_threads() -> int:
    import torch

    return torch.get_num_threads()
