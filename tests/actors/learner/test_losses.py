import math

import pytest
import torch

from actors.learner.kl import kl_estimate
from actors.learner.losses import (
    explained_variance,
    policy_loss,
    token_weights,
    truncated_importance_weights,
    value_loss,
)


def test_token_weights_by_hand():
    # Sequence 0: 3 tokens, 2 live; sequence 1: 1 live; sequence 2: none live.
    mask = torch.tensor([True, False, True, True, False])
    sequence = torch.tensor([0, 0, 0, 1, 2])
    third = 1 / 3
    expected = torch.tensor([third, 0, third, third, 0])
    torch.testing.assert_close(token_weights(mask, sequence, "token"), expected)
    # Two sequences have live tokens: each weighs 1/2, spread over its live tokens.
    expected = torch.tensor([0.25, 0, 0.25, 0.5, 0])
    torch.testing.assert_close(token_weights(mask, sequence, "sequence"), expected)


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
def test_token_weights_of_nothing_live_are_zero(aggregation):
    weights = token_weights(torch.tensor([False]), torch.tensor([0]), aggregation)
    assert weights.tolist() == [0.0]


def test_policy_loss_by_hand():
    # ratios 1.5, 1.5, .5, .5 with advantages +2, -2, +2, -2 and clip .2:
    # +2 at 1.5 is cut to 1.2: -2.4;  -2 at 1.5 is not cut: 3;
    # +2 at .5 is not cut: -1;        -2 at .5 is cut to .8: 1.6
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5])
    logprobs = ratio.log().requires_grad_()
    advantages = torch.tensor([2.0, -2.0, 2.0, -2.0])
    out = policy_loss(logprobs, torch.zeros(4), advantages, torch.full((4,), 0.25), 0.2)
    torch.testing.assert_close(out.loss, torch.tensor((-2.4 + 3 - 1 + 1.6) / 4))
    assert out.clipped.tolist() == [1.0, 0.0, 0.0, 1.0]
    out.loss.backward()
    # d(-A r)/d log r = -A r where the clip did not decide, zero where it did.
    torch.testing.assert_close(logprobs.grad, torch.tensor([0.0, 0.75, -0.25, 0.0]))
    # k3 of old against new: r - 1 - log r
    torch.testing.assert_close(out.approx_kl[0], torch.tensor(0.5 - math.log(1.5)))


def test_policy_loss_survives_a_huge_log_ratio():
    logprobs = torch.tensor([0.0, -500.0], requires_grad=True)
    out = policy_loss(
        logprobs, torch.tensor([-500.0, 0.0]), torch.tensor([-1.0, 0.0]), torch.ones(2), 0.2
    )
    out.loss.backward()
    assert torch.isfinite(out.loss)
    assert torch.isfinite(logprobs.grad).all()


def test_importance_weights_are_truncated_and_constant():
    trainer = torch.tensor([math.log(0.5), math.log(0.9), 0.0], requires_grad=True)
    engine = torch.tensor([math.log(0.25), math.log(0.1), -900.0])
    out = truncated_importance_weights(trainer, engine, cap=3.0)
    torch.testing.assert_close(out, torch.tensor([2.0, 3.0, 3.0]))  # 2, 9 -> 3, huge -> 3
    assert not out.requires_grad


def test_value_loss_by_hand():
    # old 1, value 2, return 3, clip .5: held 1.5; errors 1 and 1.5^2 = 2.25; half: 1.125
    # old 0, value .2, return 0: held .2; half of .04 = .02
    loss = value_loss(
        torch.tensor([2.0, 0.2]), torch.tensor([1.0, 0.0]), torch.tensor([3.0, 0.0]),
        torch.tensor([1.0, 1.0]), clip=0.5,
    )  # fmt: skip
    torch.testing.assert_close(loss, torch.tensor(1.145))


def test_explained_variance_by_hand():
    returns = torch.tensor([0.0, 2.0, 50.0])
    mask = torch.tensor([True, True, False])
    # Var(returns) = 2; Var(returns - values) = Var(0, 1) = .5
    assert explained_variance(torch.tensor([0.0, 1.0, 7.0]), returns, mask) == pytest.approx(0.75)
    assert explained_variance(returns, returns, torch.tensor([True, False, False])) == 0.0


def test_kl_estimators_by_hand():
    p, q = torch.tensor([0.5, 0.2]).log(), torch.tensor([0.25, 0.4]).log()
    log2 = math.log(2)
    torch.testing.assert_close(kl_estimate(p, q, "k1"), torch.tensor([log2, -log2]))
    torch.testing.assert_close(kl_estimate(p, q, "k2"), torch.tensor([log2**2 / 2] * 2))
    # q/p = .5 and 2: .5 - 1 + log 2 and 2 - 1 - log 2
    torch.testing.assert_close(kl_estimate(p, q, "k3"), torch.tensor([log2 - 0.5, 1 - log2]))
    with pytest.raises(ValueError, match="k4"):
        kl_estimate(p, q, "k4")


def test_kl_estimators_k1_and_k3_are_unbiased():
    p = torch.tensor([0.5, 0.3, 0.2])
    q = torch.tensor([0.2, 0.2, 0.6])
    exact = (p * (p / q).log()).sum()
    for estimator in ("k1", "k3"):
        torch.testing.assert_close((p * kl_estimate(p.log(), q.log(), estimator)).sum(), exact)


def test_kl_place_changes_the_gradient():
    # On-policy, in expectation over three tokens: k1 as a (negative) reward has the gradient of k2
    # as a loss, and both that of the exact KL; k1 as a loss has none (SkyRL#1445).
    logits = torch.tensor([0.3, -0.2, 0.9], requires_grad=True)
    reference = torch.tensor([0.1, 0.5, 0.4]).log()

    def gradient(loss):
        return torch.autograd.grad(loss, logits)[0]

    logprobs = logits.log_softmax(0)
    probs = logprobs.exp().detach()
    k1 = kl_estimate(logprobs, reference, "k1")
    in_reward = gradient((probs * k1.detach() * logprobs).sum())
    k2_in_loss = gradient((probs * kl_estimate(logits.log_softmax(0), reference, "k2")).sum())
    fresh = logits.log_softmax(0)
    exact = gradient((fresh.exp() * (fresh - reference)).sum())
    k1_in_loss = gradient((probs * kl_estimate(logits.log_softmax(0), reference, "k1")).sum())
    torch.testing.assert_close(in_reward, k2_in_loss)
    torch.testing.assert_close(in_reward, exact)
    torch.testing.assert_close(k1_in_loss, torch.zeros(3), atol=1e-6, rtol=0)
