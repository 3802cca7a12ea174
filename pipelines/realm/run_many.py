"""Many chains at once on one event loop: none waits for another's engine, retrieval or decision."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from inspect import isawaitable
from typing import Protocol, TypeVar

from actors.rollout.sessions.types import Usage
from pipelines.realm.reason import Reasoner, reason
from pipelines.realm.retrieving import FAULTS
from pipelines.realm.types import Chain, Decider, Status

_log = logging.getLogger(__name__)


class Question(Protocol):
    """What a chain is about (`HopQuestion`)."""

    @property
    def id(self) -> str:
        """Names the question."""
        ...

    @property
    def text(self) -> str:
        """The question."""
        ...


Q = TypeVar("Q", bound=Question)
MakeReasoner = Callable[[Q], Reasoner | Awaitable[Reasoner]]


async def run_chains(
    questions: Iterable[Q],
    make_reasoner: MakeReasoner[Q],
    decider: Decider,
    concurrency: int = 16,
) -> AsyncIterator[Chain]:
    """Yields the chain of every question as it ends, `concurrency` at once.

    Questions are taken from the iterable as places become free. A chain that cannot be made or led
    is a chain of status `ENGINE_FAILURE` (the infrastructure) or `ERROR` (a mistake in a program,
    logged with its traceback), and the others go on. Closing the iterator stops what runs and
    closes its sessions.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}, must be at least 1")
    waiting = iter(questions)
    running: set[asyncio.Task[Chain]] = set()
    try:
        while True:
            while len(running) < concurrency:
                question = next(waiting, None)
                if question is None:
                    break
                running.add(asyncio.create_task(_chain(question, make_reasoner, decider)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        for task in running:
            with suppress(asyncio.CancelledError):
                await task


async def _chain(question: Q, make_reasoner: MakeReasoner[Q], decider: Decider) -> Chain:
    try:
        made = make_reasoner(question)
        reasoner = await made if isawaitable(made) else made
        return await reason(reasoner, decider)
    except FAULTS as error:
        return _failed(question, Status.ENGINE_FAILURE, error)
    except Exception as error:
        _log.exception("question %s: a mistake in a program", question.id)
        return _failed(question, Status.ERROR, error)


def _failed(question: Question, status: Status, error: Exception) -> Chain:
    warning = f"{type(error).__name__}: {error}"
    return Chain(question.id, question.text, "", status, (), "", Usage(), 0.0, (warning,))
