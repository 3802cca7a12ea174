"""Step-wise retrieval beside naive interleaving, on the same questions and decisions, in one run.

    python -m bench.realm [--questions FILE.jsonl] [--engines vllm,transformers] [--parts abcd]

(a) live, the small model on each engine: what a retrieval costs from the decision to the first
    token after it, ours (kept prefix, compressed sentences, prefetch) against naive (prefix
    computed anew, whole passages, no cache). Ours decides; naive repeats its decisions and queries.
(b) kept share, and the share of answers that whole passages would not have changed: simulated
    reasoner on held-out questions, and the small model's own short answers to the same prefix
(c) prefetch: hit rate of the runs of (a); what it costs a search that misses
(d) RSUS: its share of the time that the chains were written in

Sides take turns question by question; medians, least to most. Every run's prompt begins with words
of its own, so that no run profits from another's prefix. Without --questions they are invented.
"""

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from actors.rollout.types import Sampling
from bench.realm_cases import Bench, Side, make_bench, open_engine, scratch_folder
from pipelines.realm.answers import clean_answer
from pipelines.realm.deciders.timing import FixedInterval
from pipelines.realm.evidence.integrate import EvidenceIntegrator
from pipelines.realm.evidence.prefetch import SpeculativeCache
from pipelines.realm.evidence.relevance_training import filled_in
from pipelines.realm.inserts import evidence_block
from pipelines.realm.metrics import f1, normalise
from pipelines.realm.reason import reason
from pipelines.realm.run_many import run_chains
from pipelines.realm.types import (
    GO_ON,
    Chain,
    Decision,
    Formulation,
    HopQuestion,
    Integration,
    StepRecord,
    StepState,
)

OVERHEAD, FIRST_TOKEN = 3.2, 2.1  # times lower than naive
KEPT, UNCHANGED = 0.27, 0.95
MISS, RSUS = 0.02, 0.08
PAPER_HITS = 0.37


class Repeat:
    """Retrieves after the same steps, with the same queries, whole passages."""

    def __init__(self, chain: Chain) -> None:
        self._queries = {
            record.step.index: record.evidence.query
            for record in chain.steps
            if record.evidence is not None
        }

    async def decide(self, state: StepState) -> Decision:
        """What was decided after the step of this index."""
        query = self._queries.get(state.step.index)
        if query is None:
            return GO_ON
        return Decision(True, integration=Integration.WHOLE, query=query)


class Measure:
    """Measures every step and goes on."""

    async def decide(self, state: StepState) -> Decision:
        """Goes on."""
        await state.uncertainty()
        return GO_ON


def main(given: Sequence[str] | None = None) -> None:
    """Prepare, measure, print."""
    args = _arguments(given)
    found = asyncio.run(_run(args))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1, default=str) + "\n")


async def _run(args: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"settings": {**vars(args), "json": None}}
    with scratch_folder() as scratch:
        bench = await make_bench(args, Path(scratch))
        print(
            f"{bench.hop_set.name}: {len(bench.questions)} held-out questions, "
            f"{len(bench.hop_set.passages)} passages, k = {args.k}; {args.model}, {args.dtype}, "
            f"{args.threads} threads; relevance by {args.relevance}",
            flush=True,
        )
        if bench.relevance:
            print(
                f"relevance learnt from {bench.relevance.examples} hops of the training questions: "
                f"there it kept {bench.relevance.kept_share:.1%} of the words and "
                f"{bench.relevance.answers_kept:.1%} of the answers"
            )
        if set(args.parts) & set("abd"):
            for name in filter(None, args.engines.split(",")):
                found[name] = await _on_engine(bench, name)
        if "b" in args.parts:
            found["simulated"] = await unchanged_simulated(bench)
        if "c" in args.parts:
            found["prefetch"] = await prefetching(bench)
        bench.retriever.close()
    return found


async def _on_engine(bench: Bench, name: str) -> dict[str, Any]:
    from transformers import AutoTokenizer

    from pipelines.data.sample import resolve_model

    engine = open_engine(name, bench.args)
    tokenizer = AutoTokenizer.from_pretrained(str(resolve_model(bench.args.model)))
    side = Side(bench, engine, tokenizer)
    found: dict[str, Any] = {}
    try:
        if "a" in bench.args.parts:
            found["live"] = await live(side, name)
        if "b" in bench.args.parts:
            found["short answers"] = await short_answers(side, name)
        if "d" in bench.args.parts:
            found["rsus"] = await rsus_share(side, name)
    finally:
        await engine.close()
    return found


# --- (a) -----------------------------------------------------------------------------------------


async def live(side: Side, name: str) -> dict[str, Any]:
    """Costs of every retrieval on both sides, paired."""
    bench = side.bench
    overhead: dict[str, list[float]] = {"ours": [], "naive": []}
    first: dict[str, list[float]] = {"ours": [], "naive": []}
    missed: dict[str, list[float]] = {"ours": [], "naive": []}
    evidence, cached, prompts = [], 0, 0
    decider = FixedInterval(1, Formulation(bench.args.formulation), Integration.SENTENCES)
    questions = bench.questions[: bench.args.cases + 1]
    for turn in range(bench.args.rounds):
        for number, question in enumerate(questions):
            run = f"{name} {turn} {number}"
            ours_parts, naive_parts = bench.parts(ours=True), bench.parts(ours=False)
            ours = await reason(side.reasoner(question, ours_parts, run=run), decider)
            naive_reasoner = side.reasoner(question, naive_parts, run=run, keep=False)
            naive = await reason(naive_reasoner, Repeat(ours))
            if turn == number == 0:
                continue  # warms up
            cached += ours.usage.cached_tokens
            prompts += ours.usage.prompt_tokens
            for a, b in _pairs(ours, naive):
                assert a.evidence
                assert b.evidence
                evidence.append(a.evidence)
                for side_name, record in (("ours", a), ("naive", b)):
                    overhead[side_name].append(_overhead(record))
                    first[side_name].append(record.resume_s)
                if not a.evidence.prefetched:
                    missed["ours"].append(a.evidence.search_s)
                    missed["naive"].append(b.evidence.search_s)
    if not evidence:
        print(f"(a) {name}: no retrieval took place on both sides: give more --cases or --steps")
        return {}
    print(f"\n(a) {name}: {len(evidence)} retrievals on both sides", flush=True)
    ratios = {}
    for title, values, wanted in (
        ("seconds a retrieval", overhead, OVERHEAD),
        ("seconds to the first token", first, FIRST_TOKEN),
    ):
        for side_name, row in values.items():
            print(f"  {title:27} {side_name:6} {spread(row)}")
        ratios[title] = statistics.median(values["naive"]) / statistics.median(values["ours"])
        verdict(f"{title}, naive / ours", ratios[title], wanted, at_least=True)
    kept = sum(e.kept_tokens for e in evidence) / max(1, sum(e.fetched_tokens for e in evidence))
    verdict("kept share of the evidence", kept, KEPT, at_least=False, percent=True)
    hits = sum(e.prefetched for e in evidence) / len(evidence)
    print(f"  prefetched {hits:.0%} (paper {PAPER_HITS:.0%}); prefix found again: ", end="")
    print(f"{cached / max(1, prompts):.1%} of the tokens before each writing")
    parts = {part: [getattr(e, part) for e in evidence] for part in ("search_s", "integrate_s")}
    for part, row in parts.items():
        print(f"  {part:27} ours   {spread(row)}")
    return {"overhead": overhead, "first_token": first, "ratios": ratios, "kept": kept,
            "hits": hits, "missed": missed, "cached": cached, "prompts": prompts}  # fmt: skip


def _pairs(ours: Chain, naive: Chain) -> list[tuple[StepRecord, StepRecord]]:
    """Retrievals after the steps of one index that both went on from."""
    rows = [
        {r.step.index: r for r in chain.steps if r.evidence and r.resume_s > 0}
        for chain in (ours, naive)
    ]
    return [(rows[0][index], rows[1][index]) for index in rows[0] if index in rows[1]]


def _overhead(record: StepRecord) -> float:
    assert record.evidence
    return record.evidence.search_s + record.evidence.integrate_s + record.resume_s


# --- (b) -----------------------------------------------------------------------------------------


async def unchanged_simulated(bench: Bench) -> dict[str, Any]:
    """Answers of the simulated reasoner with kept sentences and with whole passages."""
    from pipelines.realm.simulated import SimulatedSessions

    questions = [q for q in bench.questions if q.decomposition][: bench.args.simulated]
    answers: dict[Integration, dict[str, str]] = {}
    shares: dict[Integration, float] = {}
    for integration in (Integration.SENTENCES, Integration.WHOLE):
        engine = SimulatedSessions(bench.hop_set.questions, bench.hop_set.passages, seed=0)
        side, parts = Side(bench, engine), bench.parts(ours=False)
        decider = FixedInterval(1, Formulation(bench.args.formulation), integration)
        chains = run_chains(questions, lambda q: side.reasoner(q, parts), decider, 8)  # noqa: B023
        answers[integration] = {chain.question_id: chain.answer async for chain in chains}
        assert isinstance(parts.integrator, EvidenceIntegrator)
        shares[integration] = parts.integrator.totals[integration].kept_share
        await engine.close()
    some, everything = answers[Integration.SENTENCES], answers[Integration.WHOLE]
    same = [normalise(some[q.id]) == normalise(everything[q.id]) for q in questions]
    scores = {
        integration: statistics.mean(f1(held[q.id], q.answers) for q in questions)
        for integration, held in answers.items()
    }
    print(f"\n(b) SIMULATED reasoner, {len(questions)} questions, retrieval after every step")
    kept = shares[Integration.SENTENCES]
    verdict("kept share of the evidence", kept, KEPT, at_least=False, percent=True)
    share = statistics.mean(same)
    verdict("answers unchanged", share, UNCHANGED, at_least=True, percent=True)
    print(
        f"  F1 {scores[Integration.SENTENCES]:.3f} with kept sentences, "
        f"{scores[Integration.WHOLE]:.3f} with whole passages",
        flush=True,
    )
    return {"kept": kept, "unchanged": share, "f1": {str(k): v for k, v in scores.items()}}


async def short_answers(side: Side, name: str) -> dict[str, Any]:
    """The model's answer right after the evidence of a hop: kept sentences or whole passages
    behind the same words."""
    bench = side.bench
    integrator = EvidenceIntegrator(bench.scorer(), count=bench.counter.count)
    same, scores = [], {Integration.SENTENCES: [0.0], Integration.WHOLE: [0.0]}
    for values in scores.values():
        values.clear()
    for question in bench.questions[: bench.args.short]:
        query, gold = _first_hop(question)
        passages = await bench.retriever.search(query, bench.limits.k)
        if not isinstance(passages, tuple) or not passages:
            continue
        made = {}
        for integration in scores:
            text, _ = await integrator.take_in(question.text, query, passages, integration)
            prompt = side.prompt(question, "")
            session = side.engine.open(prompt.text, Sampling(16, 0.0), key=question.id)
            session.append(f"I look this up: {query}\n{evidence_block(text)}")
            (piece,) = await session.ask(f"{query} The answer is:", Sampling(16, 0.0))
            await session.close()
            made[integration] = clean_answer(piece.text.split("\n")[0])
            scores[integration].append(f1(made[integration], [gold]))
        same.append(len({normalise(answer) for answer in made.values()}) == 1)
    share = statistics.mean(same) if same else 0.0
    print(f"\n(b) {name}: the model's short answer to the first hop, {len(same)} questions")
    verdict("answers unchanged", share, UNCHANGED, at_least=True, percent=True)
    means = {integration: statistics.mean(row or [0.0]) for integration, row in scores.items()}
    print("  F1 " + ", ".join(f"{value:.3f} {key}" for key, value in means.items()), flush=True)
    return {"unchanged": share, "f1": {str(key): value for key, value in means.items()}}


def _first_hop(question: HopQuestion) -> tuple[str, str]:
    if not question.decomposition:
        return question.text, question.answers[0]
    return question.decomposition[0].question, question.decomposition[0].answer


# --- (c) -----------------------------------------------------------------------------------------


async def prefetching(bench: Bench) -> dict[str, Any]:
    """Searches that no guess met, with guesses running before them and without."""
    draw = random.Random(0)
    queries = []
    for question in bench.questions:
        answers: list[str] = []
        for hop in question.decomposition:
            queries.append(filled_in(hop.question, answers))
            answers.append(hop.answer)
    queries = list(dict.fromkeys(queries or [q.text for q in bench.questions]))
    draw.shuffle(queries)
    asked, wrong = queries[: bench.args.searches], queries[bench.args.searches :] or queries
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    loop = asyncio.get_running_loop()
    cache = SpeculativeCache(bench.retriever, capacity=1)
    for number, query in enumerate(asked):
        for side in ("with", "without") if number % 2 else ("without", "with"):
            if side == "with":
                cache.prefetch(draw.sample(wrong, min(3, len(wrong))), bench.limits.k)
            await asyncio.sleep(draw.uniform(0, bench.args.gap_s))
            searcher = cache if side == "with" else bench.retriever
            started = loop.time()
            await searcher.search(query, bench.limits.k)
            seconds[side].append(loop.time() - started)
    await cache.close()
    print(f"\n(c) prefetch: {len(asked)} searches that miss, three wrong guesses before each")
    for side, row in seconds.items():
        print(f"  milliseconds {side:8} {spread([1000 * value for value in row])}")
    slower = statistics.median(seconds["with"]) / statistics.median(seconds["without"]) - 1
    verdict("a miss is slower by", slower, MISS, at_least=False, percent=True)
    mean = statistics.mean(seconds["with"]) / statistics.mean(seconds["without"]) - 1
    print(f"  by the means: {mean:+.1%}")
    totals = [cache.totals for cache in bench.caches]
    searches = sum(each.searches for each in totals)
    hits = sum(each.hits + each.late for each in totals)
    if searches:
        print(
            f"  hit rate of all searches of (a): {hits / searches:.0%} of {searches} "
            f"(paper {PAPER_HITS:.0%}); {sum(each.started for each in totals)} prefetches run",
            flush=True,
        )
    return {"seconds": seconds, "slower": slower, "hits": hits, "searches": searches}


# --- (d) -----------------------------------------------------------------------------------------


async def rsus_share(side: Side, name: str) -> dict[str, Any]:
    """Seconds in RSUS as a share of the seconds in which the chains were written."""
    from pipelines.realm.uncertainty.opening import open_proxy
    from pipelines.realm.uncertainty.rsus import RsusMeter, RsusSettings

    bench, found = side.bench, {}
    print(f"\n(d) {name}: RSUS after every step")
    kinds = ["ask", *(["proxy"] if bench.args.proxy else [])]
    for kind in kinds:
        proxy = open_proxy(bench.args.proxy) if kind == "proxy" else None
        meter = RsusMeter(
            RsusSettings(verbal=kind), retriever=bench.retriever, titles=bench.titles, proxy=proxy
        )
        written = decided = 0.0
        for number, question in enumerate(bench.questions[: bench.args.cases]):
            run = f"rsus {kind} {number}"
            parts = bench.parts(ours=True, meter=meter)
            chain = await reason(side.reasoner(question, parts, run=run), Measure())
            written += sum(record.write_s for record in chain.steps)
            decided += sum(record.decide_s for record in chain.steps)
        share = decided / written if written else 0.0
        verdict(f"share of generation, {kind}", share, RSUS, at_least=False, percent=True)
        costs = meter.costs
        each = ", ".join(
            f"{part} {cost.seconds:.2f} s ({cost.steps})" for part, cost in costs.parts.items()
        )
        print(f"  {costs.steps} steps, {written:.1f} s written; {each}", flush=True)
        found[kind] = {"share": share, "costs": costs.to_json(), "written": written}
    return found


# --- shared --------------------------------------------------------------------------------------


def spread(values: Sequence[float]) -> str:
    """Median, and least to most."""
    return f"{statistics.median(values):8.3f} ({min(values):.3f} to {max(values):.3f})"


def verdict(
    title: str, value: float, wanted: float, *, at_least: bool, percent: bool = False
) -> None:
    """Prints a value beside what is wanted of it."""
    shown, target = (f"{value:.1%}", f"{wanted:.0%}") if percent else (f"{value:.2f}", f"{wanted}")
    good = value >= wanted if at_least else value <= wanted
    bound = "at least" if at_least else "at most"
    print(f"  {title}: {shown} ({bound} {target}): {'PASS' if good else 'SHORT OF IT'}")


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.realm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--questions", type=Path, default=None, help="a multi-hop set; left out: invented")
    add("--invented", type=int, default=240, help="questions that are invented")
    add("--engines", default="vllm,transformers")
    add("--parts", default="abcd")
    add("--model", default="smollm2")
    add("--dtype", default="bfloat16")
    add("--threads", type=int, default=2)
    add("--context", type=int, default=4096)
    add("--relevance", choices=("words", "words+embeddings", "cosine"), default="words+embeddings")
    add("--vectors", type=Path, default=None, help="where sentence vectors are kept between runs")
    add("--kept-share", type=float, default=0.23, help="of the training text")
    add("--formulation", default="entity", choices=("step", "entity", "gap"))
    add("--k", type=int, default=5)
    add("--cases", type=int, default=6, help="questions of (a) and (d)")
    add("--rounds", type=int, default=2)
    add("--steps", type=int, default=6)
    add("--calls", type=int, default=3)
    add("--tokens", type=int, default=300)
    add("--short", type=int, default=30, help="short answers of (b)")
    add("--simulated", type=int, default=200, help="questions of the simulated reasoner")
    add("--searches", type=int, default=300)
    add("--gap-s", type=float, default=0.1, help="the longest pause between guess and search")
    add("--proxy", default="", help="a folder of `seekray realm train-proxy`, for (d)")
    add("--json", type=Path, default=None)
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
