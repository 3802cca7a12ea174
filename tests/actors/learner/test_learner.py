import dataclasses
import random
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from actors.learner.learner import Learner
from actors.learner.types import Demonstration, Sample
from configs.schema import ModelConfig


def gradients(learner: Learner, samples: list[Sample], monkeypatch) -> dict[str, torch.Tensor]:
    """The gradients of the first optimiser step of an update."""
    seen: dict[str, torch.Tensor] = {}

    def record(optimiser, max_norm, lr):
        if not seen:
            for name, p in learner.policy.trainable().items():
                seen[name] = torch.zeros_like(p) if p.grad is None else p.grad.clone()
        optimiser.zero_grad()
        return 0.0, True

    monkeypatch.setattr("actors.learner.learner.clipped_step", record)
    learner.update(samples)
    return seen


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> None:
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def naive_logprobs(model, prompt, completion, temperature):
    logits = model(input_ids=torch.tensor([[*prompt, *completion]])).logits[0]
    logprobs = (logits / temperature).log_softmax(-1)
    positions = torch.arange(len(prompt) - 1, len(prompt) + len(completion) - 1)
    return logprobs[positions, torch.tensor(completion)], logprobs[positions]


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
def test_gradient_equals_one_plain_forward_per_sequence(
    make_learner, samples, monkeypatch, tiny_model, aggregation
):
    settings = {"entropy_coef": 0.1, "loss_aggregation": aggregation, "is_clip": 2.0}
    got = gradients(make_learner(temperature=0.7, **settings), samples, monkeypatch)

    model = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    masks = [torch.tensor(s.mask or (True,) * len(s.completion_ids)) for s in samples]
    live_tokens = sum(int(m.sum()) for m in masks)
    live_sequences = sum(bool(m.any()) for m in masks)
    for s, mask in zip(samples, masks, strict=True):
        rewards = torch.tensor([t.reward for t in samples if t.group == s.group])
        advantage = (s.reward - rewards.mean()) / rewards.std()
        logprobs, all_logprobs = naive_logprobs(model, s.prompt_ids, s.completion_ids, 0.7)
        entropy = -(all_logprobs.exp() * all_logprobs).sum(-1)
        weight = (logprobs.detach() - torch.tensor(s.logprobs)).exp().clamp(max=2.0)
        per_token = -advantage * weight * logprobs - 0.1 * entropy
        scale = live_tokens if aggregation == "token" else live_sequences * max(1, int(mask.sum()))
        (per_token[mask].sum() / scale).backward()
    assert_same(got, {n: p.grad for n, p in model.named_parameters()})


@pytest.mark.parametrize(
    "layout",
    [
        {"micro_batch_tokens": 1},
        {"micro_batch_tokens": 25},
        {"share_prefix": False},
        {"share_prefix": False, "micro_batch_tokens": 30},
    ],
)
def test_gradient_does_not_depend_on_layout(make_learner, samples, monkeypatch, layout):
    reference = gradients(make_learner(), samples, monkeypatch)
    assert_same(gradients(make_learner(**layout), samples, monkeypatch), reference)


def test_order_of_samples_does_not_matter(make_learner, samples):
    shuffled = list(samples)
    random.Random(0).shuffle(shuffled)
    one, two = make_learner(), make_learner()
    assert one.update(samples) == two.update(shuffled)
    for name, weight in one.weights(torch.float32).items():
        assert torch.equal(weight, two.weights(torch.float32)[name])


@pytest.mark.parametrize(
    "settings",
    [
        {"warmup_steps": 4},
        {"algorithm": "ppo", "epochs_per_step": 2, "minibatches": 3, "kl_coef": 0.1},
    ],
)
def test_resumed_run_equals_the_uninterrupted_one(make_learner, samples, tmp_path: Path, settings):
    demos = [Demonstration(s.prompt_ids, s.completion_ids) for s in samples]
    through = make_learner(**settings)
    through.imitate(demos, 1e-3)
    through.imitate(demos, 1e-3)
    through.end_warmup()
    through.update(samples)
    through.update(samples)

    first = make_learner(**settings)
    first.imitate(demos, 1e-3)
    first.save(tmp_path / "a")
    second = make_learner(**settings)
    second.load(tmp_path / "a")
    second.imitate(demos, 1e-3)
    second.end_warmup()
    second.update(samples)
    second.save(tmp_path / "b")
    third = make_learner(**settings)
    third.load(tmp_path / "b")
    third.update(samples)

    assert third.version == through.version == 4
    for name, weight in through.weights(torch.float32).items():
        assert torch.equal(weight, third.weights(torch.float32)[name]), name


def test_logprobs_are_at_temperature_one_and_equal_transformers(make_learner, samples, tiny_model):
    model = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    s = samples[-1]
    expected, _ = naive_logprobs(model, s.prompt_ids, s.completion_ids, 1.0)
    got = make_learner(temperature=0.5).token_logprobs(s.prompt_ids, s.completion_ids)
    torch.testing.assert_close(torch.tensor(got), expected.detach(), rtol=1e-5, atol=1e-5)


def test_imitation_lowers_the_loss(make_learner, samples):
    learner = make_learner()
    demos = [Demonstration(s.prompt_ids, s.completion_ids) for s in samples]
    losses = [learner.imitate(demos, 1e-2)["warmup/loss"] for _ in range(8)]
    assert losses[-1] < 0.5 * losses[0]
    assert learner.version == 8


def test_non_finite_gradient_leaves_the_weights_alone(make_learner, samples):
    learner = make_learner(algorithm="reinforce")
    before = learner.weights(torch.float32)
    broken = [dataclasses.replace(samples[0], reward=float("nan")), *samples[1:]]
    assert learner.update(broken)["policy/skipped_updates"] == 1
    after = learner.weights(torch.float32)
    assert all(torch.equal(before[n], after[n]) for n in before)
    assert learner.update(samples)["policy/skipped_updates"] == 0


def test_lora_weights_are_merged_under_plain_names(make_learner, samples, tiny_model):
    learner = make_learner(ModelConfig(path=str(tiny_model), dtype="float32", lora_rank=2))
    plain = make_learner()
    start = learner.weights(torch.float32)
    assert start.keys() == plain.weights(torch.float32).keys()
    learner.update(samples)
    merged = learner.weights(torch.float32)
    assert "lm_head.weight" not in merged
    model = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    model.load_state_dict(merged, strict=False)
    s = samples[0]
    expected, _ = naive_logprobs(model, s.prompt_ids, s.completion_ids, 1.0)
    got = learner.token_logprobs(s.prompt_ids, s.completion_ids)
    torch.testing.assert_close(torch.tensor(got), expected.detach(), rtol=1e-4, atol=1e-4)
    moved = "model.layers.0.self_attn.q_proj.weight"
    assert not torch.equal(merged[moved], start[moved])
