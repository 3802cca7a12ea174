"""Searches for a process that lives long: jobs come at any time, from any thread."""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager
from dataclasses import replace

from pipelines.corag.driver import SearchDriver
from pipelines.corag.jobs import SearchFailure, SearchJob, SearchOutcome
from pipelines.corag.local_scoring import Scoring

log = logging.getLogger(__name__)

STEP_S = 0.02
"""How long a new job may wait until it is looked at, while others run."""


class SearchService:
    """A `SearchDriver` in a thread of its own, which also opens and closes the scoring.

    An error that ends a driver (`FleetError`) ends the service: `error` tells it, and every future
    that is not done gets it.
    """

    def __init__(
        self, open_scoring: Callable[[], AbstractContextManager[Scoring]], *, concurrency: int = 16
    ) -> None:
        self._open_scoring, self._concurrency = open_scoring, concurrency
        self._jobs: queue.SimpleQueue[tuple[SearchJob, Future[SearchOutcome]] | None] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._closed = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="searches", daemon=True)
        self._thread.start()

    def __enter__(self) -> "SearchService":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def submit(self, job: SearchJob) -> "Future[SearchOutcome]":
        """Adds a job. Its future gives the outcome, or raises what the search or its reranker
        raised. Raises `RuntimeError` once the service has ended."""
        future: Future[SearchOutcome] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the search service has ended: {self.error or 'it was closed'}")
            self._jobs.put((job, future))
        return future

    def close(self) -> None:
        """Gives up what has not ended, and ends the workers."""
        self._refuse_more()
        self._jobs.put(None)
        self._thread.join()

    def _refuse_more(self) -> None:
        with self._lock:
            self._closed = True

    def _run(self) -> None:
        owed: dict[int, tuple[SearchJob, Future[SearchOutcome]]] = {}
        try:
            with self._open_scoring() as scoring:
                self._serve(SearchDriver(scoring, concurrency=self._concurrency), owed)
        except BaseException as error:
            log.exception("the search service ends")
            self.error = error
        self._refuse_more()
        left = list(owed.values())
        while not self._jobs.empty():
            if (entry := self._jobs.get()) is not None:
                left.append(entry)
        for _, future in left:
            _tell(future, self.error or RuntimeError("the search service was closed"))

    def _serve(
        self, driver: SearchDriver, owed: dict[int, tuple[SearchJob, Future[SearchOutcome]]]
    ) -> None:
        """Until `close`. In the driver, jobs have numbers for keys: callers' may come twice."""
        number = 0
        try:
            while True:
                while driver.idle or not self._jobs.empty():
                    entry = self._jobs.get()
                    if entry is None:
                        return
                    number += 1
                    owed[number] = entry
                    driver.add(replace(entry[0], key=number))
                for end in driver.step(STEP_S):
                    assert isinstance(end.key, int)
                    job, future = owed.pop(end.key)
                    if isinstance(end, SearchFailure):
                        _tell(future, end.error)
                    else:
                        _tell(future, replace(end, key=job.key))
        finally:
            driver.close()


def _tell(future: "Future[SearchOutcome]", end: SearchOutcome | BaseException) -> None:
    try:
        if isinstance(end, BaseException):
            future.set_exception(end)
        else:
            future.set_result(end)
    except InvalidStateError:
        log.debug("a search ended that nobody waits for")
