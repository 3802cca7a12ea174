"""Splits tasks so that nothing a held-out task is about is seen in training."""

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.data.task import Task

_SWEEPS = 400
_HOT, _COLD = 2.0, 0.05
_BALANCE = 4.0  # a task too many or too few in the test set weighs like this many lost ones


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """Tasks to learn from and tasks to evaluate on, and how many were lost on the way."""

    train: list[Task]
    test: list[Task]
    dropped: int
    """Tasks with one topic in training and another held out."""
    empty: int = 0
    """Tasks left out because none of their relevant records is in the corpus."""
    missing: int = 0
    """Relevant ids that are not in the corpus, over all tasks."""


def split_tasks(tasks: Sequence[Task], test_fraction: float, seed: int) -> TaskSplit:
    """Hold out about `test_fraction` of the tasks that are kept, of each kind, by topic.

    A task whose topics (its id, where it has none) are all held out is a test task; one with none
    of them held out is a training task; one that straddles is dropped. Which topics to hold out is
    a balanced graph cut: simulated annealing, drawn by `seed` only, looks for one that drops few.
    The kind of a task is its id up to the first ":". Both lists keep the order of `tasks`.
    """
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction: {test_fraction} is not between 0 and 1")
    if not tasks:
        return TaskSplit([], [], 0)
    cut = _Cut(tasks, test_fraction)
    best = cut.anneal(random.Random(seed))
    train, test = [], []
    for task, topics in zip(tasks, cut.topics, strict=True):
        held_out = sum(best[topic] for topic in topics)
        if held_out == 0:
            train.append(task)
        elif held_out == len(topics):
            test.append(task)
    return TaskSplit(train, test, len(tasks) - len(train) - len(test))


def kind_of(task: Task) -> str:
    """The task's id up to the first ":" ("" when it has none)."""
    return task.id.partition(":")[0] if ":" in task.id else ""


@dataclass
class _Kind:
    """Counts of one kind of task under the present cut; `weight` makes all kinds count alike."""

    total: int = 0
    train: int = 0
    test: int = 0
    weight: float = 1.0

    def cost(self, fraction: float) -> float:
        kept = self.train + self.test
        unbalanced = abs(self.test - fraction * kept)
        return self.weight * (self.total - kept + _BALANCE * unbalanced)

    def count(self, held_out: int, size: int, step: int) -> None:
        if held_out == 0:
            self.train += step
        elif held_out == size:
            self.test += step


@dataclass
class _Cut:
    """Which topics are held out, and what that costs in dropped tasks and in balance."""

    tasks: Sequence[Task]
    fraction: float
    topics: list[list[int]] = field(default_factory=list)
    of_topic: list[list[int]] = field(default_factory=list)
    kinds: list[_Kind] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers: dict[str, int] = {}
        by_name: dict[str, _Kind] = defaultdict(_Kind)
        self.topics = [
            [numbers.setdefault(topic, len(numbers)) for topic in sorted(task.topics or {task.id})]
            for task in self.tasks
        ]
        self.of_topic = [[] for _ in numbers]
        for number, topics in enumerate(self.topics):
            for topic in topics:
                self.of_topic[topic].append(number)
        self.kinds = [by_name[kind_of(task)] for task in self.tasks]
        for kind in self.kinds:
            kind.total += 1
        for kind in by_name.values():
            kind.weight = len(self.tasks) / (len(by_name) * kind.total)
        self._every_kind = list(by_name.values())

    def anneal(self, rng: random.Random) -> list[bool]:
        """The cheapest assignment seen, as one flag a topic."""
        side = [rng.random() < self.fraction for _ in self.of_topic]
        held_out = [sum(side[topic] for topic in topics) for topics in self.topics]
        for kind in self._every_kind:
            kind.train = kind.test = 0
        for number, topics in enumerate(self.topics):
            self.kinds[number].count(held_out[number], len(topics), 1)
        cost = self._cost()
        best, best_cost = side.copy(), cost
        order = list(range(len(side)))
        for sweep in range(_SWEEPS):
            heat = _HOT * (_COLD / _HOT) ** (sweep / (_SWEEPS - 1))
            rng.shuffle(order)
            for topic in order:
                self._flip(topic, side, held_out)
                flipped = self._cost()
                if flipped <= cost or rng.random() < math.exp((cost - flipped) / heat):
                    cost = flipped
                    if cost < best_cost:
                        best, best_cost = side.copy(), cost
                else:
                    self._flip(topic, side, held_out)
        return best

    def _cost(self) -> float:
        return sum(kind.cost(self.fraction) for kind in self._every_kind)

    def _flip(self, topic: int, side: list[bool], held_out: list[int]) -> None:
        side[topic] = not side[topic]
        step = 1 if side[topic] else -1
        for number in self.of_topic[topic]:
            kind, size = self.kinds[number], len(self.topics[number])
            kind.count(held_out[number], size, -1)
            held_out[number] += step
            kind.count(held_out[number], size, 1)
