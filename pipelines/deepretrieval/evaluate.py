"""Evaluation on held-out tasks: models and baselines in one table."""

import json
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from actors.rollout.types import Completion, GenerationRequest, Sampling
from actors.search.types import SearchOutcome, SearchRequest
from cluster.session import session
from configs.schema import RewriterConfig
from pipelines.data.split import kind_of
from pipelines.data.task import Task
from pipelines.deepretrieval.answer import Answer
from pipelines.deepretrieval.app import App, app
from pipelines.deepretrieval.baselines import (
    baselines,
    human,
    pseudo_document_messages,
    pseudo_document_query,
)
from pipelines.deepretrieval.environment import Environment, prepare
from pipelines.deepretrieval.failures import EvaluationError
from pipelines.deepretrieval.language import LANGUAGES
from pipelines.deepretrieval.ranked import Entry, ndcg, write_runs
from pipelines.deepretrieval.reward import INFRA_FAILURE, OK
from pipelines.deepretrieval.rollout import Rollout, asks
from pipelines.files import write_whole
from pipelines.progress import Reporter
from pipelines.seeds import seed_of

BATCH_TASKS = 64
PSEUDO_TOKENS = 96
UNTRAINED, WARMED_UP, TRAINED = "untrained model", "warmed-up model", "trained model"
HUMAN, PSEUDO = "human query", "pseudo-document expansion"

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Row:
    """One line of the evaluation table; shares and recalls are 0 to 1.

    `recall_spread` is the standard deviation over sampling seeds, 0 for one seed.
    """

    name: str
    recall: float
    recall_spread: float
    at_least_half: float
    format_errors: float
    reward: float
    tasks: int
    seeds: int
    infra_failures: int = 0
    step: int = 0
    by_kind: dict[str, float] = field(default_factory=dict)
    ndcg: float | None = None  # nDCG@10, of engines that rank


class Evaluations:
    """The rows of a run by name, kept in `evaluations.json` so that a resumed run has them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            self.rows = {row["name"]: Row(**row) for row in stored}

    def put(self, row: Row) -> None:
        """Adds or replaces a row and writes the file whole."""
        self.rows[row.name] = row
        self._write()

    def put_all(self, rows: Iterable[Row]) -> None:
        """Adds or replaces rows and writes the file whole."""
        self.rows |= {row.name: row for row in rows}
        self._write()

    def rewind(self, step: int) -> None:
        """Drops the rows of later steps; the run goes on from `step` (-1: from nothing)."""
        for name in [name for name, row in self.rows.items() if row.step > step]:
            del self.rows[name]
        self._write()

    def _write(self) -> None:
        write_whole(self.path, json.dumps([asdict(r) for r in self.rows.values()], indent=1))


def evaluate_policy(
    app: App,
    environment: Environment,
    tasks: Sequence[Task],
    *,
    seeds: int,
    seed: int,
    temperature: float | None = None,
    progress: Progress | None = None,
) -> list[Rollout]:
    """`seeds` rollouts of each task with the weights that the rollout fleet has now."""
    sampling = app.collector.sampling
    if temperature is not None:
        sampling = Sampling(sampling.max_new_tokens, temperature)
    rollouts: list[Rollout] = []
    for start in range(0, len(tasks), BATCH_TASKS):
        part = tasks[start : start + BATCH_TASKS]
        prompts = [environment.prompter.ids(task.need, task.id) for task in part]
        asked = asks(part, prompts, seeds, seed=seed, purpose="evaluation")
        rollouts += app.collector.collect(asked, sampling)
        if progress:
            progress(start + len(part))
    return rollouts


def evaluate(config: RewriterConfig, reporter: Reporter, out: Path | None = None) -> dict[str, Row]:
    """The rows of `config.model` and of all baselines on the held-out tasks, by name.

    `out` is a folder for their TREC run files and `evaluations.json`.
    """
    environment = prepare(config, reporter)
    tasks = environment.split.test
    with (
        session(config.cluster.address, namespace=f"evaluate-{os.getpid()}"),
        app(config, environment.model, environment.index, learning=False) as actors,
    ):
        found = baseline_entries(actors, config, tasks)
        with reporter.bar("evaluating", len(tasks)) as bar:
            rollouts = evaluate_policy(
                actors,
                environment,
                tasks,
                seeds=config.train.final_eval_samples,
                seed=config.train.seed,
                temperature=config.train.eval_temperature,
                progress=bar.update,
            )
        found[config.model.path] = entries_of(rollouts)
    ranks = not LANGUAGES[config.search.engine].boolean
    rows = {name: _row(name, entries, ranks=ranks) for name, entries in found.items()}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, entries in found.items():
            write_runs(out, "model" if name == config.model.path else name, entries)
        Evaluations(out / "evaluations.json").put_all(rows.values())
    return rows


def policy_row(
    name: str, rollouts: Sequence[Rollout], step: int = 0, *, ranks: bool = False
) -> Row:
    """The row of a model, from its rollouts of one or more sampling seeds.

    `ranks` adds nDCG@10, for engines whose order is a ranking.
    """
    return _row(name, entries_of(rollouts), step, ranks=ranks)


def entries_of(rollouts: Sequence[Rollout]) -> list[Entry]:
    """The searches of rollouts."""
    return [Entry(r.task, r.index, r.score, r.outcome) for r in rollouts]


def baseline_rows(app: App, config: RewriterConfig, tasks: Sequence[Task]) -> list[Row]:
    """The rows of all baselines that need no model; the human query where every task has one."""
    ranks = not LANGUAGES[config.search.engine].boolean
    found = baseline_entries(app, config, tasks)
    return [_row(name, entries, ranks=ranks) for name, entries in found.items()]


def baseline_entries(
    app: App, config: RewriterConfig, tasks: Sequence[Task]
) -> dict[str, list[Entry]]:
    """The searches of all baselines that need no model, by name."""
    functions = dict(baselines(LANGUAGES[config.search.engine]))
    if all(task.human_query for task in tasks):
        functions[HUMAN] = human
    return {
        name: query_entries(app, config, tasks, [make(task) for task in tasks])
        for name, make in functions.items()
    }


def pseudo_document_row(
    app: App, environment: Environment, config: RewriterConfig, tasks: Sequence[Task], seed: int
) -> Row:
    """The row of training-free pseudo-document expansion, with the fleet's present weights."""
    tokenizer = environment.prompter.tokenizer
    requests = []
    for position, task in enumerate(tasks):
        text = tokenizer.apply_chat_template(
            pseudo_document_messages(task), tokenize=False, add_generation_prompt=True
        )
        ids = environment.prompter.encode(text)
        requests.append(GenerationRequest(str(position), ids, seed_of(seed, "pseudo", task.id)))
    length = min(PSEUDO_TOKENS, config.rollout.max_new_tokens)
    stream = app.rollout.stream(
        "generate", requests, Sampling(length, config.rollout.temperature), key=_key
    )
    documents: dict[str, Completion] = dict(stream)
    texts = [documents[str(i)].text for i in range(len(tasks))]
    vocabulary = sorted(
        {word for text in texts for word in re.findall(r"[^\W\d_]{3,}", text.lower())}
    )
    counts = app.search.submit("document_frequencies", vocabulary).result()
    known: Mapping[str, int] = dict(zip(vocabulary, counts, strict=True))
    joiner = " OR " if LANGUAGES[config.search.engine].boolean else " "
    queries = [
        pseudo_document_query(
            task, text, lambda word: known.get(word, 0), environment.records, joiner
        )
        for task, text in zip(tasks, texts, strict=True)
    ]
    return query_row(PSEUDO, app, config, tasks, queries)


def query_row(
    name: str, app: App, config: RewriterConfig, tasks: Sequence[Task], queries: Sequence[str]
) -> Row:
    """The row of given queries, one a task, run and scored as a model's would be."""
    ranks = not LANGUAGES[config.search.engine].boolean
    return _row(name, query_entries(app, config, tasks, queries), ranks=ranks)


def query_entries(
    app: App, config: RewriterConfig, tasks: Sequence[Task], queries: Sequence[str]
) -> list[Entry]:
    """The searches of given queries, one a task."""
    requests = [
        SearchRequest(
            query,
            config.search.k,
            task.date_to,
            config.search.resolved_order,
            syntax=LANGUAGES[config.search.engine].syntax,
        )
        for task, query in zip(tasks, queries, strict=True)
    ]
    outcomes: list[SearchOutcome] = app.search.submit("search", requests).result()
    score = app.collector.reward.score
    return [
        Entry(task, 0, score(Answer("", query), outcome, task.relevant), outcome)
        for task, query, outcome in zip(tasks, queries, outcomes, strict=True)
    ]


def _row(name: str, entries: Sequence[Entry], step: int = 0, *, ranks: bool = False) -> Row:
    scored = [entry for entry in entries if entry.score.status != INFRA_FAILURE]
    if not scored:
        raise EvaluationError(f"{name}: every search failed; see the search worker's log")
    by_seed: dict[int, list[float]] = defaultdict(list)
    by_kind: dict[str, list[float]] = defaultdict(list)
    for entry in scored:
        by_seed[entry.seed].append(entry.score.recall or 0.0)
        by_kind[kind_of(entry.task)].append(entry.score.recall or 0.0)
    means = [statistics.fmean(values) for values in by_seed.values()]
    return Row(
        name=name,
        recall=statistics.fmean(means),
        recall_spread=statistics.stdev(means) if len(means) > 1 else 0.0,
        at_least_half=statistics.fmean((e.score.recall or 0.0) >= 0.5 for e in scored),
        format_errors=statistics.fmean(e.score.status != OK for e in scored),
        reward=statistics.fmean(e.score.reward or 0.0 for e in scored),
        tasks=len({entry.task.id for entry in scored}),
        seeds=len(means),
        infra_failures=len(entries) - len(scored),
        step=step,
        by_kind={kind: statistics.fmean(values) for kind, values in sorted(by_kind.items())},
        ndcg=ndcg(scored) if ranks else None,
    )


def _key(request: GenerationRequest) -> str:
    return request.key
