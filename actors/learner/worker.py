"""The learner as a Ray actor: `ray.remote(LearnerWorker)` with the CPUs and GPUs it may use."""

import time
from collections.abc import Sequence
from pathlib import Path

import torch

from actors.learner.learner import Learner
from actors.learner.types import Demonstration, Sample
from actors.memory import release_free_memory
from configs.schema import LearnerConfig, ModelConfig


class LearnerWorker:
    """Holds one `Learner`; every method is the learner's own."""

    def __init__(
        self,
        model_path: str,
        model: ModelConfig,
        config: LearnerConfig,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        # The reservation may be a fraction where roles take turns on the same cores.
        threads = max(1, int(config.cpus))
        self.learner = Learner(model_path, model, config, temperature, seed, threads)
        self._busy_s = 0.0

    def ping(self) -> int:
        """The policy version: answers as soon as the model is loaded."""
        return self.learner.version

    def update(self, samples: Sequence[Sample]) -> dict[str, float]:
        """See `Learner.update`."""
        started = time.perf_counter()
        metrics = self.learner.update(samples)
        release_free_memory()
        self._busy_s += time.perf_counter() - started
        return metrics

    def busy_s(self) -> float:
        """Seconds spent in `update` and `weights` so far."""
        return self._busy_s

    def imitate(self, demos: Sequence[Demonstration], lr: float) -> dict[str, float]:
        """See `Learner.imitate`."""
        metrics = self.learner.imitate(demos, lr)
        release_free_memory()
        return metrics

    def end_warmup(self) -> None:
        """See `Learner.end_warmup`."""
        self.learner.end_warmup()

    def weights(self, dtype: torch.dtype = torch.bfloat16) -> dict[str, torch.Tensor]:
        """See `Learner.weights`."""
        started = time.perf_counter()
        weights = self.learner.weights(dtype)
        self._busy_s += time.perf_counter() - started
        return weights

    def token_logprobs(
        self, prompt_ids: Sequence[int], completion_ids: Sequence[int]
    ) -> tuple[float, ...]:
        """See `Learner.token_logprobs`."""
        return self.learner.token_logprobs(prompt_ids, completion_ids)

    def save(self, folder: Path) -> None:
        """See `Learner.save`."""
        self.learner.save(folder)
        release_free_memory()

    def load(self, folder: Path) -> None:
        """See `Learner.load`."""
        self.learner.load(folder)

    def export(self, folder: Path) -> None:
        """See `Learner.export`."""
        self.learner.export(folder)
