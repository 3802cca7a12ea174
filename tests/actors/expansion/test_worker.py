"""The expansion worker: what it raises, and when its process ends."""

import subprocess
import sys
from pathlib import Path

import pytest
import ray

from actors.expansion.types import QueryOrders, RerankerError
from actors.expansion.worker import ExpansionWorker
from tests.actors.expansion.tiny_orders import orders
from tests.tiny_cross_encoder import write_cross_encoder

ROOT = Path(__file__).parents[3]


def test_facts_and_scores_in_an_actor(ray_local: None, tmp_path: Path) -> None:
    folder = str(write_cross_encoder(tmp_path / "cross"))
    actor = ray.remote(num_cpus=1)(ExpansionWorker).remote(
        "cross-encoder", {"model": folder, "threads": 1}
    )
    here = ExpansionWorker("cross-encoder", {"model": folder})
    asked = [orders("gout", "a", "ab"), orders("red", "c")]
    assert ray.get(actor.score.remote(asked)) == here.score(asked) == here.score(asked)
    assert ray.get(actor.facts.remote()) == here.facts()
    assert (here.facts().name, here.facts().window) == ("cross-encoder", 32)
    assert here.busy_s() > 0
    with pytest.raises(ValueError, match="chunk 'z' has no text"):
        ray.get(actor.score.remote([QueryOrders("q", {}, (("z",),))]))
    assert ray.get(actor.ping.remote()) == ray.get(actor.ping.remote())


def test_threads_are_those_asked_for() -> None:
    """In a process of its own: torch's threads are the process's."""
    said = run(
        "from actors.expansion.worker import ExpansionWorker as W; import torch, os;"
        "W('bm25', {'threads': 1}); print(torch.get_num_threads(),"
        "os.environ['TOKENIZERS_PARALLELISM'])"
    )
    assert said.stdout.split() == ["1", "false"]
    with pytest.raises(RerankerError, match="threads is 0"):
        ExpansionWorker("bm25", {"threads": 0})


@pytest.mark.parametrize(
    ("error", "code"),
    [("MemoryError()", 1), ("ValueError('bad')", 7), ("__import__('x_y_z')", 1)],
)
def test_a_failure_that_is_not_the_inputs_ends_the_process(error: str, code: int) -> None:
    raising = error if error.startswith("__") else f"(_ for _ in ()).throw({error})"
    said = run(
        "import sys\nfrom actors.expansion.worker import ExpansionWorker as W\n"
        f"w = W('bm25')\nw._reranker.score = lambda batch: {raising}\n"
        "try:\n    w.score([])\nexcept BaseException:\n    sys.exit(7)\n"
    )
    assert said.returncode == code, said.stderr


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
