"""Searches on a cluster of three nodes, one of which is lost while they run."""

import logging
import os

import numpy as np
import ray
from ray.cluster_utils import Cluster

from cluster.session import session
from pipelines.corag.driver import run_searches
from tests.pipelines.corag.test_scoring import disturbed, fleets, trees

logging.disable(logging.WARNING)
small = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
cluster = Cluster(initialize_head=True, head_node_args=small)
nodes = [cluster.add_node(**small) for _ in range(2)]
cluster.wait_for_nodes()
os.environ["RAY_ADDRESS"] = cluster.address
COUNT = 6


def say(line: str) -> None:
    print("test:", line, flush=True)


def places(scoring) -> set[str]:
    """The nodes that the workers are on."""
    calls = [
        slot.actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
        for slot in scoring.fleets["toy"]._slots
    ]
    return set(ray.get(calls, timeout=60))


with session("local", namespace="test"):
    with fleets(workers=3, cpus=0.5) as scoring:
        expected = {o.key: o.selection for o in run_searches(trees(COUNT), scoring)}
    with fleets(workers=3, cpus=0.5, delay_s=0.05) as scoring:
        scoring.start("toy")
        held = places(scoring)
        say(f"workers on {len(held)} nodes")

        def lose() -> None:
            lost = next(node for node in nodes if node.node_id in held)
            cluster.remove_node(lost, allow_graceful=False)
            say("a node with a worker was removed")

        jobs = disturbed(trees(COUNT), 1, 3, lose)
        found = {o.key: o.selection for o in run_searches(jobs, scoring)}
        same = all(np.array_equal(found[k].tree.slots, expected[k].tree.slots) for k in expected)
        assert same
        assert len(found) == COUNT
        say(
            f"the trees are the same, workers replaced: {scoring.restarts > 0}, "
            f"on {len(places(scoring))} nodes"
        )
cluster.shutdown()
