"""Boolean queries a second, beside SQLite FTS5, tantivy, Whoosh-reloaded and Lucene.

    python -m bench.search [--records 1000000] [--queries FILE.jsonl] [--peers fts5,tantivy]

All sides hold the same records in the same order (peers the columns that review queries ask for
most), in one process with one thread (Lucene: one Java thread), and answer the same queries: parse,
exact total, first K by date.
Peers get each query in their own grammar, written from SeekRay's reading of it; what a grammar
cannot say (dates, proximity, truncation that PubMed cuts at 600 forms) is left out there and
counted. Only queries whose total and first K are the same on both sides enter a ratio. Sides take
turns query by query, in a new order every round. Seconds are CPU seconds of this process (Lucene
times itself). SeekRay keeps single terms in a bounded cache and no query's result; its first round
starts with that cache empty and is shown apart.

Without --queries the queries are made from pairs of MeSH headings of one record; a file holds
`query` and perhaps `syntax` a line. Above 30,000 records the corpus is synthetic, recombined from
the sample's records. Lucene takes part with --lucene JAR (any jar with its core and queryparser,
such as Anserini's); Whoosh only up to --whoosh-records (it indexes slowly).
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from actors.search.engine import PubMedEngine, QueryPlan
from actors.search.index import RecordIndex, build_index, open_index
from actors.search.ovid import looks_like_ovid
from actors.search.pubmed.terms import STOP_WORDS
from actors.search.text import words
from actors.search.types import Record, SearchRequest, SearchResult
from bench.peers.engines import COLUMNS, Fts5, Lucene, Peer, Tantivy, Whoosh, row_of
from bench.peers.language import InexpressibleError
from configs.schema import DataConfig
from pipelines.data.load import load_records
from pipelines.data.synthetic import synthetic_records

OURS = "SeekRay"
WHOOSH_RECORDS = 30_000


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
        ways += [
            f'"{" ".join(words(heading))}"',
            f"({' AND '.join(f'{word}[tiab]' for word in found)})",
        ]
    chosen = rng.sample(list(dict.fromkeys(ways)), rng.randint(1, min(3, len(set(ways)))))
    tagged = [way if way.startswith("(") else f"{way}[tiab]" for way in chosen]
    return f"({' OR '.join(tagged)})" if len(tagged) > 1 else tagged[0]


def read_queries(path: Path) -> list[tuple[str, str]]:
    """(query, syntax) of every line; Ovid where `syntax` says so."""
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        query, syntax = values["query"], values.get("syntax", "")
        if syntax not in ("pubmed", "ovid"):
            syntax = "ovid" if looks_like_ovid(query) else "pubmed"
        out.append((query, syntax))
    return out


class Ours:
    """SeekRay: the whole way from the query's text."""

    name = OURS

    def __init__(self, index: RecordIndex) -> None:
        self.index = index
        self.engine = PubMedEngine(index)

    def search(self, query: str, syntax: str, k: int) -> tuple[int, tuple[str, ...]] | None:
        """Total and the first K ids; None for a query error."""
        outcome = self.engine.search(SearchRequest(query, k, syntax=syntax))
        return (outcome.total, outcome.ids) if isinstance(outcome, SearchResult) else None


def rows(index: RecordIndex, records: Iterable[Record]) -> list[tuple[str, ...]]:
    """The columns of every record, in the index's order."""
    ordinals = {id_: n for n, id_ in enumerate(index.ids[list(range(index.size))])}
    out: list[tuple[str, ...]] = [()] * index.size
    for record in records:
        row = row_of(record)
        out[ordinals[record.id]] = tuple(row.get(name, "") for name in COLUMNS)
    return out


def timed(run: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    run()
    return time.process_time() - start


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(values: Sequence[float]) -> str:
    """Median, 95th percentile and mean."""
    return (
        f"median {statistics.median(values) * 1e3:8.3f} ms, p95 "
        f"{percentile(values, 0.95) * 1e3:8.3f} ms, mean {statistics.fmean(values) * 1e3:8.3f} ms"
    )


def build_peers(
    names: Iterable[str],
    index: RecordIndex,
    records: Iterable[Record],
    scratch: Path,
    args: argparse.Namespace,
) -> list[Peer]:
    """The peers asked for, filled with the index's records."""
    columns = COLUMNS
    peers: list[Peer] = []
    table = rows(index, records)
    for name in names:
        if name == "whoosh" and index.size > args.whoosh_records:
            print(f"Whoosh-reloaded left out above {args.whoosh_records:,} records")
            continue
        if name == "lucene" and not args.lucene:
            print("Lucene left out: give --lucene JAR")
            continue
        peer: Fts5 | Tantivy | Whoosh | Lucene
        if name == "fts5":
            peer = Fts5(scratch / "fts5.db", columns)
        elif name == "tantivy":
            peer = Tantivy(scratch / "tantivy-peer", columns)
        elif name == "whoosh":
            peer = Whoosh(scratch / "whoosh", columns)
        else:
            peer = Lucene(scratch / "lucene", columns, args.lucene)
        start = time.perf_counter()
        peer.fill(dict(zip(columns, row, strict=True)) for row in table)
        print(f"{peer.name}: filled in {time.perf_counter() - start:.0f} s", flush=True)
        peers.append(peer)
    return peers


def compare(
    ours: Ours,
    peers: Sequence[Peer],
    queries: Sequence[tuple[str, str]],
    k: int,
    rounds: int,
    seed: int,
) -> None:
    """Rounds over all queries, sides in turn, then the table."""
    ids = [str(id_) for id_ in ours.index.ids[list(range(ours.index.size))]]
    runnable = [(q, s) for q, s in queries if ours.search(q, s, k) is not None]
    print(f"{len(queries)} queries, {len(queries) - len(runnable)} of them query errors")
    ours = Ours(ours.index)  # an empty cache
    cold = [timed(lambda q=q, s=s: ours.search(q, s, k)) for q, s in runnable]
    print(f"{OURS}, first round, empty cache: {milliseconds(cold)}")
    plans = [ours.engine.plan(SearchRequest(q, k, syntax=s)) for q, s in runnable]
    said: dict[str, dict[int, str]] = {peer.name: {} for peer in peers}
    for peer in peers:
        reasons: Counter[str] = Counter()
        for number, plan in enumerate(plans):
            assert isinstance(plan, QueryPlan)
            try:
                text = peer.express(plan.query)
                total, numbers = peer.search(text, k)
            except InexpressibleError as error:
                reasons[f"cannot say: {error}"[:60]] += 1
                continue
            except Exception as error:  # a peer's own kind of refusal
                kind = type(error)
                if kind.__module__.split(".")[0] not in (
                    "sqlite3",
                    "whoosh",
                    "tantivy",
                    "builtins",
                ):
                    raise
                reasons[f"refused: {error}"[:60]] += 1
                continue
            if ours.search(*runnable[number], k) == (total, tuple(ids[n] for n in numbers)):
                said[peer.name][number] = text
            else:
                reasons["another total or other hits"] += 1
        same = len(said[peer.name])
        print(f"{peer.name}: {same} of {len(runnable)} queries with the same total and first {k}")
        for reason, count in reasons.most_common(5):
            print(f"  left out {count}: {reason}")
    seconds: dict[str, dict[int, list[float]]] = {
        name: {} for name in (OURS, *(peer.name for peer in peers))
    }
    order = list(range(len(runnable)))
    for turn in range(rounds):
        random.Random(f"{seed}/{turn}").shuffle(order)
        for number in order:
            query, syntax = runnable[number]
            sides = [OURS, *(p.name for p in peers if number in said[p.name])]
            random.Random(f"{seed}/{turn}/{number}").shuffle(sides)
            for side in sides:
                if side == OURS:
                    took = timed(lambda q=query, s=syntax: ours.search(q, s, k))
                else:
                    peer = next(p for p in peers if p.name == side)
                    text = said[side][number]
                    took = timed(lambda p=peer, t=text: p.search(t, k))
                    took = getattr(peer, "seconds", took)
                seconds[side].setdefault(number, []).append(took)
    report(seconds, rounds)


def report(seconds: dict[str, dict[int, list[float]]], rounds: int) -> None:
    """Per side, and the ratios on the queries that both sides answer alike."""
    mine = {number: statistics.median(values) for number, values in seconds[OURS].items()}
    print(f"\n{OURS:16} {len(mine):4} queries: {milliseconds(list(mine.values()))}")
    for name, found in seconds.items():
        if name == OURS or not found:
            continue
        theirs = {number: statistics.median(values) for number, values in found.items()}
        own = [mine[number] for number in theirs]
        print(f"{name:16} {len(theirs):4} queries: {milliseconds(list(theirs.values()))}")
        print(f"{'  ' + OURS:16} on the same:  {milliseconds(own)}")
        ratio = statistics.median(theirs.values()) / statistics.median(own)
        each = [
            statistics.median([found[n][turn] for n in found])
            / statistics.median([seconds[OURS][n][turn] for n in found])
            for turn in range(rounds)
        ]
        paired = statistics.median(theirs[n] / mine[n] for n in theirs)
        whole = sum(theirs.values()) / sum(own)
        print(
            f"  {name} / {OURS}: {ratio:.1f} of the medians (rounds {min(each):.1f} to "
            f"{max(each):.1f}), {paired:.1f} median of each query's ratio, {whole:.1f} of the sums"
        )


def memory(folder: Path, queries: Path | None) -> None:
    """Resident memory of a fresh process that opens the index and runs the queries."""
    command = [sys.executable, "-m", "bench.search_memory", str(folder)]
    subprocess.run(command + ([str(queries)] if queries else []), check=True)


def main() -> None:
    """Build, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--queries", type=Path, help="JSON lines with `query`")
    parser.add_argument("--limit", type=int, default=600, help="at most that many queries")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers", default="fts5,tantivy,whoosh,lucene")
    parser.add_argument("--lucene", type=Path, metavar="JAR")
    parser.add_argument("--whoosh-records", type=int, default=WHOOSH_RECORDS)
    parser.add_argument("--index", type=Path, help="keep the index here and use it if it is there")
    args = parser.parse_args()

    sample = load_records(DataConfig(corpus="pubmed-sample", abstracts_only=False))
    if args.queries:
        queries = read_queries(args.queries)
    else:
        queries = [(query, "pubmed") for query in make_queries(sample, args.limit, args.seed)]
    random.Random(args.seed).shuffle(queries)
    queries = queries[: args.limit]
    with tempfile.TemporaryDirectory(prefix="bench-search-") as scratch_name:
        scratch = Path(scratch_name)
        folder = args.index or scratch / "index"
        synthetic = args.records > len(sample)

        def records() -> Iterable[Record]:
            if synthetic:
                return synthetic_records(sample, args.records, args.seed)
            return sample[: args.records]

        if args.index and args.index.exists():
            index = open_index(folder)
            if index.size != args.records:
                raise SystemExit(f"{folder} holds {index.size:,} records: give --records so many")
        else:
            made = timed(lambda: list(synthetic_records(sample, 20_000, 1)) if synthetic else None)
            made *= args.records / 20_000
            took = timed(lambda: build_index(records(), folder, corpus="bench")) - made
            index = open_index(folder)
            print(
                f"{OURS}: {index.size:,} records indexed, {index.size / took:,.0f} a CPU second "
                f"(making the records left out)",
                flush=True,
            )
        memory(folder, args.queries)
        names = [name for name in args.peers.split(",") if name]
        peers = build_peers(names, index, records(), scratch, args)
        compare(Ours(index), peers, queries, args.k, args.rounds, args.seed)


if __name__ == "__main__":
    main()
