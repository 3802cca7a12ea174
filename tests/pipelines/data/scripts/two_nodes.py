"""Builds on a cluster of two nodes: OUT FILE..."""

import logging
import os
import sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from pipelines.data import spread
from pipelines.data.build_index import build_pubmed_index
from pipelines.data.failures import BuildError, CorpusError

logging.disable(logging.WARNING)
cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 * 2**20}
)
cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
cluster.wait_for_nodes()
os.environ["RAY_ADDRESS"] = cluster.address


def where(shared: None, item: int) -> str:
    """The node that a task runs on."""
    import time

    time.sleep(0.3)
    return ray.get_runtime_context().get_node_id()


manifest = build_pubmed_index(sys.argv[2:], sys.argv[1], shards=2)
print("hash", manifest.content_hash, flush=True)
with spread.spread(6) as run:
    print("nodes", len({node for _, node in run.map(where, None, range(6))}), flush=True)
    print("workers", run.workers, flush=True)
    try:
        run.check_sees([Path("/no/such/folder")])
    except BuildError as error:
        print("refused", error, flush=True)
broken = Path(sys.argv[2]).with_name("broken.xml")
broken.write_text("<PubmedArticleSet>\n<PubmedArticle>")
try:
    build_pubmed_index([*sys.argv[2:], broken], sys.argv[1])
except CorpusError as error:
    print("broken", error, flush=True)
cluster.shutdown()
