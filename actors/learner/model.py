"""The language model as the learner uses it: hidden states where tokens are predicted, and a head.

The vocabulary-sized logits are the largest tensors of an update, so the head runs only on positions
that predict a completion token, and on a bounded number of them at a time.
Shapes: B rows, L tokens a row, N completion tokens, H hidden size, V vocabulary.
"""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from actors.learner.batching import MicroBatch
from configs.schema import ModelConfig

LOGITS_AT_A_TIME = 12_500_000
"""Bounds the head's memory: 50 MB for each float32 copy of so many logits."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def _no_dropout(model: nn.Module) -> None:
    # Dropout would make the policy that is updated another one than the policy that sampled.
    module: Any
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.0


class TokenStatistics(torch.autograd.Function):
    """Log-probability of a token and entropy from its logits, in few passes over the vocabulary."""

    @staticmethod
    def forward(
        ctx: Any, raw: Tensor, targets: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        """`raw` (N, V) logits, `targets` (N,): log-probabilities and entropies, (N,) float32."""
        logits = raw.float() if temperature == 1.0 else raw.float() / temperature
        logprobs = logits.log_softmax(-1)
        probs = logprobs.exp()
        entropy = -torch.linalg.vecdot(probs, logprobs)
        ctx.save_for_backward(probs, logprobs, targets, entropy)
        ctx.temperature, ctx.dtype = temperature, raw.dtype
        ctx.set_materialize_grads(False)
        return logprobs.gather(1, targets[:, None]).squeeze(1), entropy

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None]:
        """d logprob = onehot - p;  d entropy = -p (log p + entropy)."""
        probs, logprobs, targets, entropy = ctx.saved_tensors
        for_logprob, for_entropy = grads
        out = torch.zeros_like(probs) if for_logprob is None else probs * -for_logprob[:, None]
        if for_logprob is not None:
            out.scatter_add_(1, targets[:, None], for_logprob[:, None])
        if for_entropy is not None:
            out.sub_(probs * (logprobs + entropy[:, None]) * for_entropy[:, None])
        if ctx.temperature != 1.0:
            out.div_(ctx.temperature)
        return out.to(ctx.dtype), None, None


class Policy:
    """A causal language model with fp32 master weights, computing in `config.dtype`.

    Args:
        path: local folder or hub id of a causal LM.
        config: precision, LoRA and gradient checkpointing.
        device: where it lives.
    """

    def __init__(self, path: str, config: ModelConfig, device: torch.device) -> None:
        lm: Any = AutoModelForCausalLM.from_pretrained(
            path, dtype=torch.float32, attn_implementation="sdpa"
        )
        self.device = device
        self.compute = DTYPES[config.dtype]
        self.adapted: Any = None
        if config.lora_rank:
            from peft import LoraConfig, get_peft_model

            lora = LoraConfig(
                r=config.lora_rank, lora_alpha=config.lora_alpha, target_modules="all-linear",
                lora_dropout=0.0, task_type="CAUSAL_LM",
            )  # fmt: skip
            self.adapted = get_peft_model(lm, lora)
            lm = self.adapted.get_base_model()
        if config.gradient_checkpointing:
            lm.gradient_checkpointing_enable({"use_reentrant": False})
            if config.lora_rank:
                lm.enable_input_require_grads()
        _no_dropout(lm)
        self.lm: Any = lm.to(device).train()
        self.backbone: Any = lm.base_model
        self.head: nn.Module = lm.get_output_embeddings()

    def trainable(self) -> dict[str, nn.Parameter]:
        """Parameters that the optimiser moves, by name."""
        return {n: p for n, p in self.lm.named_parameters() if p.requires_grad}

    def hidden(self, batch: MicroBatch) -> Tensor:
        """(N, H) last hidden state of the token that predicts each completion token."""
        return _hidden(self.backbone, batch, self.compute)

    def predict(self, hidden: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy (nats) of each completion token, both (N,) float32.

        `hidden` (N, H), `targets` (N,). Logits are divided by the temperature that sampled
        (OpenRLHF#853).
        """
        with torch.autocast(self.device.type, self.compute, enabled=self.compute != torch.float32):
            logits = self.head(hidden)  # (N, V)
        return TokenStatistics.apply(logits, targets, temperature)

    def chunks(self, batch: MicroBatch) -> Iterator[Tensor]:
        """Ranges of the micro-batch's N tokens for which the head's logits are held at a time."""
        size = max(1, LOGITS_AT_A_TIME // self.lm.config.vocab_size)
        yield from torch.arange(len(batch.flat), device=self.device).split(size)

    @contextmanager
    def with_parameters(self, values: Mapping[str, Tensor]) -> Iterator[None]:
        """Runs the model with other values of its trainable parameters (say, the reference's)."""
        own = self.trainable()
        kept = {name: own[name].data for name in values}
        try:
            for name, value in values.items():
                own[name].data = value
            yield
        finally:
            for name, value in kept.items():
                own[name].data = value

    @torch.no_grad()
    def merged(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """All weights by Hugging Face name on the CPU, LoRA merged, no tied `lm_head.weight`."""
        deltas = {
            name: module.get_delta_weight("default")
            for name, module in self.lm.named_modules()
            if hasattr(module, "get_delta_weight")
        }
        out = {}
        for name, value in self.lm.named_parameters():  # a tied weight comes once
            if ".lora_" in name:
                continue
            owner, dot, leaf = name.rpartition(".base_layer.")
            if dot and leaf == "weight":
                value = value + deltas[owner]
            plain = f"{owner}.{leaf}" if dot else name
            out[plain] = value.detach().to("cpu", dtype, copy=True).contiguous()
        return out


class Critic:
    """Its own copy of a policy's backbone with a linear value head that starts at zero."""

    def __init__(self, policy: Policy) -> None:
        self.compute = policy.compute
        self.backbone: Any = copy.deepcopy(policy.backbone)
        size = self.backbone.config.hidden_size
        self.head = nn.Linear(size, 1).to(policy.device)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def trainable(self) -> dict[str, nn.Parameter]:
        """Parameters that the optimiser moves, by name."""
        named = {f"backbone.{n}": p for n, p in self.backbone.named_parameters() if p.requires_grad}
        return named | {f"head.{n}": p for n, p in self.head.named_parameters()}

    def values(self, batch: MicroBatch) -> Tensor:
        """(N,) float32: the value of the state in which each completion token is chosen."""
        return self.head(_hidden(self.backbone, batch, self.compute).float()).squeeze(-1)


def _hidden(backbone: Any, batch: MicroBatch, compute: torch.dtype) -> Tensor:
    device = batch.input_ids.device.type
    with torch.autocast(device, compute, enabled=compute != torch.float32):
        states = backbone(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask(),
            position_ids=batch.position_ids,
            use_cache=False,
        ).last_hidden_state  # (B, L, H)
    return states.flatten(0, 1).index_select(0, batch.source)
