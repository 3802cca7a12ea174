import math

import pytest
import torch

from pipelines.realm.policy.network import PolicyNetwork, reinforce_loss


def network(**kwargs) -> PolicyNetwork:
    torch.manual_seed(0)
    return PolicyNetwork(3, 4, 3, (8,), **kwargs)


def test_the_start_is_one_half_to_go_on_and_all_retrievals_alike():
    found = network()(torch.randn(5, 3), torch.ones(5, 13)).exp()
    assert found[:, 0].tolist() == pytest.approx([0.5] * 5)
    assert found[:, 1:].flatten().tolist() == pytest.approx([0.5 / 12] * 60)


def test_masked_actions_get_nothing_and_the_rest_is_normalised():
    mask = torch.ones(2, 13)
    mask[0, 0] = 0
    mask[1, 1:] = 0
    found = network()(torch.randn(2, 3), mask).exp()
    assert found[0, 0] == 0
    assert found.sum(dim=1).tolist() == pytest.approx([1, 1])
    assert found[1].tolist() == pytest.approx([1.0] + [0.0] * 12)


def test_huge_weights_neither_overflow_nor_close_an_action():
    held = network()
    with torch.no_grad():
        for value in held.parameters():
            value.fill_(1e6)
    found = held(torch.full((1, 3), 1e6), torch.ones(1, 13))
    assert torch.isfinite(found).all()
    assert (found.exp() > 0).all()


def test_training_mode_changes_nothing():
    held, seen = network(), (torch.randn(4, 3), torch.ones(4, 13))
    assert torch.equal(held.train()(*seen), held.eval()(*seen))


def test_loss_by_hand():
    # Two steps, two actions: p = (.5, .5) and (.25, .75); taken 0 and 1; advantages 1 and -2.
    log_probs = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    loss, policy, entropy = reinforce_loss(
        log_probs, torch.tensor([0, 1]), torch.tensor([1.0, -2.0]), 0.1
    )
    by_hand = -(1 * math.log(0.5) - 2 * math.log(0.75)) / 2
    bits = -(math.log(0.5) + 0.25 * math.log(0.25) + 0.75 * math.log(0.75)) / 2
    assert policy.item() == pytest.approx(by_hand, abs=1e-6)
    assert entropy.item() == pytest.approx(bits, abs=1e-6)
    assert loss.item() == pytest.approx(by_hand - 0.1 * bits, abs=1e-6)


def test_gradient_of_the_logits_by_hand():
    # d/dz of -A log softmax(z)[a] = A (p - onehot(a)); p = (.5, .5), A = 2, a = 0, no entropy.
    logits = torch.zeros(1, 2, requires_grad=True)
    loss, _, _ = reinforce_loss(logits.log_softmax(1), torch.tensor([0]), torch.tensor([2.0]), 0.0)
    loss.backward()
    assert logits.grad.tolist() == [[pytest.approx(-1.0), pytest.approx(1.0)]]


def test_the_entropy_bonus_has_a_gradient():
    logits = torch.tensor([[2.0, 0.0]], requires_grad=True)
    loss, _, _ = reinforce_loss(logits.log_softmax(1), torch.tensor([0]), torch.tensor([0.0]), 1.0)
    loss.backward()
    # Towards more entropy: the larger logit falls under gradient descent.
    assert logits.grad[0, 0] > 0.1
    assert logits.grad[0, 1] < -0.1


def test_masked_actions_leave_the_loss_and_its_gradient_finite():
    held, mask = network(), torch.ones(2, 13)
    mask[0, 1:] = 0
    out = held(torch.randn(2, 3), mask)
    loss, _, entropy = reinforce_loss(out, torch.tensor([0, 5]), torch.tensor([1.0, 1.0]), 0.01)
    loss.backward()
    assert torch.isfinite(entropy)
    assert all(torch.isfinite(p.grad).all() for p in held.parameters() if p.grad is not None)


def test_calibration_changes_nothing_before_the_first_update_and_centres_after():
    held, seen = network(), 100 + torch.randn(50, 3) * torch.tensor([1.0, 10.0, 0.0])
    mask = torch.ones(50, 13)
    before = held(seen, mask)
    held.calibrate(seen)
    assert torch.equal(held(seen, mask), before)
    usual = (seen - held.mean) / held.scale
    assert usual.mean(dim=0).tolist() == pytest.approx([0, 0, 0], abs=1e-4)
    assert usual.std(dim=0, correction=0).tolist() == pytest.approx([1, 1, 0], abs=1e-4)
    assert "mean" in held.state_dict()  # saved with the weights
