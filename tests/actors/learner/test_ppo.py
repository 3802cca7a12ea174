import dataclasses

import pytest
import torch
from transformers import AutoModelForCausalLM

from actors.learner.experience import gather

PPO = {"algorithm": "ppo", "epochs_per_step": 2}


@pytest.mark.parametrize(
    "extra", [{}, {"kl_coef": 0.3, "kl_place": "loss", "kl_estimator": "k3", "entropy_coef": 0.1}]
)
def test_gradient_equals_finite_differences(make_learner, samples, monkeypatch, extra):
    learner = make_learner(**PPO, **extra)
    old = learner._logprobs(gather(samples))
    parameters = learner.policy.trainable()
    torch.manual_seed(1)
    with torch.no_grad():  # away from the old policy, so that some ratios are clipped
        for p in parameters.values():
            p.add_(0.05 * torch.randn_like(p))
    # The old policy is also the reference; both stay put while the parameters move.
    monkeypatch.setattr(learner, "_logprobs", lambda data: old)
    seen = {}

    def record(optimiser, max_norm, lr):
        if optimiser is learner.optimiser and not seen:
            seen.update({n: p.grad.clone() for n, p in parameters.items()})
        optimiser.zero_grad()
        return 0.0, True

    monkeypatch.setattr("actors.learner.learner.clipped_step", record)
    metrics = learner.update(samples)
    assert 0 < metrics["policy/clip_fraction"] < 1

    norm = torch.sqrt(sum(g.square().sum() for g in seen.values()))

    def loss_at(distance):
        moved = {n: p.detach() + distance * seen[n] / norm for n, p in parameters.items()}
        with learner.policy.with_parameters(moved):
            return learner.update(samples)["policy/loss"]

    # Along the gradient the slope is its norm.
    slope = (loss_at(1e-3) - loss_at(-1e-3)) / 2e-3
    assert slope == pytest.approx(float(norm), rel=0.02)


def test_critic_values_the_state_before_each_token(make_learner, samples, tiny_model):
    learner = make_learner(**PPO)
    data = gather(samples)
    assert learner._values(data).tolist() == [0.0] * len(data.mask)  # the head starts at zero
    torch.manual_seed(2)
    torch.nn.init.normal_(learner.critic.head.weight)
    got = learner._values(data)
    model = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    expected = []
    for prompt, completion in zip(data.prompts, data.completions, strict=True):
        states = model.model(input_ids=torch.tensor([[*prompt, *completion]])).last_hidden_state
        values = learner.critic.head(states[0]).squeeze(-1)
        expected.append(values[len(prompt) - 1 : len(prompt) + len(completion) - 1])
    torch.testing.assert_close(got, torch.cat(expected).detach(), rtol=1e-4, atol=1e-5)


def test_critic_learns_the_returns(make_learner, samples):
    learner = make_learner(algorithm="ppo", lr=0.0, value_clip=10.0)
    losses = [learner.update(samples)["value/loss"] for _ in range(20)]
    assert losses[-1] < 0.3 * losses[0]
    assert learner.update(samples)["value/explained_variance"] > 0.5


@pytest.mark.parametrize("place", ["reward", "loss"])
def test_kl_is_zero_at_the_start_and_then_grows(make_learner, samples, place):
    learner = make_learner(kl_coef=0.1, kl_place=place, kl_estimator="k3")
    first = learner.update(samples)["policy/kl"]
    assert first == pytest.approx(0.0, abs=1e-6)
    assert learner.update(samples)["policy/kl"] > 1e-4


@pytest.mark.parametrize("settings", [{}, {**PPO, "kl_coef": 0.1}])
def test_what_stands_at_masked_tokens_is_ignored(make_learner, samples, settings):
    def spoilt(s):
        if s.mask is None:
            return s
        pairs = zip(s.logprobs, s.mask, strict=True)
        return dataclasses.replace(s, logprobs=tuple(x if m else float("-inf") for x, m in pairs))

    clean, dirty = make_learner(is_clip=2.0, **settings), make_learner(is_clip=2.0, **settings)
    assert clean.update(samples) == dirty.update([spoilt(s) for s in samples])
    other = dirty.weights(torch.float32)
    assert all(torch.equal(w, other[n]) for n, w in clean.weights(torch.float32).items())


def test_leaving_out_groups_without_advantage_changes_nothing(make_learner, samples):
    flat = [dataclasses.replace(s, reward=1.0) if s.group == "g1" else s for s in samples]
    short, full = make_learner(), make_learner(entropy_coef=1e-30)
    short.update(flat)
    full.update(flat)
    other = full.weights(torch.float32)
    for name, weight in short.weights(torch.float32).items():
        torch.testing.assert_close(weight, other[name], rtol=1e-3, atol=1e-5)


def test_reward_raises_the_probability_of_what_was_rewarded(make_learner, samples):
    learner = make_learner(lr=1e-3)
    rewarded = [dataclasses.replace(s, reward=float(i % 3 == 1)) for i, s in enumerate(samples)]
    best = rewarded[1]
    before = sum(learner.token_logprobs(best.prompt_ids, best.completion_ids))
    for _ in range(3):
        learner.update(rewarded)
    assert sum(learner.token_logprobs(best.prompt_ids, best.completion_ids)) > before + 0.1


def test_export_is_a_model_folder(make_learner, samples, tmp_path, monkeypatch):
    class NoTokenizer:
        def save_pretrained(self, folder):
            (folder / "tokenizer.json").write_text("{}")

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", lambda path: NoTokenizer())
    learner = make_learner()
    learner.update(samples)
    learner.export(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert model.dtype == torch.float32
    ours = learner.weights(torch.float32)
    assert all(torch.equal(p, ours[n]) for n, p in model.named_parameters())


def test_learning_rate_warms_up_linearly(make_learner, samples):
    learner = make_learner(lr=1e-2, warmup_steps=4)
    rates = [learner.update(samples)["policy/lr"] for _ in range(5)]
    assert rates == pytest.approx([0.0025, 0.005, 0.0075, 0.01, 0.01])
