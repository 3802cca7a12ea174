"""Chunk-order search beside exhaustive search, NaiveRAG and the published algorithm, in one run.

    python -m bench.corag [--questions FILE] [--reranker minilm] [--cases 3] [--json FILE]

All sides get the same candidates and the same reranker, take turns, and start with nothing known.

(a) utility against Upper's (orders of up to 5 chunks) with a tenth of its evaluations
(b) time of a search against NaiveRAG's reranking of the same candidates
(c) sequences a second against a loop that scores one at a time, and the time to the same utility
    against the published algorithm with its own pattern of scoring (`bench/published_tree.py`)
(d) time against iterations and against candidates, from 10 to 500 (BM25 scores, so that the search
    itself is seen): the fit of a line, and the slope in log-log (1 = linear)

Without --questions, titles of PubMed records ask and abstracts answer (fetched sample).
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from actors.expansion.lexical import LexicalReranker, WordStatistics
from actors.expansion.types import Reranker
from bench.corag_cases import Case, Make, fresh, make_cases, reranker_maker
from bench.published_tree import published_search
from pipelines.corag.baselines import naive_search
from pipelines.corag.driver import run_searches
from pipelines.corag.exhaustive import exhaustive_search
from pipelines.corag.jobs import SearchJob, SearchOutcome
from pipelines.corag.local_scoring import LocalScoring
from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import Order, Search, TreeSettings
from pipelines.data.chunks import Chunk


def main(given: Sequence[str] | None = None) -> None:
    """Prepare, measure, print."""
    args = _arguments(given)
    cases = make_cases(args)
    make = reranker_maker(args.reranker, args.model, args.dtype, cases)
    settings = TreeSettings(args.iterations, args.c, args.cost_weight, args.wave, args.pick)
    tokens = statistics.mean(chunk.tokens for case in cases for chunk in case.chunks)
    print(
        f"{len(cases)} questions, {args.candidates} candidates of {tokens:.0f} tokens on average, "
        f"budget {args.budget}; reranker {args.reranker}; {settings}",
        flush=True,
    )
    found: dict[str, Any] = {"settings": vars(args) | {"json": None, "questions": None}}
    for name, part in (
        ("a", lambda: against_upper(cases, make, args)),
        ("b", lambda: against_naive(cases, make, settings, args)),
        ("c", lambda: against_published(cases, make, settings, args)),
        ("d", lambda: growth(cases, args)),
    ):
        if name in args.parts:
            print(f"\n({name})", flush=True)
            found[name] = part()
    if args.json:
        args.json.write_text(json.dumps(found, indent=1, default=str) + "\n")


# --- (a) -----------------------------------------------------------------------------------------


def against_upper(cases: Sequence[Case], make: Make, args: argparse.Namespace) -> list[Any]:
    """Utility of the tree, by both ways of picking, as a share of Upper's."""
    rows = []
    scoring = LocalScoring({"r": lambda: make(True)})
    for count in args.upper_candidates:
        for pick in ("average", "reward"):
            shares, uses, evaluations = [], [], []
            for case in cases[: args.upper_cases]:
                few = case.first(count)
                budget = 5 * max(few.costs)
                best = _run(few, exhaustive_search(few.costs, budget, 5), scoring)
                allowed = asked(best) // 10
                ours = _run(few, limited(few.costs, budget, args, pick, allowed), scoring)
                shares.append(ours.selection.reward / best.selection.reward)
                uses.append(asked(ours) / asked(best))
                evaluations.append(asked(best))
            row = {
                "candidates": count,
                "pick": pick,
                "utility": statistics.mean(shares),
                "least": min(shares),
                "evaluations": statistics.mean(uses),
                "upper_evaluations": statistics.mean(evaluations),
            }
            rows.append(row)
            print(
                f"{count} candidates, pick by {pick:7}: {row['utility']:.1%} of Upper's utility "
                f"(least {row['least']:.1%}) with {row['evaluations']:.1%} of its "
                f"{row['upper_evaluations']:,.0f} evaluations",
                flush=True,
            )
    return rows


def limited(
    costs: Sequence[int], budget: int, args: argparse.Namespace, pick: str, allowed: int
) -> Search:
    """A tree search that expands while a whole expansion stays within `allowed` evaluations."""
    iterations = max(1, allowed // max(1, len(costs)))
    settings = TreeSettings(iterations, args.c, args.cost_weight, 1, pick)
    return tree_search(costs, budget, settings)


# --- (b) -----------------------------------------------------------------------------------------


def against_naive(
    cases: Sequence[Case], make: Make, settings: TreeSettings, args: argparse.Namespace
) -> dict[str, Any]:
    """Seconds of a search, and of NaiveRAG's reranking, alone and side by side."""
    seconds: dict[str, list[float]] = {"naive": [], "corag": []}
    sequences: dict[str, list[int]] = {"naive": [], "corag": []}
    for turn in range(args.rounds):
        sides = ["naive", "corag"] if turn % 2 else ["corag", "naive"]
        for side in sides:
            jobs = [
                (
                    case,
                    naive_search(case.costs, args.budget)
                    if side == "naive"
                    else tree_search(case.costs, args.budget, settings),
                )
                for case in cases
            ]
            took, outcomes = timed(jobs, fresh(make), concurrency=len(cases))
            seconds[side].append(took / len(cases))
            sequences[side].append(sum(map(asked, outcomes)) // len(cases))
    for side, values in seconds.items():
        print(f"{side:6} {spread(values)} s a question, {sequences[side][0]} sequences")
    ratio = statistics.median(seconds["corag"]) / statistics.median(seconds["naive"])
    work = sequences["corag"][0] / sequences["naive"][0]
    print(f"corag / naive: {ratio:.2f} times the time for {work:.1f} times the sequences")
    return {"seconds": seconds, "sequences": sequences, "ratio": ratio}


# --- (c) -----------------------------------------------------------------------------------------


def against_published(
    cases: Sequence[Case], make: Make, settings: TreeSettings, args: argparse.Namespace
) -> dict[str, Any]:
    """Sequences a second, and seconds until the utility is reached that both reach."""
    rates: dict[str, list[float]] = {"batched": [], "one at a time": []}
    reached: dict[str, list[float]] = {"ours": [], "published": []}
    more: list[float] = []
    computed: list[float] = []
    for turn in range(args.rounds):
        for case in cases:
            curves = {}
            for side in ("ours", "published") if turn % 2 else ("published", "ours"):
                held = fresh(make, remember=side == "ours")
                curve = Curve(case, held)
                before = getattr(held, "computed", 0)
                with curve.running():
                    if side == "ours":
                        _drive(tree_search(case.costs, args.budget, settings), curve.batch)
                    else:
                        published_search(curve.single, case.costs, args.budget, settings)
                curves[side] = curve
                if side == "ours":
                    new = getattr(held, "computed", before + len(curve.orders)) - before
                    computed.append(new / len(curve.orders))
            orders = list(dict.fromkeys(curves["ours"].orders))
            rates["batched"].append(len(orders) / curves["ours"].seconds)
            rates["one at a time"].append(_loop_rate(case, orders, fresh(make, False)))
            target = min(curve.best for curve in curves.values())
            for side, curve in curves.items():
                reached[side].append(curve.when(target))
            more.append(curves["ours"].best / max(curves["published"].best, 1e-12))
    for side, values in rates.items():
        print(f"{side:14} {spread(values)} sequences/s")
    for side, values in reached.items():
        print(f"{side:14} {spread(values)} s to the utility that both reach")
    throughput = _ratio(rates["batched"], rates["one at a time"])
    speed = _ratio(reached["published"], reached["ours"])
    share = statistics.mean(computed)
    print(
        f"batched / one at a time: {throughput:.2f} ({share:.0%} of the batched sequences differ "
        "within the reranker's window and went through the model)"
    )
    print(f"published / ours, time to the same utility: {speed:.2f}")
    print(f"best utility seen, ours / published: {statistics.mean(more):.3f}")
    return {"rates": rates, "reached": reached, "throughput": throughput, "speed": speed}


class Curve:
    """Scores with a fresh reranker, and notes when which utility was first seen."""

    def __init__(self, case: Case, reranker: Reranker) -> None:
        self._case, self._reranker = case, reranker
        self.orders: list[Order] = []
        self.steps: list[tuple[float, float]] = []  # (seconds, utility) at each new best
        self.best = self.seconds = 0.0
        self._started = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """The time that counts."""
        self._started = time.perf_counter()
        yield
        self.seconds = time.perf_counter() - self._started

    def batch(self, orders: Sequence[Order]) -> list[float]:
        """Rewards of orders that are scored together."""
        (scores,) = self._reranker.score([self._case.asked(orders)])
        self.orders += orders
        values = [score.value for score in scores]
        if max(values) > self.best or not self.steps:
            self.best = max(values)
            self.steps.append((time.perf_counter() - self._started, self.best))
        return values

    def single(self, order: Order) -> float:
        """The reward of one order, scored by itself."""
        return self.batch([order])[0]

    def when(self, target: float) -> float:
        """Seconds until a utility of `target` was seen."""
        return next(at for at, value in self.steps if value >= target)


def _drive(search: Search, score: Callable[[Sequence[Order]], list[float]]) -> None:
    try:
        orders = next(search)
        while True:
            orders = search.send(score(orders))
    except StopIteration:
        return


def _loop_rate(case: Case, orders: Sequence[Order], reranker: Reranker) -> float:
    started = time.perf_counter()
    for order in orders:
        reranker.score([case.asked([order])])
    return len(orders) / (time.perf_counter() - started)


# --- (d) -----------------------------------------------------------------------------------------


def growth(cases: Sequence[Case], args: argparse.Namespace) -> dict[str, Any]:
    """Seconds of a search over iterations and over candidates, and how they grow."""
    everything = {chunk.id: chunk for case in cases for chunk in case.chunks}
    pool = Case(cases[0].question, tuple(everything.values()))
    if len(pool.chunks) < max(args.sizes):
        copies = max(args.sizes) // len(pool.chunks) + 1
        pool = Case(
            pool.question,
            tuple(
                Chunk(f"{c.id}~{n}", f"{c.text} {n}", c.tokens + 1, c.document)
                for n in range(copies)
                for c in pool.chunks
            ),
        )
    statistics_ = WordStatistics.of(chunk.text for chunk in pool.chunks)
    found = {}
    for name in ("iterations", "candidates"):
        medians = []
        for size in args.sizes:
            times = []
            for _ in range(args.rounds):
                iterations = size if name == "iterations" else args.growth_iterations
                few = pool.first(size if name == "candidates" else args.candidates)
                settings = TreeSettings(iterations, args.c, args.cost_weight, args.wave, args.pick)
                search = tree_search(few.costs, args.budget, settings)
                reranker = LexicalReranker(statistics=statistics_)
                times.append(timed([(few, search)], reranker, concurrency=1)[0])
            medians.append(statistics.median(times))
        fit, slope = linear_fit(args.sizes, medians)
        points = ", ".join(f"{s}: {m:.3f}" for s, m in zip(args.sizes, medians, strict=True))
        print(f"{name}: seconds {points}\n  line R^2 {fit:.4f}, log-log slope {slope:.2f}")
        found[name] = {"sizes": args.sizes, "seconds": medians, "r2": fit, "slope": slope}
    return found


def linear_fit(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """R^2 of the least-squares line, and the slope of the line through the logarithms."""
    x, y = np.asarray(sizes, float), np.asarray(values, float)
    line = np.polyval(np.polyfit(x, y, 1), x)
    r2 = 1 - ((y - line) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    slope = np.polyfit(np.log(x), np.log(y), 1)[0]
    return float(r2), float(slope)


# --- shared --------------------------------------------------------------------------------------


def timed(
    jobs: Sequence[tuple[Case, Search]], reranker: Reranker, concurrency: int
) -> tuple[float, list[SearchOutcome]]:
    """Wall seconds of searches side by side with nothing known, and their outcomes."""
    scoring = LocalScoring({"r": lambda: reranker})
    scoring.fingerprint("r")
    started = time.perf_counter()
    outcomes = list(
        run_searches(
            [SearchJob(i, c.question, c.chunks, "r", s) for i, (c, s) in enumerate(jobs)],
            scoring,
            concurrency=concurrency,
        )
    )
    return time.perf_counter() - started, outcomes


def _run(case: Case, search: Search, scoring: LocalScoring) -> SearchOutcome:
    job = SearchJob(0, case.question, case.chunks, "r", search)
    (outcome,) = run_searches([job], scoring)
    return outcome


def asked(outcome: SearchOutcome) -> int:
    """Different orders that a search asked scores of."""
    return outcome.scored + outcome.cached


def spread(values: Sequence[float]) -> str:
    """Median, and least to most."""
    return f"{statistics.median(values):8.3f} ({min(values):.3f} to {max(values):.3f})"


def _ratio(more: Sequence[float], less: Sequence[float]) -> float:
    """Geometric mean of the ratios of paired measurements."""
    logs = [math.log(a / b) for a, b in zip(more, less, strict=True)]
    return math.exp(statistics.mean(logs))


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=Path, help="a question-answering set")
    parser.add_argument("--reranker", default="minilm")
    parser.add_argument("--model", default="", help="the reranker's folder or hub id")
    parser.add_argument("--dtype", default="float32", help="the reranker's: float32 or bfloat16")
    parser.add_argument("--tokenizer", default="smollm2", help="the model whose tokens count")
    parser.add_argument("--parts", default="abcd")
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--chunk-tokens", type=int, default=64)
    parser.add_argument("--budget", type=int, default=1024)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--c", type=float, default=2.4)
    parser.add_argument("--cost-weight", type=float, default=0.1)
    parser.add_argument("--wave", type=int, default=1)
    parser.add_argument("--pick", default="average")
    parser.add_argument("--upper-candidates", type=int, nargs="+", default=[8])
    parser.add_argument("--upper-cases", type=int, default=3)
    parser.add_argument("--growth-iterations", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 50, 100, 200, 500])
    parser.add_argument("--json", type=Path)
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
