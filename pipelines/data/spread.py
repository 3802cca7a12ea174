"""Work on many items: in this process, or as Ray tasks with a bounded number under way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pipelines.data.failures import BuildError

_RETRIES = 3  # of a task whose worker died


class Spread(Protocol):
    """Something that runs `task(shared, item)` for each item."""

    workers: int

    def map(
        self, task: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield (index of the item, result) as they come; the first error ends it."""
        ...

    def check_sees(self, paths: Sequence[Path]) -> None:
        """Raise `BuildError` where a machine that takes part does not see `paths`."""
        ...


class InProcess:
    """One after the other, here."""

    workers = 1

    def map(
        self, task: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield in order."""
        for number, item in enumerate(items):
            yield number, task(shared, item)

    def check_sees(self, paths: Sequence[Path]) -> None:
        """Nothing to check."""


@contextmanager
def spread(items: int, workers: int | None = None, address: str = "local") -> Iterator[Spread]:
    """In this process for one item or one worker; else on Ray: `workers` tasks at once.

    `workers` None means all CPUs that Ray has. A Ray that is connected is used; else one is started
    here (`address` "local") or joined.
    """
    if workers == 1 or items == 1:
        yield InProcess()
        return
    from cluster.session import session

    with session(address, num_cpus=workers if address == "local" else None) as found:
        count = max(1, int(found.cpus))
        yield OnRay(min(count, workers) if workers else count)


class OnRay:
    """Ray tasks of one CPU each. Needs a connected Ray."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(
        self, task: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield as they come, at most `workers` tasks (and one waiting) under way.

        A task whose worker dies is tried again; errors of the task itself come as they are.
        """
        import ray

        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(task)
        reference = ray.put(shared)
        waiting = iter(enumerate(items))
        under_way: dict[Any, int] = {}
        try:
            while True:
                while len(under_way) <= self.workers:
                    number, item = next(waiting, (-1, None))
                    if number < 0:
                        break
                    under_way[remote.remote(reference, item)] = number
                if not under_way:
                    return
                ready, _ = ray.wait(list(under_way), num_returns=1)
                number = under_way.pop(ready[0])
                yield number, _got(ready[0], items[number])
        finally:
            for each in under_way:
                ray.cancel(each, force=True)

    def check_sees(self, paths: Sequence[Path]) -> None:
        """Ask one task on each machine of the cluster."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(_unseen)
        asked = [
            remote.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ).remote(list(paths))
            for node in nodes
        ]
        for node, unseen in zip(nodes, ray.get(asked), strict=True):
            if unseen:
                raise BuildError(
                    f"machine {node['NodeManagerHostname']} does not see {unseen}: an index is "
                    "built on several machines only where they share the input and output folders "
                    "at the same paths; give paths on shared storage, or --workers 1"
                )


def _unseen(paths: Sequence[Path]) -> str:
    return next((str(path) for path in paths if not path.exists()), "")


def _got(reference: Any, item: Any) -> Any:
    import ray
    from ray import exceptions

    name = getattr(item, "name", item)
    try:
        return ray.get(reference)
    except exceptions.RayTaskError as err:
        if isinstance(err.cause, Exception):
            raise err.cause from None
        raise
    except (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError) as err:
        raise BuildError(
            f"{name}: the worker that read it died {_RETRIES + 1} times ({type(err).__name__}), "
            "most likely for want of memory: take fewer --workers. What is done is kept"
        ) from err
    except exceptions.RayError as err:
        raise BuildError(f"{name}: {type(err).__name__}: {err}. What is done is kept") from err
