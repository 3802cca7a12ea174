"""The vLLM engine, in process, on CPU and on GPU.

Weights are replaced in the live engine (`update_weights`); nothing is restarted or recompiled.
"""

import logging
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from actors.rollout.types import (
    Completion,
    GenerationRequest,
    Sampling,
    check_logprob_requests,
)

FIRST_SAFE_TEMPERATURE = 1e-2  # vLLM clamps lower ones: sampling would not be the one asked for


class VllmEngine:
    """Continuous-batching generation by vLLM.

    `threads` are CPU threads (ignored on GPU), `kv_cache_gib` the KV cache of the CPU backend,
    `max_model_len` the longest prompt plus completion in tokens, `block_size` the tokens of a cache
    block (vLLM's own choice if None): only whole blocks are found again in the prefix cache.
    """

    def __init__(
        self,
        model: str,
        *,
        dtype: str,
        max_model_len: int,
        kv_cache_gib: float = 1.0,
        gpu_memory_utilization: float = 0.5,
        eager: bool = True,
        threads: int | None = None,
        seed: int = 0,
        block_size: int | None = None,
    ) -> None:
        _set_environment(kv_cache_gib, model)
        _quiet()
        import vllm  # after the environment: vLLM reads it at import
        from vllm.platforms import current_platform

        self._vllm = vllm
        self.on_cpu = current_platform.is_cpu()
        if self.on_cpu and threads:
            torch.set_num_threads(threads)
        self._llm = vllm.LLM(
            model=model,
            dtype=dtype,
            max_model_len=max_model_len,
            enforce_eager=eager,
            seed=seed,
            logprobs_mode="processed_logprobs",
            enable_prefix_caching=True,
            use_tqdm_on_load=False,
            gpu_memory_utilization=gpu_memory_utilization,
            generation_config="vllm",  # the model's own top-k and top-p would bias the policy ratio
            **_cpu_scheduling(max_model_len) if self.on_cpu else {},
            **{} if block_size is None else {"block_size": block_size},
        )
        self.max_model_len = max_model_len
        self.policy_version = 0
        self._calls = 0

    def generate(
        self, requests: Sequence[GenerationRequest], sampling: Sampling
    ) -> Iterator[tuple[str, Completion]]:
        """Yields (key, completion) as each request finishes."""
        engine = self._llm.llm_engine
        self._calls += 1
        keys: dict[str, str] = {}
        for index, request in enumerate(requests):
            request_id = f"{self._calls}-{index}"
            keys[request_id] = request.key
            engine.add_request(
                request_id,
                {"prompt_token_ids": list(request.prompt_ids)},
                self._parameters(sampling, request.seed),
            )
        version = self.policy_version
        try:
            while engine.has_unfinished_requests():
                for output in engine.step():
                    if output.finished and (key := keys.pop(output.request_id, None)) is not None:
                        yield key, _completion(output.outputs[0], version)
        finally:
            if keys:
                engine.abort_request(list(keys))

    def update_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replaces all weights in place.

        A tied head keeps its own packed copy on the CPU backend: without repacking it the engine
        would go on with the old one and say nothing. Cached prefixes are of the old weights.
        """
        named = [(name, tensor) for name, tensor in weights if not self._is_tied_head(name)]
        self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(named)})
        if self.on_cpu:
            self._llm.apply_model(_repack_head)
        if not self._llm.reset_prefix_cache():
            raise RuntimeError("vLLM did not reset its prefix cache: requests still hold blocks")
        self.policy_version = version

    def token_logprobs(
        self, prompt_ids: Sequence[int], completion_ids: Sequence[int]
    ) -> tuple[float, ...]:
        """Log-probability of each completion token at temperature 1, given what precedes it."""
        return self._logprobs([(prompt_ids, completion_ids)])[0]

    def batch_logprobs(
        self, requests: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of many completions, in one call; see `Engine.batch_logprobs`.

        vLLM reads no cached prefix for such requests and computes the logits of whole prompts.
        """
        check_logprob_requests(requests, self.max_model_len - 1)
        return self._logprobs(requests)

    def _logprobs(
        self, requests: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[tuple[float, ...]]:
        prompts = [{"prompt_token_ids": [*prompt, *rest]} for prompt, rest in requests]
        parameters = self._vllm.SamplingParams(max_tokens=1, temperature=1.0, prompt_logprobs=0)
        outputs = self._llm.generate(prompts, parameters, use_tqdm=False) if prompts else []
        return [
            tuple(
                output.prompt_logprobs[len(prompt) + i][token].logprob
                for i, token in enumerate(completion)
            )
            for output, (prompt, completion) in zip(outputs, requests, strict=True)
        ]

    @property
    def core(self) -> Any:
        """vLLM's own engine, for who streams from it (`sessions.vllm_sessions`)."""
        return self._llm.llm_engine

    def stream_parameters(
        self, sampling: Sampling, seed: int, top: int, ends: Iterable[int], *, skip_cache: bool
    ) -> Any:
        """vLLM's parameters for tokens as they come, undecoded: `top` log-probabilities each.

        `ends` are ids that end the text; `skip_cache` leaves cached prefixes aside. Stop strings
        are left to the reader. Raises ValueError for a temperature that vLLM would change.
        """
        _check_temperature(sampling)
        return self._vllm.SamplingParams(
            max_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            seed=seed,
            logprobs=top,
            stop_token_ids=sorted(ends),
            detokenize=False,
            output_kind=self._vllm.sampling_params.RequestOutputKind.DELTA,
            skip_reading_prefix_cache=skip_cache,
        )

    def _parameters(self, sampling: Sampling, seed: int) -> Any:
        _check_temperature(sampling)
        return self._vllm.SamplingParams(
            max_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            stop=list(sampling.stop) or None,
            seed=seed,
            logprobs=0,
        )

    def _is_tied_head(self, name: str) -> bool:
        config = self._llm.llm_engine.model_config.hf_config
        return name == "lm_head.weight" and bool(getattr(config, "tie_word_embeddings", False))


def _check_temperature(sampling: Sampling) -> None:
    if 0 < sampling.temperature < FIRST_SAFE_TEMPERATURE:
        raise ValueError(
            f"temperature {sampling.temperature} is below {FIRST_SAFE_TEMPERATURE}; "
            "use 0 for greedy decoding"
        )


def _set_environment(kv_cache_gib: float, model: str) -> None:
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(max(1, math.ceil(kv_cache_gib)))
    if os.path.isdir(model):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")


def _quiet() -> None:
    """What importing vLLM says of itself on a CPU is nothing that a user could act on."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="vllm")
    logging.getLogger("torch._library.triton").setLevel(logging.ERROR)


def _cpu_scheduling(max_model_len: int) -> dict[str, Any]:
    """Prompts are never prefilled in parts: vLLM then rewinds the request's random generator, which
    CPU generators cannot do (seeded requests would end the engine)."""
    return {
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(4096, max_model_len),
    }


def _completion(output: Any, version: int) -> Completion:
    token_ids = tuple(output.token_ids)
    return Completion(
        token_ids=token_ids,
        logprobs=tuple(
            entry[token].logprob for entry, token in zip(output.logprobs, token_ids, strict=True)
        ),
        text=output.text,
        finish_reason="stop" if output.finish_reason == "stop" else "length",
        policy_version=version,
    )


def _repack_head(model: torch.nn.Module) -> None:
    head = getattr(model, "lm_head", None)
    if head is None or not hasattr(head, "cpu_linear"):
        return
    from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm

    dispatch_cpu_unquantized_gemm(head, remove_weight=False)
