"""What fixed query forms find on the held-out tasks: how far a rewriter could get without learning.

    python -m bench.templates [--config basic/smollm2] [OVERRIDES ...]

Prints Recall@K of every form in PubMed's order (most recent first) and by relevance (BM25), on all
held-out tasks and on each kind of them.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean

from rich.console import Console
from rich.table import Table

from actors.search.engine import PubMedEngine
from actors.search.index import open_index
from actors.search.types import SearchRequest, SearchResult
from configs.load import load_rewriter
from pipelines.data.load import load_records, load_tasks
from pipelines.data.split import kind_of
from pipelines.data.task import Task
from pipelines.deepretrieval.baselines import BASELINES
from pipelines.deepretrieval.corpora import ensure_index
from pipelines.deepretrieval.reward import recall
from pipelines.deepretrieval.warmup import sides
from pipelines.progress import RichReporter


def truncated(word: str, letters: int = 3) -> str:
    """The word cut by up to `letters`, four letters at least being left."""
    return word if len(word) <= 4 else word[: max(4, len(word) - letters)] + "*"


def any_truncated_of_each_side(task: Task) -> str:
    """(any truncated word of P) AND (any truncated word of I)."""
    groups = ([truncated(word) for word in words] for _, words in sides(task.need))
    return " AND ".join(f"({' OR '.join(words)})" for words in groups)


def first_word(task: Task) -> str:
    """The population's first word alone."""
    return sides(task.need)[0][1][0]


FORMS: dict[str, Callable[[Task], str]] = {
    **BASELINES,
    "first word": first_word,
    "any P word* AND any I word*": any_truncated_of_each_side,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="basic/smollm2")
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_args(arguments)
    config = load_rewriter(given.config, given.overrides)
    reporter = RichReporter()
    records = load_records(config.data, report=reporter.say)
    tasks = load_tasks(config.data, records, report=reporter.say).test
    folder = ensure_index(records, config.search.fields, config.data.corpus, reporter.say)
    engine = PubMedEngine(open_index(folder))
    kinds = sorted({kind_of(task) for task in tasks})
    table = Table("query", "order", f"Recall@{config.search.k}", *kinds)
    for name, form in FORMS.items():
        for order in ("recent", "relevance"):
            found: dict[str, list[float]] = defaultdict(list)
            for task in tasks:
                request = SearchRequest(form(task), config.search.k, task.date_to, order)
                outcome = engine.search(request)
                hits = outcome.ids if isinstance(outcome, SearchResult) else ()
                found[kind_of(task)].append(recall(hits, task.relevant))
            every = [value for values in found.values() for value in values]
            figures = [fmean(every), *(fmean(found[kind]) for kind in kinds)]
            table.add_row(name, order, *(f"{figure:.3f}" for figure in figures))
    Console().print(table)


if __name__ == "__main__":
    main()
