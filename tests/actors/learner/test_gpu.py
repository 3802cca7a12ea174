"""On a CUDA device the learner does what it does on a CPU."""

import dataclasses

import pytest
import torch

from actors.learner.learner import Learner
from actors.learner.types import Sample
from configs.schema import LearnerConfig, ModelConfig

pytestmark = pytest.mark.gpu

SAMPLES = [
    Sample("a", (5, 6, 7), (8, 9, 10 + i), (-4.0, -4.0, -4.0), float(i % 3)) for i in range(6)
]


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_updates_equal_those_of_the_cpu(tiny_model, algorithm):
    config = LearnerConfig(algorithm=algorithm, lr=1e-3, critic_lr=1e-3, is_clip=0.0)
    model = ModelConfig(path=str(tiny_model), dtype="float32")
    cpu = Learner(str(tiny_model), model, config)
    gpu = Learner(str(tiny_model), model, dataclasses.replace(config, gpus=1.0))
    for _ in range(3):
        ours, theirs = cpu.update(SAMPLES), gpu.update(SAMPLES)
        assert theirs["policy/loss"] == pytest.approx(ours["policy/loss"], abs=1e-4)
    for name, weight in cpu.weights(torch.float32).items():
        torch.testing.assert_close(gpu.weights(torch.float32)[name], weight, atol=1e-4, rtol=1e-3)
