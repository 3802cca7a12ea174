from pathlib import Path

import ray
import torch

from actors.learner.types import Demonstration, Sample
from actors.learner.worker import LearnerWorker
from configs.schema import LearnerConfig, ModelConfig


def test_learner_works_as_a_ray_actor(ray_local, tiny_model: Path, samples: list[Sample], tmp_path):
    actor = ray.remote(LearnerWorker).options(num_cpus=1)
    model = ModelConfig(path=str(tiny_model))
    worker = actor.remote(str(tiny_model), model, LearnerConfig(lr=1e-3, cpus=1))
    assert ray.get(worker.ping.remote()) == 0
    demos = [Demonstration(s.prompt_ids, s.completion_ids) for s in samples]
    assert ray.get(worker.imitate.remote(demos, 1e-3))["warmup/loss"] > 0
    ray.get(worker.end_warmup.remote())
    assert "policy/loss" in ray.get(worker.update.remote(samples))
    assert ray.get(worker.ping.remote()) == 2
    weights = ray.get(worker.weights.remote())
    assert all(w.dtype == torch.bfloat16 for w in weights.values())
    ray.get(worker.save.remote(tmp_path / "checkpoint"))
    ray.get(worker.load.remote(tmp_path / "checkpoint"))
    ray.kill(worker)
