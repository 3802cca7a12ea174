"""Ranked retrieval by BM25, beside bm25s: the same words, the same parameters, the same rankings.

    python -m bench.ranking [--set FOLDER | --records 30000]

Both sides index the same words of the same texts (SeekRay's own splitting, no stemming) and rank
the first 100 for the same bags of words, one thread. Sides take turns query by query. Seconds are
CPU seconds of this process. Equal: the same ids in the first ten, up to ties.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

import bm25s
import numpy as np

from actors.search.ranking.analysis import Analysis
from actors.search.ranking.folder import build_passages_index, open_engine
from actors.search.text import words
from actors.search.types import SearchRequest, SearchResult
from configs.schema import DataConfig
from pipelines.data.ir_sets import Passage, load_ir_set
from pipelines.data.load import load_records


def main() -> None:
    """Build, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", type=Path, help="a collection's folder; its queries are used")
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--k", type=int, default=100)
    args = parser.parse_args()

    if args.set:
        ir_set = load_ir_set(args.set)
        passages = list(ir_set.corpus)
        queries = [query.text for query in ir_set.judged][: args.queries]
    else:
        sample = load_records(DataConfig(corpus="pubmed-sample", abstracts_only=False))
        passages = [Passage(r.id, r.title, r.abstract) for r in sample[: args.records]]
        rng = random.Random(0)
        queries = [" ".join(words(rng.choice(passages).title)[:8]) for _ in range(args.queries)]
    queries = [query for query in queries if words(query)]
    with tempfile.TemporaryDirectory(prefix="bench-ranking-") as scratch:
        folder = Path(scratch) / "index"
        start = time.process_time()
        build_passages_index(passages, folder, corpus="bench", analysis=Analysis("", False))
        print(f"SeekRay: {len(passages):,} texts indexed in {time.process_time() - start:.1f} s")
        engine = open_engine(folder, "bm25")
        start = time.process_time()
        tokens = [words(f"{p.title} {p.text}") for p in passages]
        reference = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        reference.index(tokens, show_progress=False)
        print(f"bm25s: indexed in {time.process_time() - start:.1f} s")
        ids = np.array([p.id for p in passages])
        seconds: dict[str, list[float]] = {"SeekRay": [], "bm25s": []}
        equal = 0
        for turn in range(args.rounds):
            for query in queries:
                start = time.process_time()
                ours = engine.search(SearchRequest(query, args.k, order="relevance", syntax="bag"))
                middle = time.process_time()
                bag = [words(query)]
                found, scores = reference.retrieve(bag, k=args.k, show_progress=False)
                theirs = ids[found[0]]
                seconds["SeekRay"].append(middle - start)
                seconds["bm25s"].append(time.process_time() - middle)
                assert isinstance(ours, SearchResult)
                if turn == 0:
                    least = scores[0][9]
                    sure = {
                        i for i, s in zip(theirs[:10], scores[0][:10], strict=True) if s > least
                    }
                    equal += sure <= set(ours.ids[:10])
    print(f"equal first ten: {equal} of {len(queries)} queries")
    medians = {}
    for name, values in seconds.items():
        medians[name] = statistics.median(values)
        p95 = sorted(values)[int(0.95 * len(values))]
        print(f"{name:8} median {medians[name] * 1e3:.3f} ms, p95 {p95 * 1e3:.3f} ms")
    print(f"bm25s / SeekRay: {medians['bm25s'] / medians['SeekRay']:.2f}")


if __name__ == "__main__":
    main()
