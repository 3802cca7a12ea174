"""Many searches side by side, their orders scored together. Pure: Ray is behind `Scoring`.

Orders that searches ask for wait in one line per reranker. Whenever a worker of that reranker has
nothing to do it gets the head of the line, of whatever nodes, trees and queries; the more workers
are free, the more parts. While all are busy the line grows, and only full calls are handed ahead.
A search goes on as soon as its own scores are there. What a search is sent depends on nothing but
its orders, so neither `concurrency` nor the number of workers changes what it selects.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from actors.expansion.types import OrderScore, QueryOrders, RerankerError
from pipelines.corag.jobs import SearchError, SearchFailure, SearchJob, SearchOutcome
from pipelines.corag.local_scoring import ScoreCall, Scoring
from pipelines.corag.running import Running
from pipelines.corag.score_cache import Key
from pipelines.corag.types import Order

__all__ = [
    "SearchDriver",
    "SearchError",
    "SearchFailure",
    "SearchJob",
    "SearchOutcome",
    "run_searches",
]

WAIT_S = 0.5
ROUNDING = 1e-6
AHEAD = 2  # calls per worker: one runs, a full one is ready to start


def run_searches(
    jobs: Iterable[SearchJob],
    scoring: Scoring,
    *,
    concurrency: int = 16,
    on_failure: Callable[[SearchFailure], None] | None = None,
) -> Iterator[SearchOutcome]:
    """Runs the jobs, `concurrency` at a time, and gives each outcome as its search ends.

    A search that raises, or whose orders the reranker refuses, costs no other search: it goes to
    `on_failure`, or without that all of them are raised as one `SearchError` at the end. When
    workers are lost beyond their restarts, `FleetError` ends the run.
    """
    failures: list[SearchFailure] = []
    note = failures.append if on_failure is None else on_failure
    source = iter(jobs)
    driver = SearchDriver(scoring, concurrency=concurrency)
    try:
        exhausted = False
        while not (exhausted and driver.idle):
            while not exhausted and driver.unfinished < 2 * concurrency:
                job = next(source, None)
                if job is None:
                    exhausted = True
                else:
                    driver.add(job)
            for end in driver.step():
                if isinstance(end, SearchFailure):
                    note(end)
                else:
                    yield end
    finally:
        driver.close()
    if failures:
        raise SearchError(failures)


@dataclass(slots=True)
class DriverTotals:
    """What a driver did so far: `asked` orders, `scored` of them sent in `calls` calls, of which
    `mixed` held orders of more than one query."""

    asked: int = 0
    scored: int = 0
    calls: int = 0
    mixed: int = 0


@dataclass(slots=True, eq=False)
class _Ask:
    """One order that some searches wait for; it is sent once."""

    key: Key
    query: str
    texts: tuple[tuple[str, str], ...]  # (chunk id, text), first chunk first
    waiters: list[tuple[Running, int]]


class SearchDriver:
    """Runs searches that may be added at any time; for one thread, but `add` is for any.

    Call `step` until `idle`; it never waits longer than it is told to. `close` at the end.
    """

    def __init__(self, scoring: Scoring, *, concurrency: int = 16) -> None:
        if concurrency < 1:
            raise ValueError(f"searches at a time (concurrency) is {concurrency}, below 1")
        self.concurrency = concurrency
        self.totals = DriverTotals()
        self._scoring = scoring
        self._queued: deque[SearchJob] = deque()
        self._running: dict[Running, None] = {}
        self._asked: dict[Key, _Ask] = {}  # in a line or at a worker
        self._lines: dict[str, deque[_Ask]] = {}
        self._calls: dict[ScoreCall, tuple[str, list[_Ask]]] = {}
        self._ended: list[SearchOutcome | SearchFailure] = []

    @property
    def unfinished(self) -> int:
        """Jobs that were added and have not ended."""
        return len(self._queued) + len(self._running)

    @property
    def idle(self) -> bool:
        """True if there is nothing to do and nothing to hand out."""
        return not (self._queued or self._running or self._ended)

    def add(self, job: SearchJob) -> None:
        """Puts a job at the end of the queue."""
        self._queued.append(job)

    def step(self, wait_s: float = WAIT_S) -> list[SearchOutcome | SearchFailure]:
        """Goes as far as it can without waiting; if no search has ended by then, waits for scores
        up to `wait_s`. Gives the searches that ended, with all workers supplied."""
        self._start_and_supply()
        if self._calls:
            limit = 0.0 if self._ended else wait_s
            for call in self._scoring.wait(list(self._calls), limit):
                self._take(call)
            self._start_and_supply()
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """Gives up what has not ended. Calls at the workers run out unheard."""
        for running in self._running:
            running.close()
        for job in self._queued:
            job.search.close()
        self._queued.clear()
        self._running.clear()
        self._asked.clear()
        self._lines.clear()
        self._calls.clear()

    def _start_and_supply(self) -> None:
        while self._queued and len(self._running) < self.concurrency:
            job = self._queued.popleft()
            try:
                running = Running(job, self._scoring.fingerprint(job.reranker))
            except ValueError as error:
                job.search.close()
                self._ended.append(SearchFailure(job.key, error))
                continue
            self._running[running] = None
            self._advance(running)
        for reranker, line in self._lines.items():
            self._supply(reranker, line)

    def _advance(self, running: Running) -> None:
        """Takes a search on until it waits for scores, or ends."""
        cache, job = self._scoring.cache, running.job
        while not running.missing:
            try:
                orders = running.next_orders()
            except Exception as error:
                self._end(running, SearchFailure(job.key, error))
                return
            if orders is None:
                self._end(running, running.outcome())
                return
            keys = [running.keys(order) if order else None for order in orders]
            kept = cache.get_many(key for key in keys if key is not None)
            running.expect(len(orders))
            for place, (order, key) in enumerate(zip(orders, keys, strict=True)):
                if key is None:
                    running.take_nothing(place)
                    continue
                self.totals.asked += 1
                if key in kept:
                    running.cached += 1
                    running.take(place, kept[key])
                elif (ask := self._asked.get(key)) is not None:
                    running.cached += 1
                    ask.waiters.append((running, place))
                else:
                    running.scored += 1
                    self._ask(running, place, order, key)

    def _ask(self, running: Running, place: int, order: Order, key: Key) -> None:
        job = running.job
        texts = tuple((job.chunks[p].id, job.chunks[p].text) for p in order)
        ask = self._asked[key] = _Ask(key, job.query, texts, [(running, place)])
        self._lines.setdefault(job.reranker, deque()).append(ask)

    def _end(self, running: Running, end: SearchOutcome | SearchFailure) -> None:
        running.close()
        self._running.pop(running, None)
        self._ended.append(end)

    def _supply(self, reranker: str, line: deque[_Ask]) -> None:
        """Hands the line's head out while a worker is free, or a whole call is to be had."""
        if not line:
            return
        most, least = self._scoring.call_orders, self._scoring.least_orders
        workers = self._scoring.workers(reranker)
        busy = sum(name == reranker for name, _ in self._calls.values())
        while line:
            size = call_size(len(line), workers, busy, most, least)
            if not size:
                return
            head = [line.popleft() for _ in range(size)]
            asks = [ask for ask in head if self._wanted(ask)]
            if asks:
                self._send(reranker, asks)
                self.totals.scored += len(asks)
                busy += 1

    def _wanted(self, ask: _Ask) -> bool:
        if any(not running.closed for running, _ in ask.waiters):
            return True
        self._asked.pop(ask.key, None)
        return False

    def _send(self, reranker: str, asks: list[_Ask]) -> None:
        batch, asks = batched(asks)
        self._calls[self._scoring.submit(reranker, batch)] = (reranker, asks)
        self.totals.calls += 1
        self.totals.mixed += len({part.query for part in batch}) > 1

    def _take(self, call: ScoreCall) -> None:
        """Gives the scores of a call to those who wait. If it failed, its queries are tried one by
        one, and the searches for which that fails too have failed."""
        reranker, asks = self._calls.pop(call)
        try:
            scores = _checked(call.result(), asks, reranker)
        except RerankerError as error:
            self._refused(reranker, asks, error)
            return
        self._scoring.cache.put_many(
            {ask.key: score for ask, score in zip(asks, scores, strict=True)}
        )
        ready: dict[Running, None] = {}
        for ask, score in zip(asks, scores, strict=True):
            self._asked.pop(ask.key, None)
            for running, place in ask.waiters:
                if not running.closed:
                    running.take(place, score)
                    if not running.missing:
                        ready[running] = None
        for running in ready:
            self._advance(running)

    def _refused(self, reranker: str, asks: Sequence[_Ask], error: RerankerError) -> None:
        parts: dict[str, list[_Ask]] = {}
        for ask in asks:
            parts.setdefault(ask.query, []).append(ask)
        if len(parts) > 1:
            for part in parts.values():
                self._send(reranker, part)
            return
        failed = {running: None for ask in asks for running, _ in ask.waiters}
        for ask in asks:
            self._asked.pop(ask.key, None)
        for running in failed:
            if not running.closed:
                self._end(running, SearchFailure(running.job.key, error))


def call_size(waiting: int, workers: int, busy: int, most: int, least: int) -> int:
    """How many orders the next call takes, 0 for no call now. `busy` calls are at the workers."""
    if busy < workers:
        share = math.ceil(waiting / (workers - busy))
        return min(waiting, most, max(least, share))
    return most if waiting >= most and busy < AHEAD * workers else 0


def batched(asks: Sequence[_Ask]) -> tuple[list[QueryOrders], list[_Ask]]:
    """One `QueryOrders` per query, and the asks in the order of its orders. A query whose chunks
    give one id to two texts gets a part of its own for each."""
    parts: list[tuple[str, dict[str, str], list[_Ask]]] = []
    of_query: dict[str, list[int]] = {}
    for ask in asks:
        places = of_query.setdefault(ask.query, [])
        for place in places:
            if all(parts[place][1].get(id_, text) == text for id_, text in ask.texts):
                break
        else:
            place = len(parts)
            places.append(place)
            parts.append((ask.query, {}, []))
        parts[place][1].update(ask.texts)
        parts[place][2].append(ask)
    batch = [
        QueryOrders(query, texts, tuple(tuple(id_ for id_, _ in ask.texts) for ask in members))
        for query, texts, members in parts
    ]
    return batch, [ask for _, _, members in parts for ask in members]


def _checked(
    scores: Sequence[Sequence[OrderScore]], asks: Sequence[_Ask], reranker: str
) -> list[OrderScore]:
    """The scores in one row, if they are what was asked for."""
    row = [score for part in scores for score in part]
    if len(row) != len(asks):
        raise RerankerError(f"{reranker} gave {len(row)} scores for {len(asks)} orders")
    for score in row:
        if not -ROUNDING <= score.value <= 1 + ROUNDING:  # NaN neither
            raise RerankerError(f"{reranker} gave a utility of {score.value}, outside [0, 1]")
    return row
