"""A rollout engine that dies inside a live actor is replaced, and no request is lost."""

from pathlib import Path
from typing import Any

import pytest
import ray

from actors.rollout.types import GenerationRequest, Sampling
from actors.rollout.worker import RolloutWorker
from cluster.fleet import Fleet


def break_engine(worker: Any) -> None:
    def dead(*_: Any) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    worker._engine.generate = dead


def fleet(model: Path) -> Fleet:
    options = {"dtype": "float32", "max_model_len": 64, "device": "cpu"}
    actor = ray.remote(RolloutWorker).options(num_cpus=0)
    return Fleet("rollout", lambda _: actor.remote("transformers", str(model), options), 1)


REQUESTS = [GenerationRequest(f"r{i}", (5, 6, 7 + i), i) for i in range(6)]


def test_dead_engine_is_replaced(ray_local: None, tiny_model: Path) -> None:
    with fleet(tiny_model) as workers:
        before = dict(workers.stream("generate", REQUESTS, Sampling(8), key=lambda r: r.key))
        ray.get(workers._slots[0].actor.__ray_call__.remote(break_engine))
        after = dict(workers.stream("generate", REQUESTS, Sampling(8), key=lambda r: r.key))
        assert workers.restarts == 1
        assert after == before


def test_bad_request_is_not_a_dead_engine(ray_local: None, tiny_model: Path) -> None:
    with fleet(tiny_model) as workers:
        long = [GenerationRequest("long", (5,) * 60, 0)]
        with pytest.raises(ValueError, match="has 60 tokens"):
            list(workers.stream("generate", long, Sampling(8), key=lambda r: r.key))
        assert workers.restarts == 0
