import pytest

from cluster.failures import FleetError, cause_of
from cluster.fleet_health import FleetHealth, State


def test_a_worker_goes_from_loading_to_ready_and_back_when_lost():
    health = FleetHealth("rollout", size=2, max_restarts=3)
    assert [w.state for w in health.workers] == [State.LOADING, State.LOADING]
    health.ready(1)
    assert health.workers[1].state is State.READY
    health.lost(1, "killed")
    assert health.workers[1].state is State.LOADING
    assert health.workers[1].last_cause == "killed"
    assert health.restarts == 1


def test_the_first_restart_is_at_once_and_three_outlast_the_loss_of_a_node():
    health = FleetHealth("rollout", size=1, max_restarts=6)
    waits = [health.lost(0, "x") for _ in range(6)]
    assert waits == [0, 5, 15, 30, 30, 30]
    assert sum(waits[:3]) > 15  # health checks: 5 misses, 3 s apart


def test_used_up_restarts_name_fleet_worker_count_and_last_cause():
    health = FleetHealth("search", size=2, max_restarts=1)
    health.lost(1, "first")
    with pytest.raises(FleetError, match=r"search: worker 1 .* 1 of 1 restarts; .*: second"):
        health.lost(1, "second")
    assert health.workers[1].state is State.GIVEN_UP
    # For good: a later loss does not revive it. The other worker has its own count.
    with pytest.raises(FleetError):
        health.lost(1, "third")
    assert health.lost(0, "other") == 0


def test_a_fleet_has_at_least_one_worker():
    with pytest.raises(ValueError, match="below 1"):
        FleetHealth("search", size=0, max_restarts=1)


def test_a_host_out_of_memory_says_what_to_change():
    error = RuntimeError("Task was killed due to the node running low on memory.\nmore")
    assert "kv_cache_gib" in cause_of(error)


def test_a_lost_process_is_one_line():
    error = RuntimeError(
        "The actor died unexpectedly before finishing this task.\n\tpid: 7\n"
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR "
        "Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of "
        "file. Some common causes include: (1) the process was killed by the OOM killer"
    )
    assert cause_of(error) == (
        "its process ended (SYSTEM_ERROR: Worker unexpectedly exits with a connection error "
        "code 2. End of file)"
    )
