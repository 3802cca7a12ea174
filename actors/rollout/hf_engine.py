"""The transformers engine: the plain reference, and what runs where vLLM does not.

Every request draws from its own generator, so a completion depends on its seed and prompt and not
on what it was batched with.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from actors.rollout.prefixes import Family, families, split
from actors.rollout.types import (
    Completion,
    GenerationRequest,
    Sampling,
    check_logprob_requests,
)


class TransformersEngine:
    """Generation by a transformers causal LM, in batches of `batch_size`, left padded.

    `logprob_tokens` are the tokens of a batch of `batch_logprobs`, padding and shared prefix
    included.
    """

    def __init__(
        self,
        model: str,
        *,
        dtype: str,
        max_model_len: int,
        batch_size: int = 16,
        logprob_tokens: int = 8192,
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if threads:
            torch.set_num_threads(threads)
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model: Any = AutoModelForCausalLM.from_pretrained(
            model, dtype=getattr(torch, dtype)
        ).to(self.device)
        self.model.eval()
        self.max_model_len = max_model_len
        self.batch_size = batch_size
        self.logprob_tokens = logprob_tokens
        self.policy_version = 0
        self._stop_ids = frozenset(_eos_ids(self.model, self.tokenizer))

    def generate(
        self, requests: Sequence[GenerationRequest], sampling: Sampling
    ) -> Iterator[tuple[str, Completion]]:
        """Yields (key, completion), batch after batch."""
        if sampling.top_p != 1.0 or sampling.top_k or sampling.stop:
            raise ValueError("the transformers engine samples from the whole vocabulary only")
        for start in range(0, len(requests), self.batch_size):
            yield from self._generate_batch(requests[start : start + self.batch_size], sampling)

    @torch.inference_mode()
    def _generate_batch(
        self, requests: Sequence[GenerationRequest], sampling: Sampling
    ) -> list[tuple[str, Completion]]:
        for request in requests:
            if len(request.prompt_ids) + sampling.max_new_tokens > self.max_model_len:
                raise ValueError(
                    f"prompt {request.key!r} has {len(request.prompt_ids)} tokens; with "
                    f"{sampling.max_new_tokens} new ones it is over {self.max_model_len}"
                )
        generators = [torch.Generator().manual_seed(request.seed) for request in requests]
        longest = max(len(request.prompt_ids) for request in requests)
        pads = torch.tensor([longest - len(request.prompt_ids) for request in requests])
        ids = torch.tensor(
            [[0] * (longest - len(r.prompt_ids)) + list(r.prompt_ids) for r in requests]
        )  # (B, P)
        mask = (torch.arange(longest) >= pads[:, None]).long()  # (B, P)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        drawn: list[list[int]] = [[] for _ in requests]
        scores: list[list[float]] = [[] for _ in requests]
        finished = [False] * len(requests)
        cache = None
        for _ in range(sampling.max_new_tokens):
            output = self.model(
                input_ids=ids.to(self.device),
                attention_mask=mask.to(self.device),
                position_ids=positions.to(self.device),
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            cache = output.past_key_values
            logprobs = _log_softmax(output.logits[:, -1], sampling.temperature)  # (B, V)
            tokens = [
                _draw(logprobs[i], sampling.temperature, generators[i])
                for i in range(len(requests))
            ]
            for i, token in enumerate(tokens):
                if not finished[i]:
                    drawn[i].append(token)
                    scores[i].append(float(logprobs[i, token]))
                    finished[i] = token in self._stop_ids
            if all(finished):
                break
            ids = torch.tensor(tokens)[:, None]
            mask = torch.cat([mask, torch.ones(len(requests), 1, dtype=torch.long)], dim=1)
            positions = positions[:, -1:] + 1
        return [
            (
                request.key,
                Completion(
                    token_ids=tuple(drawn[i]),
                    logprobs=tuple(scores[i]),
                    text=self.tokenizer.decode(drawn[i], skip_special_tokens=True),
                    finish_reason="stop" if finished[i] else "length",
                    policy_version=self.policy_version,
                ),
            )
            for i, request in enumerate(requests)
        ]

    def update_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replaces all weights in place; refuses a set that is not the whole model."""
        parameters = dict(self.model.named_parameters())
        given = dict(weights)
        if unknown := sorted(set(given) - set(parameters) - {"lm_head.weight"}):
            raise ValueError(f"weights that the model does not have: {', '.join(unknown[:5])}")
        if missing := sorted(set(parameters) - set(given)):
            raise ValueError(f"weights that were not given: {', '.join(missing[:5])}")
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(given[name])
        self.policy_version = version

    @torch.inference_mode()
    def token_logprobs(
        self, prompt_ids: Sequence[int], completion_ids: Sequence[int]
    ) -> tuple[float, ...]:
        """Log-probability of each completion token at temperature 1, given what precedes it."""
        ids = torch.tensor([[*prompt_ids, *completion_ids]], device=self.device)
        keep = len(completion_ids) + 1
        logits = self.model(input_ids=ids, logits_to_keep=keep).logits[0, :-1]  # (T, V)
        logprobs = _log_softmax(logits, 1.0)
        return tuple(float(logprobs[i, token]) for i, token in enumerate(completion_ids))

    def batch_logprobs(
        self, requests: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of many completions; see `Engine.batch_logprobs`.

        What prompts begin with alike is computed once, and logits only where completions are.
        """
        check_logprob_requests(requests, self.max_model_len)
        lengths = [len(prompt) + len(completion) for prompt, completion in requests]
        found: dict[int, tuple[float, ...]] = {}
        for family in families([prompt for prompt, _ in requests]):
            for batch in split(family, lengths, self.logprob_tokens):
                parts = [requests[row] for row in batch.rows]
                found.update(zip(batch.rows, self._logprob_batch(batch, parts), strict=True))
        return [found[row] for row in range(len(requests))]

    @torch.inference_mode()
    def _logprob_batch(
        self, batch: Family, requests: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[tuple[float, ...]]:
        shared = batch.shared if len(requests) > 1 else 0
        rows = [[*prompt[shared:], *completion] for prompt, completion in requests]
        longest = max(map(len, rows))
        pads = torch.tensor([longest - len(row) for row in rows])
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in rows])  # (B, T)
        own = (torch.arange(longest) >= pads[:, None]).long()
        mask = torch.cat([torch.ones(len(rows), shared, dtype=torch.long), own], dim=1)
        positions = shared + (own.cumsum(-1) - 1).clamp(min=0)
        cache = self._prefix_cache(requests[0][0][:shared], len(rows)) if shared else None
        keep = max(len(completion) for _, completion in requests) + 1
        logits = self.model(
            input_ids=ids.to(self.device),
            attention_mask=mask.to(self.device),
            position_ids=positions.to(self.device),
            past_key_values=cache,
            use_cache=cache is not None,
            logits_to_keep=keep,
        ).logits[:, :-1]  # (B, keep - 1, V)
        targets = ids[:, longest - keep + 1 :].to(self.device)
        chosen = logits.gather(-1, targets[..., None])[..., 0].float()
        values = (chosen - torch.logsumexp(logits.float(), dim=-1)).cpu().tolist()
        return [
            tuple(row[len(row) - len(completion) :])
            for row, (_, completion) in zip(values, requests, strict=True)
        ]

    def _prefix_cache(self, ids: Sequence[int], rows: int) -> Any:
        output = self.model(
            input_ids=torch.tensor([list(ids)], device=self.device),
            use_cache=True,
            logits_to_keep=1,
        )
        cache = output.past_key_values
        cache.batch_repeat_interleave(rows)
        return cache


def _log_softmax(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    scaled = logits.float().cpu() / (temperature or 1.0)
    return torch.log_softmax(scaled, dim=-1)


def _draw(logprobs: torch.Tensor, temperature: float, generator: torch.Generator) -> int:
    if temperature == 0:
        return int(logprobs.argmax())
    return int(torch.multinomial(logprobs.exp(), 1, generator=generator))


def _eos_ids(model: Any, tokenizer: Any) -> set[int]:
    ids = model.generation_config.eos_token_id
    ids = [] if ids is None else [ids] if isinstance(ids, int) else list(ids)
    if tokenizer.eos_token_id is not None:
        ids.append(tokenizer.eos_token_id)
    return set(ids)
