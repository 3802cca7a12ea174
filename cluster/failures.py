"""What can go wrong on the cluster, and how it is told."""

import re

from ray.exceptions import (
    LocalRayletDiedError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayTaskError,
    WorkerCrashedError,
)


class FleetError(RuntimeError):
    """A fleet cannot do its work: a worker's restarts are used up, or it broke its contract."""


class PreflightError(RuntimeError):
    """The run could not succeed here. `problems` holds one line per fault."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


class CheckpointError(RuntimeError):
    """A checkpoint was not written; the ones before it are intact."""


class RunDirError(RuntimeError):
    """The run folder cannot be used as asked."""


class Interrupted(KeyboardInterrupt):
    """SIGTERM, as an exception that unwinds through `finally` blocks."""


_WORKER_LOST = (
    RayActorError,
    WorkerCrashedError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    LocalRayletDiedError,
)
CONSTRUCTOR_FAILED = "its constructor failed"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def is_worker_lost(error: BaseException) -> bool:
    """True if the worker itself is gone. An exception raised by a method is not that, even if it
    was the method that met a dead actor (Ray then mixes both types into one)."""
    return isinstance(error, _WORKER_LOST) and not isinstance(error, RayTaskError)


def cause_of(error: BaseException) -> str:
    """One line that says why a worker was lost; memory faults say what to change."""
    if isinstance(error, RayTaskError) and error.cause is not None:
        return f"{type(error.cause).__name__}: {error.cause}"[:500]
    text = _ANSI.sub("", str(error)).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip(" ^~")]
    if not lines:
        return type(error).__name__
    if isinstance(error, OutOfMemoryError) or re.search(r"(low on|out of) memory", lines[0]):
        return (
            f"the host ran out of memory ({lines[0][:300]}). Lower rollout.kv_cache_gib, "
            "learner.micro_batch_tokens or the number of workers"
        )
    if "creation task" in lines[0]:
        return f"{CONSTRUCTOR_FAILED}: {lines[-1][:500]}"
    detail = re.search(r"Worker exit type: (\w+)\s+Worker exit detail: ([^.]*(?:\.[^.]*)?)", text)
    if detail:
        return f"its process ended ({detail.group(1)}: {detail.group(2).strip()[:300]})"
    return lines[0][:500]
