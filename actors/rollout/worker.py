"""The rollout worker: a thin Ray shell around one engine."""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from actors.memory import release_free_memory
from actors.rollout.types import Completion, Engine, GenerationRequest, Sampling

log = logging.getLogger(__name__)


def make_engine(kind: str, model: str, **options: Any) -> Engine:
    """The engine named `kind`: "vllm" or "transformers"."""
    if kind == "vllm":
        from actors.rollout.vllm_engine import VllmEngine

        return VllmEngine(model, **options)
    if kind == "transformers":
        from actors.rollout.hf_engine import TransformersEngine

        return TransformersEngine(model, **options)
    raise ValueError(f"no rollout engine {kind!r}; there are vllm and transformers")


class RolloutWorker:
    """Writes completions with the weights it was last given; wrap it with `ray.remote`."""

    def __init__(self, kind: str, model: str, options: dict[str, Any]) -> None:
        self._engine = make_engine(kind, model, **options)
        self._busy_s = 0.0

    def ping(self) -> int:
        """The process id, once the model is loaded."""
        return os.getpid()

    def policy_version(self) -> int:
        """Version of the weights in force."""
        return self._engine.policy_version

    def generate(
        self, requests: Sequence[GenerationRequest], sampling: Sampling
    ) -> Iterator[tuple[str, Completion]]:
        """Streams (key, completion) as each one finishes.

        A `ValueError` is the request's fault and is raised. Any other failure leaves an engine that
        cannot be trusted: the process ends, so that it is replaced with a working one.
        """
        try:
            stream = self._engine.generate(requests, sampling)
            while (answer := self._next(stream)) is not None:
                yield answer
        except ValueError:
            raise
        except Exception:
            log.exception("the rollout engine failed; its process ends")
            os._exit(1)

    def _next(self, stream: Iterator[tuple[str, Completion]]) -> tuple[str, Completion] | None:
        started = time.perf_counter()
        answer = next(stream, None)
        self._busy_s += time.perf_counter() - started
        return answer

    def busy_s(self) -> float:
        """Seconds spent so far in `generate`, `batch_logprobs` and `update_weights`."""
        return self._busy_s

    def update_weights(self, weights: dict[str, torch.Tensor], version: int) -> int:
        """Puts new weights in force and returns their version."""
        started = time.perf_counter()
        self._engine.update_weights(weights.items(), version)
        release_free_memory()
        self._busy_s += time.perf_counter() - started
        return self._engine.policy_version

    def token_logprobs(
        self, prompt_ids: Sequence[int], completion_ids: Sequence[int]
    ) -> tuple[float, ...]:
        """See `Engine.token_logprobs`."""
        return self._engine.token_logprobs(prompt_ids, completion_ids)

    def batch_logprobs(
        self, requests: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[tuple[float, ...]]:
        """See `Engine.batch_logprobs`. Fails as `generate` does."""
        started = time.perf_counter()
        try:
            return self._engine.batch_logprobs(requests)
        except ValueError:
            raise
        except Exception:
            log.exception("the rollout engine failed; its process ends")
            os._exit(1)
        finally:
            self._busy_s += time.perf_counter() - started
