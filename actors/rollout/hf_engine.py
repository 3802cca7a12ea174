"""The transformers engine: the plain reference, and what runs where vLLM does not.

Every request draws from its own generator, so a completion depends on its seed and prompt and not
on what it was batched with.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from actors.rollout.types import Completion, GenerationRequest, Sampling


class TransformersEngine:
    """Generation by a transformers causal LM, in batches of `batch_size`, left padded."""

    def __init__(
        self,
        model: str,
        *,
        dtype: str,
        max_model_len: int,
        batch_size: int = 16,
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
