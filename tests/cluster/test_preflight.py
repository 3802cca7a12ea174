import time
from pathlib import Path

import pytest

from cluster.failures import PreflightError
from cluster.preflight import (
    Needs,
    Versions,
    colocated_cpus,
    disk_problems,
    folder_problems,
    node_resources,
    node_versions,
    own_versions,
    place,
    require,
    resource_problems,
    version_problems,
)


def test_resources_wanted_against_had():
    nodes = [{"CPU": 8, "GPU": 1}, {"CPU": 4}]
    assert resource_problems(Needs(cpus=12, gpus=1), nodes) == []
    assert resource_problems(Needs(cpus=13, gpus=2), nodes) == [
        "CPU: wanted 13, the cluster has 12",
        "GPU: wanted 2, the cluster has 1",
    ]


def test_a_bundle_must_fit_on_one_node():
    nodes = [{"CPU": 8}, {"CPU": 4, "GPU": 1}]
    assert resource_problems(Needs(bundles={"rollout": {"CPU": 4, "GPU": 1}}), nodes) == []
    assert resource_problems(Needs(bundles={"rollout": {"CPU": 8, "GPU": 1}}), nodes) == [
        "rollout: wanted {'CPU': 8, 'GPU': 1} on one node, nodes have "
        "[{'CPU': 8, 'GPU': 0.0}, {'CPU': 4, 'GPU': 1}]"
    ]


def test_cuda_without_a_gpu_in_the_bundle_is_refused_by_the_plan():
    needs = Needs(bundles={"learner": {"CPU": 1}, "search": {"CPU": 1}}, cuda=["learner"])
    (problem,) = resource_problems(needs, [{"CPU": 8, "GPU": 8}])
    assert problem.startswith("learner: runs on CUDA")


def test_versions_are_compared_up_to_the_minor_of_python_and_all_of_ray():
    driver = Versions("me", "3.11.9", "2.60.0")
    same = Versions("a", "3.11.2", "2.60.0")
    other = Versions("b", "3.12.9", "2.59.1")
    assert version_problems(driver, [same]) == []
    assert version_problems(driver, [same, other]) == [
        "node b: ray 2.59.1, the driver has 2.60.0",
        "node b: python 3.12.9, the driver has 3.11.9",
    ]


def test_all_problems_are_raised_together():
    require([], [])
    with pytest.raises(PreflightError) as error:
        require(["a"], [], ["b", "c"])
    assert str(error.value) == "a\nb\nc"


def test_folders_and_disks(tmp_path):
    assert folder_problems(tmp_path / "not" / "yet") == []
    assert not (tmp_path / "not").exists()
    (problem,) = folder_problems(Path("/proc/nothing"))
    assert "cannot be written" in problem
    assert disk_problems(tmp_path / "not" / "yet", 1) == []
    (problem,) = disk_problems(tmp_path, 10**18)
    assert "wanted 1000000000.0 GB free" in problem


def test_roles_that_take_turns_share_the_cores():
    assert colocated_cpus(8, {"rollout": 4, "learner": 4}) == {"rollout": 4, "learner": 4}
    assert colocated_cpus(2, {"rollout": 2, "learner": 2}) == {"rollout": 1.0, "learner": 1.0}
    shares = colocated_cpus(2, {"rollout": 2, "learner": 2, "search": 1})
    assert shares == {"rollout": 0.8, "learner": 0.8, "search": 0.4}
    assert sum(shares.values()) <= 2
    assert colocated_cpus(2, {}) == {}


@pytest.mark.usefixtures("ray_local")
def test_a_real_cluster_is_asked():
    assert [node["CPU"] for node in node_resources()] == [2]
    assert version_problems(own_versions(), node_versions()) == []


@pytest.mark.usefixtures("ray_local")
def test_a_placement_that_can_never_be_met_fails_in_seconds():
    group = place([{"CPU": 1}], timeout_s=30)
    assert group.bundle_count == 1
    started = time.monotonic()
    with pytest.raises(PreflightError, match=r"INFEASIBLE .*wanted PACK of \[{'CPU': 64}\].*2\.0"):
        place([{"CPU": 64}], timeout_s=300)
    with pytest.raises(PreflightError, match=r"after 1 s: .*free now {'CPU': 1\.0}"):
        place([{"CPU": 2}], timeout_s=1)  # it would fit, were the first group gone
    assert time.monotonic() - started < 20
    import ray

    ray.util.remove_placement_group(group)
