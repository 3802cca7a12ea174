"""Joins a cluster of two nodes as a Ray job does, and loses one of them amid work."""

import logging
import os

from ray.cluster_utils import Cluster

from cluster.failures import PreflightError
from cluster.fleet import Fleet
from cluster.preflight import node_versions, own_versions, version_problems
from cluster.session import session
from tests.cluster.toys import Toy

logging.disable(logging.WARNING)
cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 * 2**20}
)
second = cluster.add_node(num_cpus=1, resources={"spot": 1}, object_store_memory=100 * 2**20)
cluster.wait_for_nodes()
os.environ["RAY_ADDRESS"] = cluster.address


def say(line: str) -> None:
    print("test:", line, flush=True)


on_second = [{"spot": 0.1}]


def make(index: int):
    # The very first worker lives on the second node; its replacement may live anywhere.
    return Toy.options(num_cpus=0, resources=on_second.pop() if on_second else None).remote()


with session("local", namespace="test") as s:
    say(f"joined through RAY_ADDRESS: started={s.started} nodes={s.nodes} cpus={s.cpus}")
    versions = node_versions()
    found = version_problems(own_versions(), versions)
    say(f"versions of {len(versions)} nodes, {len(found)} problems")
    with session("local") as inner:
        assert inner.address == s.address
        say("a second session inside is the same Ray")
    with Fleet("toy", make, 2) as fleet:
        got = []
        for item in fleet.stream("stream_slowly", list(range(30)), 0, key=str):
            got.append(item)
            if len(got) == 4:
                cluster.remove_node(second, allow_graceful=False)
        assert sorted(got) == sorted((str(x), x) for x in range(30))
        say(f"node lost: {len(got)} results, worker replaced: {fleet.restarts > 0}")
with session("auto") as s:
    say(f"cluster still up: started={s.started}")
cluster.shutdown()
del os.environ["RAY_ADDRESS"]
try:
    with session("127.0.0.1:1"):
        pass
except PreflightError as error:
    say(f"cannot join: {type(error).__name__}")
