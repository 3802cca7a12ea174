from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.data.task import Task
from pipelines.deepretrieval.train import tasks_of_step

TASKS = [Task(str(n), "need", frozenset("1")) for n in range(12)]


def ids(tasks, step, count, seed=0):
    return [task.id for task in tasks_of_step(tasks, step, count, seed)]


@pytest.mark.parametrize("count", [1, 3, 4, 5, 7, 11, 12])
def test_every_task_comes_once_a_pass(count):
    """Also when a step straddles two passes: `count` passes fill 12 steps whatever `count` is."""
    row = [i for step in range(1, 13) for i in ids(TASKS, step, count)]
    for start in range(0, len(row), 12):
        assert Counter(row[start : start + 12]) == Counter(task.id for task in TASKS)


def test_passes_and_seeds_have_orders_of_their_own():
    first, second = ids(TASKS, 1, 12), ids(TASKS, 2, 12)
    assert first != second
    assert ids(TASKS, 1, 12, seed=1) != first
    assert first != [task.id for task in TASKS]


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 60), st.integers(1, 12), st.integers(0, 5))
def test_a_step_is_a_function_of_its_number_without_repeats(tasks, step, count, seed):
    given = TASKS[: max(tasks, count)]
    got = ids(given, step, count, seed)
    assert len(got) == len(set(got)) == count
    assert ids(given, step, count, seed) == got


@pytest.mark.parametrize(("tasks", "count"), [(1, 4), (3, 4), (3, 9)])
def test_fewer_tasks_than_a_step_wants_are_repeated_evenly(tasks, count):
    # Whole passes: step s takes tasks (s-1) * count to s * count of an endless row of passes.
    for step in range(1, 8):
        got = Counter(ids(TASKS[:tasks], step, count))
        assert sum(got.values()) == count
    row = [i for step in range(1, tasks + 1) for i in ids(TASKS[:tasks], step, count)]
    assert set(Counter(row).values()) == {count}  # tasks * count places, count passes
