"""Runs methods over questions: plans to searches, side by side, to ordered chunks."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.corag.driver import run_searches
from pipelines.corag.jobs import SearchJob, SearchOutcome
from pipelines.corag.local_scoring import Scoring
from pipelines.corag.methods import Plan
from pipelines.corag.types import Order, Search, Selection
from pipelines.data.chunks import Chunk


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """What a method chose for a question."""

    plan: Plan
    outcome: SearchOutcome

    @property
    def selection(self) -> Selection:
        """Order, cost and reward."""
        return self.outcome.selection

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chosen chunks, first one first."""
        return tuple(self.plan.chunks[position] for position in self.selection.order)

    @property
    def sequences(self) -> int:
        """Different orders that the method asked scores of, known before or not."""
        return self.outcome.scored + self.outcome.cached


@dataclass(frozen=True, slots=True)
class Spent:
    """Wall seconds of searching with one reranker, and the sequences really scored in them."""

    reranker: str
    seconds: float
    scored: int


def choose(
    plans: Mapping[str, tuple[str, Plan]], scoring: Scoring, concurrency: int
) -> tuple[dict[str, Chosen], list[Spent]]:
    """Runs the plans (key -> question, plan), those of one reranker together. Raises
    `SearchError` when a search failed: no failure counts as a low reward."""
    chosen: dict[str, Chosen] = {}
    spent = []
    rerankers: dict[str, list[str]] = defaultdict(list)
    for key, (_, plan) in plans.items():
        rerankers[plan.reranker].append(key)
    for reranker, keys in rerankers.items():
        scoring.fingerprint(reranker)  # a model that is loaded now is not part of the search
        started = time.perf_counter()
        jobs = [
            SearchJob(key, question, plan.chunks, reranker, plan.search)
            for key in keys
            for question, plan in [plans[key]]
        ]
        scored = 0
        for outcome in run_searches(jobs, scoring, concurrency=concurrency):
            chosen[str(outcome.key)] = Chosen(plans[str(outcome.key)][1], outcome)
            scored += outcome.scored
        spent.append(Spent(reranker, time.perf_counter() - started, scored))
    return chosen, spent


def rewards_by(
    reranker: str, orders: Mapping[str, tuple[str, Sequence[Chunk]]], scoring: Scoring
) -> dict[str, float]:
    """What one reranker gives each (question, ordered chunks); 0 for no chunks."""
    jobs = [
        SearchJob(key, question, chunks, reranker, _score_once(tuple(range(len(chunks)))))
        for key, (question, chunks) in orders.items()
    ]
    return {str(o.key): o.selection.reward for o in run_searches(jobs, scoring)}


def _score_once(order: Order) -> Search:
    if not order:
        return Selection((), 0, 0.0)
    (reward,) = yield [order]
    return Selection(order, 0, reward)
