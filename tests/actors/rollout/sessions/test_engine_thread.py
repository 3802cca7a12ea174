"""The engine's thread: what happens to jobs when the engine does not start, breaks, is closed."""

import asyncio
import threading

import pytest

from actors.rollout.sessions.engine_thread import EngineThread
from actors.rollout.sessions.jobs import Ended, Failed, Inbox, Job
from actors.rollout.sessions.types import EngineError
from actors.rollout.types import Sampling


class Counter:
    """Ends each job at its turn, or breaks."""

    def __init__(self, breaks: bool = False) -> None:
        self.jobs: list[Job] = []
        self.breaks = breaks
        self.thread = threading.get_ident()
        self.ended = False

    def busy(self) -> bool:
        return bool(self.jobs)

    def step(self) -> None:
        assert threading.get_ident() == self.thread
        if self.breaks:
            raise RuntimeError("out of paper")
        self.jobs.pop(0).inbox.put(0, Ended("stop"))

    def start(self, job: Job) -> None:
        self.jobs.append(job)

    def stop(self, job: Job, copies: tuple[int, ...]) -> None:
        self.jobs.remove(job)

    def forget(self, session: int) -> None: ...

    def fail(self, reason: str) -> None:
        for job in self.jobs:
            job.inbox.put(0, Failed(reason))

    def end(self) -> None:
        self.ended = True


def job() -> Job:
    return Job(0, [1], Sampling(1), Inbox())


def test_jobs_are_done_in_the_thread_that_made_the_worker() -> None:
    async def go() -> None:
        thread = EngineThread(Counter, "the counter")
        jobs = [job() for _ in range(5)]
        for each in jobs:
            thread.start(each)
        assert [(await each.inbox.get())[1] for each in jobs] == [Ended("stop")] * 5
        await thread.close()

    asyncio.run(go())


def test_what_does_not_start_raises_its_own_error() -> None:
    def make() -> Counter:
        raise FileNotFoundError("no such model")

    with pytest.raises(FileNotFoundError, match="no such model"):
        EngineThread(make, "the counter")


def test_a_broken_engine_fails_its_jobs_and_later_ones() -> None:
    async def go() -> None:
        worker = Counter(breaks=True)

        def make() -> Counter:
            worker.thread = threading.get_ident()
            return worker

        thread = EngineThread(make, "the counter")
        first = job()
        thread.start(first)
        failed = Failed("the counter failed: RuntimeError: out of paper")
        assert (await first.inbox.get())[1] == failed
        with pytest.raises(EngineError, match="out of paper"):
            thread.start(job())
        await thread.close()
        assert worker.ended

    asyncio.run(go())


def test_a_closed_engine_takes_no_jobs() -> None:
    async def go() -> None:
        thread = EngineThread(Counter, "the counter")
        await thread.close()
        with pytest.raises(EngineError, match="the counter was closed"):
            thread.start(job())
        await thread.close()

    asyncio.run(go())


def test_the_reader_is_woken_and_tells_when_there_is_room() -> None:
    async def go() -> None:
        told: list[int] = []
        inbox = Inbox(lambda: told.append(len(inbox)), low_at=1)
        waiting = asyncio.create_task(inbox.get())
        await asyncio.sleep(0)
        for number in range(4):
            threading.Thread(target=inbox.put, args=(number, Ended("stop"))).start()
        copies = {(await waiting)[0]} | {(await inbox.get())[0] for _ in range(3)}
        assert copies == {0, 1, 2, 3}
        assert told
        assert set(told) == {1}

    asyncio.run(go())
