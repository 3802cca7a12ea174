"""Collects episodes: in this process, or by a fleet of Ray actors.

An episode depends on the policy, the question, the sample and the seed only, not on who runs it or
what runs beside it: a fleet of any size, also one whose workers die, gives the same episodes (as
far as the reasoner itself repeats).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pipelines.realm.policy.course import play
from pipelines.realm.policy.policy import Policy
from pipelines.realm.policy.reward import Clock, Costs
from pipelines.realm.policy.rollout import Rollout, Task, World
from pipelines.seeds import seed_of

if TYPE_CHECKING:
    pass

MakeWorld = Callable[[], World]
"""Makes a worker's world; goes to Ray actors, so it must pickle."""
CHUNKS_PER_WORKER = 2


@dataclass(frozen=True, slots=True)
class Round:
    """One collection. `key` is part of every episode's seed, e.g. the number of the update; greedy
    episodes take the most probable actions."""

    key: str
    greedy: bool = False


class Collector(Protocol):
    """Runs a policy on tasks."""

    def collect(self, policy: Policy, tasks: Sequence[Task], turn: Round) -> list[Rollout]:
        """An episode for each task, in their order."""
        ...

    def close(self) -> None:
        """Ends the workers. May be called twice."""
        ...


class LocalCollector:
    """Collects in this process, `concurrency` chains at once on one event loop."""

    def __init__(
        self,
        make_world: MakeWorld,
        seed: int = 0,
        concurrency: int = 16,
        clock: Clock | None = None,
    ) -> None:
        self._seed, self._concurrency, self._clock = seed, concurrency, clock or Costs()
        self._runner = asyncio.Runner()  # kept: engines are bound to its loop
        self._world: World | None = make_world()

    def collect(self, policy: Policy, tasks: Sequence[Task], turn: Round) -> list[Rollout]:
        """See `Collector`."""
        return self._runner.run(self._all(policy, tasks, turn))

    def close(self) -> None:
        """Closes the world."""
        if self._world is not None:
            self._runner.run(self._world.close())
            self._runner.close()
            self._world = None

    async def _all(self, policy: Policy, tasks: Sequence[Task], turn: Round) -> list[Rollout]:
        places = asyncio.Semaphore(self._concurrency)
        if self._world is None:
            raise RuntimeError("the collector is closed")
        world = self._world

        async def one(task: Task) -> Rollout:
            seed = seed_of(self._seed, turn.key, task.question.id, task.sample)
            draw = None if turn.greedy else np.random.default_rng(seed)
            async with places:
                reasoner = world.reasoner(task.question, seed=seed)
                return await play(reasoner, policy, task, self._clock, draw)

        try:
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(one(task)) for task in tasks]
        except* Exception as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in running]


class EpisodeWorker:
    """A thin Ray shell around a `LocalCollector`; wrap it with `ray.remote`. The same call gives
    the same episodes, however often it is made."""

    def __init__(self, make_world: MakeWorld, seed: int, concurrency: int, clock: Clock) -> None:
        import torch

        torch.set_num_threads(1)
        self._collector = LocalCollector(make_world, seed, concurrency, clock)

    def collect(self, policy: Policy, tasks: Sequence[Task], turn: Round) -> list[Rollout]:
        """See `Collector`."""
        return self._collector.collect(policy, tasks, turn)


class FleetCollector:
    """Collects by `workers` supervised Ray actors; lost and hung ones are replaced and what they
    owed is collected again. Needs a Ray that is running; used from one thread. Raises `FleetError`
    when a worker's restarts are used up."""

    def __init__(
        self,
        make_world: MakeWorld,
        workers: int,
        seed: int = 0,
        concurrency: int = 16,
        clock: Clock | None = None,
        *,
        cpus: float = 1.0,
        max_restarts: int = 3,
        call_timeout_s: float = 900.0,
    ) -> None:
        import ray

        from cluster.fleet import Fleet

        actor = ray.remote(EpisodeWorker).options(num_cpus=cpus, scheduling_strategy="SPREAD")
        held = ray.put(clock or Costs())
        self.fleet: Fleet = Fleet(
            "realm-episodes",
            lambda _: actor.remote(make_world, seed, concurrency, held),
            workers,
            max_restarts=max_restarts,
            call_timeout_s=call_timeout_s,
        )

    @property
    def restarts(self) -> int:
        """Workers replaced so far."""
        return self.fleet.restarts

    def collect(self, policy: Policy, tasks: Sequence[Task], turn: Round) -> list[Rollout]:
        """See `Collector`."""
        import ray

        held = ray.put(policy)  # once, not with every call
        size = max(1, -(-len(tasks) // (len(self.fleet) * CHUNKS_PER_WORKER)))
        calls: list[Any] = [
            self.fleet.submit("collect", held, list(tasks[start : start + size]), turn)
            for start in range(0, len(tasks), size)
        ]
        return [rollout for part in self.fleet.gather(calls) for rollout in part]

    def close(self) -> None:
        """Ends the workers."""
        self.fleet.shutdown()
