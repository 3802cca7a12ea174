import logging
import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest
import ray

from cluster.failures import FleetError
from cluster.fleet import Fleet
from tests.cluster.toys import Toy

pytestmark = pytest.mark.usefixtures("ray_local")


def toys(size: int = 2, log: object = "", **options: object) -> Fleet:
    return Fleet("toy", lambda _: Toy.remote(str(log) if log else ""), size, **options)


@pytest.fixture(scope="module")
def fleet(ray_local: None) -> Iterator[Fleet]:
    """For tests that lose no worker."""
    with toys() as fleet:
        yield fleet
        assert fleet.restarts == 0


def test_map_gives_results_in_order_and_uses_all_workers(fleet):
    assert fleet.map("square", range(10)) == [x * x for x in range(10)]
    assert fleet.map("square", []) == []
    assert len(set(fleet.map("pid", range(10)))) == len(set(fleet.pids())) == len(fleet) == 2


def test_kill_9_amid_map_loses_nothing(tmp_path):
    log = tmp_path / "asked"
    with toys(log=log) as fleet:
        calls = [fleet.submit("square", x) for x in range(40)]
        calls[4].result()
        os.kill(fleet.pids()[0], 9)
        assert fleet.map("square", range(100, 120)) == [x * x for x in range(100, 120)]
        assert fleet.gather(calls) == [x * x for x in range(40)]
        assert fleet.restarts == 1
    # What was answered before the kill is not asked again: only the few in flight are.
    asked = Counter(map(int, log.read_text().split()))
    assert set(asked) == {*range(40), *range(100, 120)}
    assert sum(asked.values()) < 60 + 6


def test_kill_9_amid_stream_gives_every_key_once(tmp_path):
    log = tmp_path / "asked"
    with toys(log=log) as fleet:
        got = []
        for key, value in fleet.stream("stream", list(range(30)), 100, key=str):
            got.append((key, value))
            if len(got) == 6:
                os.kill(fleet.pids()[1], 9)
        assert sorted(got) == sorted((str(x), x + 100) for x in range(30))
        assert fleet.restarts == 1
    # Only what had not come was sent again.
    asked = Counter(map(int, log.read_text().split()))
    assert sum(asked.values()) < 30 + 15


def test_stream_passes_each_key_once(fleet):
    got = sorted(fleet.stream("stream_twice", [1, 2, 3], key=str))
    assert got == [("1", 1), ("2", 2), ("3", 3)]
    assert list(fleet.stream("stream_twice", [], key=str)) == []
    with pytest.raises(ValueError, match="same key"):
        list(fleet.stream("stream_twice", [1, 1], key=str))


def test_a_stream_that_ends_early_is_an_error_not_a_loop(fleet):
    with pytest.raises(FleetError, match=r"without an answer for 1 items, e\.g\. [24]"):
        list(fleet.stream("stream_short", [1, 2, 3, 4], key=str))


def test_an_abandoned_stream_leaves_the_workers_free(fleet):
    for _ in fleet.stream("stream", list(range(1000)), 0, key=str):
        break
    started = time.monotonic()
    fleet.broadcast("get_version")
    assert time.monotonic() - started < 8  # 1000 items on two workers take 15 s


def test_exceptions_of_methods_are_the_callers(fleet):
    for call in (
        lambda: fleet.map("raises", [1]),
        lambda: fleet.broadcast("raises", 1),
        lambda: fleet.submit("raises", 1).result(),
        lambda: list(fleet.stream("stream_raises", [1, 2], key=str)),
    ):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(ray.exceptions.RayTaskError):
        fleet.map("ask_dead", [1])


def test_calls_can_be_handed_in_while_a_stream_is_read(fleet):
    calls = []
    for _key, value in fleet.stream("stream", [1, 2, 3, 4], 0, key=str):
        calls.append(fleet.submit("square", value))
    assert sorted(fleet.gather(calls)) == [1, 4, 9, 16]
    assert all(call.done() for call in calls)


def test_a_hung_worker_is_replaced(tmp_path):
    with toys() as fleet:
        marker = str(tmp_path / "hung")
        call = fleet.submit("hang_once", marker, 7)
        assert call.result(timeout_s=1.5) == 7
        assert fleet.restarts == 1
        marker = str(tmp_path / "hung-stream")
        got = list(fleet.stream("stream_hang_once", [1, 2, 3, 4], marker, key=str, timeout_s=1.5))
        assert sorted(got) == [("1", 1), ("2", 2), ("3", 3), ("4", 4)]
        assert fleet.restarts == 2


def test_a_hung_map_is_finished_by_a_new_worker(tmp_path):
    with Fleet("toy", lambda _: HangsOnThree.remote(str(tmp_path / "hung")), 2) as fleet:
        assert fleet.map("same", range(8), timeout_s=1.5) == list(range(8))
        assert fleet.restarts == 1


@ray.remote(num_cpus=0)
class HangsOnThree:
    def __init__(self, marker: str) -> None:
        self.marker = marker

    def same(self, x: int) -> int:
        if x == 3 and not os.path.exists(self.marker):
            open(self.marker, "w").close()
            time.sleep(600)
        return x


def test_on_start_brings_a_replacement_up_to_date():
    version = 1
    started = []

    def push(actor: object) -> None:
        started.append(actor)
        ray.get(actor.set_version.remote(version), timeout=30)

    with toys(on_start=push) as fleet:
        assert fleet.broadcast("get_version") == [1, 1]
        assert len(started) == 2
        version = 2
        fleet.broadcast("set_version", 2)
        os.kill(fleet.pids()[0], 9)
        assert fleet.broadcast("get_version") == [2, 2]
        assert len(started) == 3


def test_a_worker_that_dies_in_a_broadcast_is_called_again(tmp_path):
    with toys() as fleet:
        assert fleet.broadcast("die_once", str(tmp_path / "died")) == ["alive", "alive"]
        assert fleet.restarts == 1


def test_an_item_that_always_kills_ends_in_one_error_and_few_log_lines(caplog):
    with toys(1, max_restarts=1) as fleet:
        with caplog.at_level(logging.WARNING), pytest.raises(FleetError, match="1 of 1 restarts"):
            fleet.map("die", [1])
        assert len([r for r in caplog.records if "is replaced" in r.message]) == 1
        with pytest.raises(FleetError):  # it stays given up
            fleet.map("square", [1])


def test_a_constructor_that_always_fails_is_one_visible_failure():
    with pytest.raises(FleetError, match="constructor failed: ValueError: no such model"):
        Fleet("toy", lambda _: Toy.remote(fail=True), 1, max_restarts=1)


def test_a_worker_that_cannot_be_scheduled_is_given_up_in_time():
    started = time.monotonic()
    with pytest.raises(FleetError, match="not ready within 1"):
        Fleet("toy", lambda _: Toy.options(num_cpus=64).remote(), 1, max_restarts=0,
              start_timeout_s=1.0)  # fmt: skip
    assert time.monotonic() - started < 10


def test_shutdown_ends_the_processes():
    fleet = toys()
    pids = fleet.pids()
    fleet.shutdown()
    fleet.shutdown()
    deadline = time.monotonic() + 15
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
