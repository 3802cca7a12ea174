"""Boolean queries a second of the PubMed engine, side by side with tantivy's own query parser.

    python -m bench.search [--corpus PATH] [--queries 3000] [--repeats 5] [--k 100]

Both sides answer the same queries on the same store in one process: parse, exact total, first K by
date. Queries are made from pairs of MeSH headings of one record, fully parenthesised, so that both
languages read them alike; where a quoted phrase is in no record PubMed's rules drop the quotes and
totals differ, and the share of equal totals is printed. The first pass over the queries, with
nothing in the term cache, is timed apart; repeats then alternate between the sides. Seconds are CPU
seconds of this process, which has one thread: what else the machine does changes them little.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tantivy

from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.pubmed.terms import STOP_WORDS
from actors.search.text import words
from actors.search.types import Record, SearchRequest, SearchResult
from configs.schema import DataConfig
from pipelines.data.load import load_records

FIELDS = ("title", "abstract")

Run = Callable[[str], int]  # a query to its total


def make_queries(records: Sequence[Record], count: int, seed: int) -> list[str]:
    """`count` different queries: two concepts ANDed, now and then a third one ORed."""
    rng = random.Random(seed)
    headings = sorted({h.descriptor for record in records for h in record.mesh})
    pairs = [record.mesh for record in records if len(record.mesh) > 1]
    if not pairs:
        raise SystemExit("the corpus has no records with two MeSH headings to make queries from")
    queries: dict[str, None] = {}
    for _ in range(50 * count):
        first, second = rng.sample(rng.choice(pairs), 2)
        left = concept(first.descriptor, rng)
        right = concept(second.descriptor, rng)
        if not left or not right:
            continue
        query = f"({left} AND {right})"
        if rng.random() < 0.2 and (third := concept(rng.choice(headings), rng)):
            query = f"({query} OR {third})"
        queries[query] = None
        if len(queries) == count:
            break
    return list(queries)


def concept(heading: str, rng: random.Random) -> str:
    """A heading as rewriters put it: one to three alternatives, from its words and a plural."""
    found = [word for word in words(heading) if word not in STOP_WORDS]
    if not found:
        return ""
    main = found[0]
    ways = [main, found[-1], main[:-1] if main.endswith("s") else f"{main}s"]
    if len(found) > 1:
        ways += [f'"{" ".join(words(heading))}"', f"({' AND '.join(found)})"]
    chosen = rng.sample(list(dict.fromkeys(ways)), rng.randint(1, min(3, len(set(ways)))))
    return f"({' OR '.join(chosen)})" if len(chosen) > 1 else chosen[0]


def tantivy_side(folder: Path, ids: np.ndarray, k: int) -> Run:
    """The reference: tantivy's query parser and collector over the same store."""
    store = tantivy.Index.open(str(folder / "tantivy"))
    searcher = store.searcher()

    def run(query: str) -> int:
        parsed = store.parse_query(query, list(FIELDS))
        found = searcher.search(
            parsed, k, count=True, order_by_field="ordinal", order=tantivy.Order.Asc
        )
        tuple(ids[[ordinal for ordinal, _ in found.hits]].tolist())
        return int(found.count)

    return run


def seekray_side(engine: PubMedEngine, k: int) -> Run:
    """The engine under test."""

    def run(query: str) -> int:
        outcome = engine.search(SearchRequest(query, k))
        if not isinstance(outcome, SearchResult):
            raise SystemExit(f"{query}: {outcome}")
        return outcome.total

    return run


def rate(run: Run, queries: Sequence[str]) -> tuple[float, list[int]]:
    """Queries a second of one core, and the totals."""
    start = time.process_time()
    totals = [run(query) for query in queries]
    return len(queries) / (time.process_time() - start), totals


def spread(name: str, rates: Sequence[float]) -> str:
    """Median, least and most of `rates` on one line."""
    low, high = min(rates), max(rates)
    return f"{name:8} {statistics.median(rates):8,.0f} queries/s   ({low:,.0f} to {high:,.0f})"


def main() -> None:
    """Build, time, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="pubmed-sample", help="as `data.corpus` of a config")
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    records = load_records(DataConfig(corpus=args.corpus))
    queries = make_queries(records, args.queries, args.seed)
    with tempfile.TemporaryDirectory(prefix="bench-search-") as scratch:
        folder = Path(scratch) / "index"
        start = time.perf_counter()
        index = build_index(records, folder, FIELDS, args.corpus)
        print(f"{index.size:,} records indexed in {time.perf_counter() - start:.1f} s")
        print(f"{len(queries):,} different queries, first {args.k} hits by date, one thread")
        print("for example:", *queries[:4], sep="\n  ")
        ours = seekray_side(PubMedEngine(index), args.k)
        theirs = tantivy_side(folder, np.asarray(index.arrays.ids).astype(object), args.k)
        cold, totals = rate(ours, queries)
        _, reference = rate(theirs, queries)
        equal = sum(a == b for a, b in zip(totals, reference, strict=True)) / len(queries)
        print(f"totals: median {statistics.median(totals):,.0f}, equal on both sides {equal:.1%}")
        print(f"seekray, first pass, term cache empty at its start: {cold:,.0f} queries/s")
        rates: dict[str, list[float]] = {"seekray": [], "tantivy": []}
        for _ in range(args.repeats):
            rates["seekray"].append(rate(ours, queries)[0])
            rates["tantivy"].append(rate(theirs, queries)[0])
    for name, values in rates.items():
        print(spread(name, values))
    ratios = [a / b for a, b in zip(rates["seekray"], rates["tantivy"], strict=True)]
    print(f"ratio    {statistics.median(ratios):8.2f}   ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
