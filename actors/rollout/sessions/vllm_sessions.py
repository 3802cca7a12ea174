"""Sessions on vLLM: every write and every question is a request, and prefixes are cached."""

import math
from typing import Any

from actors.rollout.sessions.drawing import request_seed
from actors.rollout.sessions.jobs import Ended, Failed, Job, Paused, Started, Token
from actors.rollout.sessions.thread_sessions import SIDE_ROOM, ThreadSessions
from actors.rollout.types import Sampling

CPU_BLOCK = 32
"""Tokens of a cache block: the fewest that the CPU backend's fast kernels take. Only whole blocks
are found again, so that half a block is computed anew at each insertion, on average."""
TOP = 20
"""Likeliest tokens that vLLM reports; the entropy counts all others as one outcome."""


class VllmSessions(ThreadSessions):
    """See `SessionEngine`. One thread steps vLLM for all sessions; a writing that is closed is
    aborted, and what it computed stays in the prefix cache until room is needed; so is one whose
    reader is `run_ahead` tokens behind, until it is read.

    `Usage.cached_tokens` is what vLLM itself counted. Drawn texts (temperature over 0) depend on
    where writing was taken up again; greedy ones do not. Options are those of `VllmEngine`;
    `max_model_len` 0 is the model's own, `block_size` None `CPU_BLOCK` on a CPU and vLLM's own
    choice on a GPU. Raises what vLLM raises for a model it cannot load.
    """

    def __init__(
        self,
        model: str,
        *,
        dtype: str = "float32",
        max_model_len: int = 0,
        side_room: int = SIDE_ROOM,
        run_ahead: int = 64,
        block_size: int | None = None,
        **options: Any,
    ) -> None:
        import torch
        from transformers import AutoConfig

        if block_size is None and not torch.cuda.is_available():
            block_size = CPU_BLOCK
        config = AutoConfig.from_pretrained(model).get_text_config()
        context = max_model_len or int(config.max_position_embeddings)
        super().__init__(
            model,
            lambda ends: _Worker(
                model,
                ends,
                run_ahead,
                {"dtype": dtype, "max_model_len": context, "block_size": block_size, **options},
            ),
            name="the vLLM engine",
            context=context,
            side_room=side_room,
            run_ahead=run_ahead,
        )


class _Worker:
    """See `Worker`. Requests are named "job-copy"."""

    def __init__(
        self, model: str, ends: frozenset[int], run_ahead: int, options: dict[str, Any]
    ) -> None:
        from actors.rollout.vllm_engine import VllmEngine

        self._engine = VllmEngine(model, **options)
        self._core = self._engine.core
        self._ends = ends
        self._run_ahead = run_ahead
        self._running: dict[str, tuple[Job, int]] = {}
        self._begun: set[str] = set()
        self._warm_up()

    def busy(self) -> bool:
        return bool(self._running)

    def step(self) -> None:
        """One token of every request."""
        for output in self._core.step():
            if (entry := self._running.get(output.request_id)) is not None:
                self._pass_on(output, *entry)

    def start(self, job: Job) -> None:
        try:
            for copy in range(job.copies):
                name = f"{job.number}-{copy}"
                self._core.add_request(
                    name, {"prompt_token_ids": list(job.ids)}, self._parameters(job, copy)
                )
                self._running[name] = job, copy
        except ValueError as error:  # the request's fault: the others go on
            self.stop(job, tuple(range(job.copies)))
            job.inbox.put(0, Failed(f"vLLM refused the request: {error}"))

    def stop(self, job: Job, copies: tuple[int, ...]) -> None:
        names = [name for copy in copies if (name := f"{job.number}-{copy}") in self._running]
        if names:
            self._core.abort_request(names)
        for name in names:
            self._leave(name)

    def forget(self, session: int) -> None:
        """The prefix cache ages by itself."""
        for job, _ in list(self._running.values()):
            if job.session == session:
                self.stop(job, tuple(range(job.copies)))

    def fail(self, reason: str) -> None:
        for job, copy in self._running.values():
            job.inbox.put(copy, Failed(reason))

    def end(self) -> None:
        self._running.clear()
        self._core.engine_core.shutdown()

    def _warm_up(self) -> None:
        """vLLM compiles what draws tokens at the first request: that is no session's time."""
        prompt = {"prompt_token_ids": [1]}
        for number, temperature in enumerate((0.0, 1.0)):
            sampling = Sampling(2, temperature=temperature)
            parameters = self._engine.stream_parameters(
                sampling, 0, TOP, self._ends, skip_cache=True
            )
            self._core.add_request(f"warm-{number}", prompt, parameters)
        while self._core.has_unfinished_requests():
            self._core.step()

    def _leave(self, name: str) -> None:
        self._running.pop(name, None)
        self._begun.discard(name)

    def _parameters(self, job: Job, copy: int) -> Any:
        seed = request_seed(job.seed, copy, len(job.ids))
        return self._engine.stream_parameters(
            job.sampling, seed, TOP, self._ends, skip_cache=not job.keep_prefix
        )

    def _pass_on(self, output: Any, job: Job, copy: int) -> None:
        if output.request_id not in self._begun:
            self._begun.add(output.request_id)
            job.inbox.put(copy, Started(len(job.ids), output.num_cached_tokens or 0))
        written = output.outputs[0]
        for token, entries in zip(written.token_ids, written.logprobs, strict=True):
            if token not in self._ends:
                values = {each: entry.logprob for each, entry in entries.items()}
                job.inbox.put(copy, Token(token, values[token], entropy(list(values.values()))))
        if output.finished:
            self._leave(output.request_id)
            job.inbox.put(copy, Ended("stop" if written.finish_reason == "stop" else "length"))
        elif not job.side and len(job.inbox) >= self._run_ahead:
            self.stop(job, (copy,))
            job.inbox.put(copy, Paused())


def entropy(logprobs: list[float]) -> float:
    """Entropy in nats, the probability that is not named being one outcome: at most the true one.

    >>> round(entropy([math.log(0.5), math.log(0.25)]), 4)  # and 0.25
    1.0397
    """
    shares = [math.exp(value) for value in logprobs]
    rest = 1.0 - sum(shares)
    return -sum(share * math.log(share) for share in [*shares, rest] if share > 1e-12)
