"""Losses with values worked out by hand."""

import math

import pytest
import torch

from pipelines.corag.agent_network import AgentNetwork, agent_losses, contrastive_loss


def test_contrastive_loss_of_three_rows() -> None:
    # Distances: (0, 1) 0.6 same -> .36; (0, 2) 0.8 unlike -> (1 - .8)^2 = .04;
    # (1, 2) sqrt(.36 + .64) = 1 unlike -> 0. Mean .4 / 3.
    features = torch.tensor([[0.0, 0.0], [0.6, 0.0], [0.0, 0.8]])
    loss = contrastive_loss(features, torch.tensor([0, 0, 1]))
    assert loss.item() == pytest.approx(0.4 / 3)


def test_unlike_rows_beyond_the_margin_cost_nothing_and_the_margin_counts() -> None:
    features = torch.tensor([[0.0], [3.0]])
    unlike = torch.tensor([0, 1])
    assert contrastive_loss(features, unlike).item() == 0
    assert contrastive_loss(features, unlike, margin=5.0).item() == pytest.approx(4.0)
    assert contrastive_loss(features, torch.tensor([1, 1])).item() == pytest.approx(9.0)


def test_equal_features_of_unlike_rows_have_a_finite_gradient() -> None:
    features = torch.zeros(2, 3, requires_grad=True)
    loss = contrastive_loss(features, torch.tensor([0, 1]))
    loss.backward()
    assert loss.item() == pytest.approx(1.0, abs=1e-5)
    assert features.grad is not None
    assert torch.isfinite(features.grad).all()


def test_a_single_row_has_no_pair() -> None:
    features = torch.ones(1, 3, requires_grad=True)
    loss = contrastive_loss(features, torch.tensor([0]))
    loss.backward()
    assert loss.item() == 0


def test_total_is_the_plain_sum_of_the_three() -> None:
    losses = agent_losses(
        features=torch.tensor([[0.0], [0.5]]),
        logits=torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]]),
        settings=torch.tensor([[0.5, 0.5, 0.5], [0.0, 0.0, 1.0]]),
        best=torch.tensor([0, 1]),
        wanted=torch.tensor([[0.5, 0.5, 0.2], [0.0, 0.3, 1.0]]),
    )
    assert losses.contrastive.item() == pytest.approx(0.25)  # (1 - .5)^2
    # softmax gives 3/4 and 1/2: (ln 4/3 + ln 2) / 2
    assert losses.reranker.item() == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)
    assert losses.settings.item() == pytest.approx((0.09 + 0.09) / 6)
    assert losses.total.item() == pytest.approx(
        losses.contrastive.item() + losses.reranker.item() + losses.settings.item()
    )


def test_layers_are_those_of_the_paper() -> None:
    network = AgentNetwork(1024, 6)
    shapes = [tuple(value.shape) for name, value in network.named_parameters() if "weight" in name]
    assert shapes == [(512, 1024), (256, 512), (128, 256), (6, 128), (3, 128)]
    features, logits, settings = network(torch.randn(2, 1024))
    assert (features >= 0).all()
    assert (features.shape, logits.shape, settings.shape) == ((2, 128), (2, 6), (2, 3))
