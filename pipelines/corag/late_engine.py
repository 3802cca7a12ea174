"""The language model of a run, loaded when the first answer is not found in the cache."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from actors.rollout.types import Completion, GenerationRequest, Sampling
from configs.corag import CoragConfig
from pipelines.corag.answer import Generator, generator


class LateEngine:
    """An engine, or a fleet of them, that is made at the first request and ends with `stack`.

    `start_s` are the seconds that making it took: not part of answering.
    """

    def __init__(self, config: CoragConfig, model: str, context: int, stack: ExitStack) -> None:
        self._config, self._model, self._context, self._stack = config, model, context, stack
        self._generate: Generator | None = None
        self.start_s = 0.0

    def __call__(
        self, requests: Sequence[GenerationRequest], sampling: Sampling
    ) -> Iterator[tuple[str, Completion]]:
        """See `answer.Generator`."""
        if self._generate is None:
            started = time.perf_counter()
            self._generate = generator(self._start())
            self.start_s = time.perf_counter() - started
        yield from self._generate(requests, sampling)

    def _start(self) -> Any:
        if self._config.rollout.workers:
            return self._stack.enter_context(self._start_fleet())
        from actors.rollout.worker import make_engine

        return make_engine(self._config.rollout.engine, self._model, **self._options())

    def _options(self) -> dict[str, Any]:
        r = self._config.rollout
        options: dict[str, Any] = {
            "dtype": r.dtype,
            "max_model_len": self._context,
            "threads": max(1, int(r.cpus)),
        }
        if r.engine == "transformers":
            return options | {
                "batch_size": r.batch_size,
                "device": "cuda" if r.gpus else None,
            }
        return options | {
            "kv_cache_gib": r.kv_cache_gib,
            "gpu_memory_utilization": r.gpu_memory_utilization,
            "eager": r.eager,
            "seed": self._config.run.seed,
        }

    def _start_fleet(self) -> Any:
        import ray

        from actors.rollout.worker import RolloutWorker
        from cluster.fleet import Fleet

        r, c = self._config.rollout, self._config.cluster
        environment = {"env_vars": {"OMP_NUM_THREADS": str(max(1, int(r.cpus)))}}
        actor = ray.remote(RolloutWorker).options(
            num_cpus=r.cpus, num_gpus=r.gpus, runtime_env=environment
        )
        options = self._options()
        return Fleet(
            "answers",
            lambda _: actor.remote(r.engine, self._model, options),
            r.workers,
            max_restarts=c.max_restarts,
            start_timeout_s=c.actor_start_timeout_s,
            call_timeout_s=r.timeout_s,
        )
