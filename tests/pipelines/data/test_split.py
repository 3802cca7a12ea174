import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.data.split import split_tasks
from pipelines.data.task import Task


def task(id, *topics):
    return Task(id, "need", frozenset({"1"}), topics=frozenset(topics))


def topics_of(tasks):
    return {topic for each in tasks for topic in each.topics or {each.id}}


def test_separate_clusters_lose_nothing():
    # Ten clusters of three tasks over three headings: .3 of them can be held out whole.
    tasks = [
        task(f"k:{c}-{n}", f"{c}{n}", f"{c}{(n + 1) % 3}") for c in "abcdefghij" for n in range(3)
    ]
    split = split_tasks(tasks, 0.3, 0)
    assert (len(split.train), len(split.test), split.dropped) == (21, 9, 0)
    assert not topics_of(split.train) & topics_of(split.test)


def test_a_bridge_between_two_clusters_is_what_is_dropped():
    clique = [(a, b) for a in range(5) for b in range(a)]
    tasks = [task(f"k:{s}{a}{b}", f"{s}{a}", f"{s}{b}") for s in "xy" for a, b in clique]
    split = split_tasks([*tasks, task("k:bridge", "x0", "y0")], 0.5, 3)
    assert (len(split.train), len(split.test), split.dropped) == (10, 10, 1)


def test_tasks_without_topics_are_split_one_by_one():
    split = split_tasks([task(str(n)) for n in range(100)], 0.3, 1)
    assert (len(split.train), len(split.test), split.dropped) == (70, 30, 0)


def test_every_kind_has_its_share_held_out():
    tasks = [task(f"big:{n}", f"b{n}") for n in range(400)]
    tasks += [task(f"small:{n}", f"s{n}") for n in range(20)]
    held_out = [each.id.split(":")[0] for each in split_tasks(tasks, 0.25, 0).test]
    assert (held_out.count("big"), held_out.count("small")) == (100, 5)


def test_the_seed_decides_and_repeats():
    tasks = [task(f"k:{n}", f"h{n}", f"h{(n * 7 + 1) % 60}") for n in range(60)]
    assert split_tasks(tasks, 0.3, 5) == split_tasks(tasks, 0.3, 5)
    assert split_tasks(tasks, 0.3, 5) != split_tasks(tasks, 0.3, 6)


def test_nothing_to_split_and_a_wrong_fraction():
    assert split_tasks([], 0.3, 0).train == []
    with pytest.raises(ValueError, match="test_fraction"):
        split_tasks([], 1.0, 0)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from("abcdefghijkl"), max_size=3), max_size=25),
    st.floats(0.1, 0.9),
    st.integers(0, 10),
)
def test_no_topic_is_on_both_sides_and_every_task_is_accounted_for(all_topics, fraction, seed):
    tasks = [task(f"k:{n}", *topics) for n, topics in enumerate(all_topics)]
    split = split_tasks(tasks, fraction, seed)
    assert not topics_of(split.train) & topics_of(split.test)
    assert len(split.train) + len(split.test) + split.dropped == len(tasks)
    kept = {each.id for each in (*split.train, *split.test)}
    assert len(kept) == len(split.train) + len(split.test)
