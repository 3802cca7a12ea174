"""Batch throughput of the search fleet with 1 worker and with as many as there are cores.

    python -m bench.fleet [--index DIR] [--queries FILE.jsonl] [--batch 2000]

Replicas of one index share each batch; caches of results are off. Fleets of 1 and of N workers take
turns on the same batches, after one batch each to warm up; the ratio over N is the scaling. The
same batch is also run by one engine without Ray, to see what the actors cost.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from actors.search.engine import PubMedEngine
from actors.search.index import build_index, open_index
from actors.search.types import SearchRequest
from bench.search import make_queries, read_queries
from cluster.session import session
from configs.schema import DataConfig
from pipelines.data.load import load_records
from pipelines.search.fleet import FleetOptions, SearchFleet


def main() -> None:
    """Build, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--batch", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--k", type=int, default=100)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as scratch:
        folder = args.index
        queries = read_queries(args.queries) if args.queries else []
        if folder is None or not queries:
            sample = load_records(DataConfig(corpus="pubmed-sample", abstracts_only=False))
            queries = queries or [(q, "pubmed") for q in make_queries(sample, 600, 0)]
            if folder is None:
                folder = Path(scratch) / "index"
                build_index(sample, folder)
        requests = [
            SearchRequest(
                *queries[i % len(queries)][:1], args.k, syntax=queries[i % len(queries)][1]
            )
            for i in range(args.batch)
        ]
        print(f"{len(requests):,} queries a batch, {len(set(queries)):,} different", flush=True)
        engine = PubMedEngine(open_index(folder))
        options = [FleetOptions(replicas=n, cpus=1, cache_entries=0) for n in (1, args.workers)]
        with session("local", namespace="bench-fleet"):
            rates: dict[str, list[float]] = {"engine": [], "1": [], str(args.workers): []}
            for turn in range(args.rounds + 1):
                for option in options:
                    with SearchFleet(folder, option) as fleet:
                        fleet.search(_distinct(requests, turn, 1))
                        took = _timed(lambda f=fleet, t=turn: f.search(_distinct(requests, t, 2)))
                    if turn:
                        rates[str(option.replicas)].append(len(requests) / took)
                took = _timed(lambda: engine.search_many(requests))
                if turn:
                    rates["engine"].append(len(requests) / took)
        for name, values in rates.items():
            who = "one engine, no Ray" if name == "engine" else f"fleet of {name}"
            low, high = min(values), max(values)
            print(
                f"{who:20} {statistics.median(values):8,.0f} queries/s ({low:,.0f} to {high:,.0f})"
            )
        one, many = statistics.median(rates["1"]), statistics.median(rates[str(args.workers)])
        print(f"{args.workers} workers / 1 worker: {many / one:.2f}")


def _distinct(requests: list[SearchRequest], turn: int, part: int) -> list[SearchRequest]:
    """The same queries as different requests: a fleet runs equal ones once."""
    return [
        SearchRequest(r.query, r.k - (i + turn + part) % 7, syntax=r.syntax)
        for i, r in enumerate(requests)
    ]


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
