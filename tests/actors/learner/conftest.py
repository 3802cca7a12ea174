"""A tiny random Llama on disk, and samples for it."""

import random
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from actors.learner.learner import Learner
from actors.learner.types import Sample
from configs.schema import LearnerConfig, ModelConfig

VOCAB = 97


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        tie_word_embeddings=True, initializer_range=0.2, pad_token_id=2, eos_token_id=2,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tiny")
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def make_learner(tiny_model: Path):
    def make(model: ModelConfig | None = None, temperature: float = 1.0, **settings) -> Learner:
        defaults = {"lr": 1e-2, "critic_lr": 1e-2, "is_clip": 0.0, "max_grad_norm": 1e9}
        model = model or ModelConfig(path=str(tiny_model), dtype="float32")
        config = LearnerConfig(**{**defaults, **settings})
        return Learner(str(tiny_model), model, config, temperature, seed=0, threads=1)

    return make


@pytest.fixture
def samples() -> list[Sample]:
    """3 groups of 3, lengths 1 to 6, some tokens equal to the pad id, some not the policy's."""
    rng = random.Random(3)
    out = []
    for group in range(3):
        prompt = tuple(rng.randrange(3, VOCAB) for _ in range(3 + 2 * group))
        for k in range(3):
            n = rng.randrange(2, 7) if k else 1
            completion = (*(rng.randrange(2, VOCAB) for _ in range(n - 1)), 2)
            mask = None if k < 2 else tuple(t != 0 for t in range(n))
            out.append(
                Sample(
                    group=f"g{group}", prompt_ids=prompt, completion_ids=completion,
                    logprobs=tuple(rng.uniform(-6, -3) for _ in range(n)),
                    reward=rng.uniform(-1, 1), mask=mask,
                )
            )  # fmt: skip
    return out
