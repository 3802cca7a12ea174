"""The one thread that computes for all sessions of an engine."""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable

from actors.rollout.sessions.jobs import Failed, Job, Worker
from actors.rollout.sessions.types import EngineError

log = logging.getLogger(__name__)


class EngineThread:
    """Runs a worker, made in the thread itself (libraries keep their thread settings there).

    Raises what `make` raises. A worker whose `step` fails is not called again: its jobs and all
    later ones fail.
    """

    def __init__(self, make: Callable[[], Worker], name: str) -> None:
        self._make = make
        self._commands: queue.SimpleQueue[Job | Callable[[Worker], None] | None]
        self._commands = queue.SimpleQueue()
        self._ready = threading.Event()
        self._fault: BaseException | None = None
        self._broken = ""
        self._lock = threading.Lock()
        self._name = name
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._fault is not None:
            raise self._fault

    def start(self, job: Job) -> None:
        """Hands a job in; raises `EngineError` where the engine has ended."""
        with self._lock:
            if self._broken:
                raise EngineError(self._broken)
            self._commands.put(job)

    def stop(self, job: Job, *copies: int) -> None:
        """Ends copies of a job, all if none is named. Returns at once."""
        ended = copies or tuple(range(job.copies))
        self._tell(lambda worker: worker.stop(job, ended))

    def forget(self, session: int) -> None:
        """Frees what is kept for a session. Returns at once."""
        self._tell(lambda worker: worker.forget(session))

    def wake(self) -> None:
        """Makes the worker look again whether there is something to do."""
        self._tell(lambda worker: None)

    async def close(self) -> None:
        """Ends the thread; what still runs fails."""
        self._break(f"{self._name} was closed")
        self._commands.put(None)
        await asyncio.to_thread(self._thread.join)

    def _tell(self, command: Callable[[Worker], None]) -> None:
        if not self._broken:
            self._commands.put(command)

    def _break(self, reason: str) -> None:
        with self._lock:
            self._broken = self._broken or reason

    def _run(self) -> None:
        try:
            worker = self._make()
        except BaseException as error:
            self._fault = error
            self._broken = f"{self._name} did not start: {error}"
            return
        finally:
            self._ready.set()
        try:
            while self._obey(worker):
                if worker.busy():
                    worker.step()
        except Exception as error:
            log.exception("%s failed", self._name)
            self._break(f"{self._name} failed: {type(error).__name__}: {error}")
        self._last_orders(worker)

    def _obey(self, worker: Worker) -> bool:
        """Runs all commands there are, waiting for one where there is nothing else to do."""
        wait = not worker.busy()
        while True:
            try:
                command = self._commands.get(block=wait)
            except queue.Empty:
                return True
            if command is None:
                return False
            if isinstance(command, Job):
                worker.start(command)
            else:
                command(worker)
            wait = False

    def _last_orders(self, worker: Worker) -> None:
        while True:
            try:
                command = self._commands.get(block=False)
            except queue.Empty:
                break
            if isinstance(command, Job):
                command.inbox.put(0, Failed(self._broken))
        worker.fail(self._broken)
        try:
            worker.end()
        except Exception:
            log.exception("%s did not end cleanly", self._name)
