"""What simple query forms find of ten systematic reviews: recall and number of hits.

    python -m bench.recall --corpus corpus.jsonl.gz --reviews queries_sr.jsonl

Each form is made from a review's PICO text alone, run on the whole corpus up to the review's date,
and judged on all of its hits: a form that floods the reviewer shows it in the number of hits. The
human Boolean query is among the forms where the review's line has one (`human_query`).
"""

import argparse
import re
import statistics
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.types import SearchRequest, SearchResult
from pipelines.data.query_files import read_corpus, read_query_file
from pipelines.data.task import Pico, Task
from pipelines.deepretrieval.baselines import all_words, any_of_each_side, any_word, human
from pipelines.deepretrieval.warmup import content_words

TRIAL_FILTER = "(randomized controlled trial[pt] OR random*[tiab] OR placebo[tiab])"


def fields(task: Task) -> Pico:
    """The review's PICO. ValueError where the need is free text."""
    if not isinstance(task.need, Pico):
        raise ValueError(f"{task.id} has no PICO fields")
    return task.need


def ored(text: str) -> str:
    """Any content word of a text."""
    return f"({' OR '.join(content_words(text))})"


def names(task: Task) -> str:
    """Any of the names that the intervention lists in parentheses, else any word of it."""
    listed = re.search(r"\(([^)]*)\)", fields(task).intervention)
    parts = [p.strip() for p in listed[1].split(",")] if listed else []
    terms = [f'"{p}"' if " " in p else p for p in parts if len(p) > 3]
    return f"({' OR '.join(terms)})" if len(terms) > 1 else ored(fields(task).intervention)


FORMS: dict[str, Callable[[Task], str]] = {
    "all words ANDed": all_words,
    "any word of each of P, I, C, O, ANDed": any_of_each_side,
    "any P word AND any I word": lambda t: (
        f"{ored(fields(t).population)} AND {ored(fields(t).intervention)}"
    ),
    "intervention names ORed": names,
    "names AND any P word": lambda t: f"{names(t)} AND {ored(fields(t).population)}",
    "names AND trial filter": lambda t: f"{names(t)} AND {TRIAL_FILTER}",
    "any word of all fields": any_word,
    "human query": human,
}


def main() -> None:
    """Build, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, nargs="+", required=True)
    parser.add_argument("--reviews", type=Path, required=True)
    args = parser.parse_args()

    records = read_corpus(args.corpus)
    engine = PubMedEngine(build_index(records))
    known = {record.id for record in records}
    tasks = read_query_file(args.reviews)
    table = Table(title=f"{len(tasks)} reviews, {len(records):,} records; recall / hits")
    table.add_column("form")
    for task in tasks:
        table.add_column(task.id.removeprefix("sr-")[:10], justify="right")
    table.add_column("mean recall", justify="right")
    table.add_column("median hits", justify="right")
    for form, make in FORMS.items():
        cells, recalls, hits = [], [], []
        for task in tasks:
            query = make(task)
            if not query:
                cells.append("none")
                continue
            outcome = engine.search(SearchRequest(query, len(records), task.date_to))
            if not isinstance(outcome, SearchResult):
                raise SystemExit(f"{task.id}: {query}: {outcome}")
            relevant = task.relevant & known
            recall = len(relevant.intersection(outcome.ids)) / len(relevant)
            recalls.append(recall)
            hits.append(outcome.total)
            cells.append(f"{recall:.2f} / {outcome.total:,}")
        mean = f"{statistics.fmean(recalls):.3f}" if recalls else "none"
        median = f"{statistics.median(hits):,.0f}" if hits else ""
        table.add_row(form, *cells, mean, median)
    Console(width=220).print(table)


if __name__ == "__main__":
    main()
