"""Run an engine over a collection's judged queries and measure it with ir-measures.

Values are trec_eval's (through pytrec_eval): a query without hits counts 0, judged relevant
documents that the corpus lacks count as missed, ties are by id descending. RR with a cut-off is RR
of the cut run: ir-measures would hand it to a tool that orders ties the other way round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import ir_measures

from actors.search.engines import Engine
from actors.search.types import InfraFailure, QueryError, SearchRequest
from pipelines.data.ir_sets import IRSet, Qrels
from pipelines.data.task import Task
from pipelines.ir.failures import IREvaluationError
from pipelines.ir.runs import Run, ordered

MEASURES = ("nDCG@10", "R@100", "R@1000", "AP", "RR@10", "Success@5")
BATCH = 32
SYNTAX = "bag"


@dataclass(frozen=True)
class Evaluation:
    """One engine on one set. `values[measure][query]`; `means` over all judged queries.

    `query_errors` are queries the engine could not run, with its message; they count as no hits.
    `absent` counts judged relevant documents that the corpus lacks.
    """

    set_name: str
    engine: str
    k: int
    values: dict[str, dict[str, float]]
    run: Run
    query_errors: dict[str, str] = field(default_factory=dict)
    absent: int = 0

    @property
    def means(self) -> dict[str, float]:
        """Mean of each measure over the queries."""
        return {name: sum(of.values()) / len(of) for name, of in self.values.items()}

    @property
    def queries(self) -> int:
        """Number of queries measured."""
        return len(next(iter(self.values.values())))


def evaluate_engine(
    engine: Engine,
    ir_set: IRSet,
    k: int = 1000,
    measures: Sequence[str] = MEASURES,
    *,
    name: str = "engine",
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Search `k` hits for each judged query and measure them.

    Raises `IREvaluationError` for a set without judged queries, an unknown measure, a `k` below a
    measure's cut-off, and as soon as the engine itself fails: an outage is never zero hits.
    """
    judged = ir_set.judged
    if not judged:
        raise IREvaluationError(f"set {ir_set.name} has no query with a relevant document")
    _parse(measures, k)
    run: Run = {}
    errors: dict[str, str] = {}
    for start in range(0, len(judged), BATCH):
        batch = judged[start : start + BATCH]
        requests = [
            SearchRequest(query.text, k, order="relevance", syntax=SYNTAX) for query in batch
        ]
        for query, outcome in zip(batch, engine.search_many(requests), strict=True):
            if isinstance(outcome, InfraFailure):
                raise IREvaluationError(
                    f"engine {name} failed on query {query.id} of {ir_set.name}: {outcome.message}"
                )
            if isinstance(outcome, QueryError):
                errors[query.id] = outcome.message
                run[query.id] = []
                continue
            if len(outcome.scores) != len(outcome.ids):
                raise IREvaluationError(f"engine {name} gives no scores: it does not rank")
            run[query.id] = ordered(zip(outcome.ids, outcome.scores, strict=True))
        if progress is not None:
            progress(start + len(batch), len(judged))
    qrels = {query.id: ir_set.qrels[query.id] for query in judged}
    known = {passage.id for passage in ir_set.corpus}
    absent = sum(
        grade > 0 and id not in known for grades in qrels.values() for id, grade in grades.items()
    )
    values = measure_run(run, qrels, measures)
    return Evaluation(ir_set.name, name, k, values, run, errors, absent)


def measure_run(
    run: Run, qrels: Qrels, measures: Sequence[str] = MEASURES
) -> dict[str, dict[str, float]]:
    """`values[measure][query]` of every query of `qrels`; a query that `run` lacks counts 0."""
    found: dict[str, dict[str, float]] = {name: dict.fromkeys(qrels, 0.0) for name in measures}
    groups: dict[int | None, list[str]] = {}
    for name, measure in _parse(measures, None).items():
        cut = measure.params.get("cutoff") if measure.NAME == "RR" else None
        groups.setdefault(cut, []).append(name)
    for cut, names in groups.items():
        given = {query: dict(ordered(run[query])[:cut]) for query in qrels if run.get(query)}
        asked = {ir_measures.parse_measure(name): name for name in names}
        if cut is not None:
            asked = {_without_cutoff(measure): name for measure, name in asked.items()}
        for value in ir_measures.iter_calc(list(asked), qrels, given):
            found[asked[value.measure]][value.query_id] = float(value.value)
    return found


def _without_cutoff(measure: ir_measures.Measure) -> ir_measures.Measure:
    rest = {name: value for name, value in measure.params.items() if name != "cutoff"}
    return ir_measures.RR(**rest) if rest else ir_measures.RR


def measures_within(k: int) -> list[str]:
    """Those of `MEASURES` that `k` hits a query are enough for."""
    parsed = _parse(MEASURES, None)
    return [name for name, measure in parsed.items() if measure.params.get("cutoff", 0) <= k]


def _parse(measures: Sequence[str], k: int | None) -> dict[str, ir_measures.Measure]:
    parsed = {}
    for name in measures:
        try:
            parsed[name] = ir_measures.parse_measure(name)
        except (NameError, ValueError) as error:
            raise IREvaluationError(f"measure {name!r} is unknown to ir-measures") from error
        if str(parsed[name]) != name:
            raise IREvaluationError(f"measure {name!r}: write it {parsed[name]!s}")
        cutoff = parsed[name].params.get("cutoff")
        if k is not None and cutoff is not None and cutoff > k:
            raise IREvaluationError(f"measure {name} needs {cutoff} hits a query, k is {k}")
    return parsed


def tasks_of(ir_set: IRSet) -> list[Task]:
    """The judged queries as tasks: the need is the query's text, relevant is a grade above 0.

    Documents that the corpus lacks are left out, as no query can find them; a task left with none
    is dropped.
    """
    known = {passage.id for passage in ir_set.corpus}
    tasks = []
    for query in ir_set.judged:
        graded = ir_set.qrels[query.id].items()
        relevant = frozenset(id for id, grade in graded if grade > 0 and id in known)
        if relevant:
            tasks.append(Task(query.id, query.text, relevant, corpus=ir_set.name))
    return tasks
