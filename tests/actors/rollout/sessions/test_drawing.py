"""The draw of a token: distributions by hand."""

import math

import pytest
import torch

from actors.rollout.sessions.drawing import draw, request_seed, uniform
from actors.rollout.types import Sampling

SHARES = [0.5, 0.25, 0.125, 0.125]
LOGITS = torch.tensor([[math.log(share) for share in SHARES]])


def picks(sampling: Sampling, chances: list[float]) -> list[int]:
    rows = LOGITS.expand(len(chances), -1)
    return [token.id for token in draw(rows, sampling, chances)]


def test_chances_fall_on_the_ladder_of_probabilities() -> None:
    """The ladder is .5 .75 .875 1."""
    chances = [0.0, 0.49, 0.51, 0.74, 0.76, 0.874, 0.876, 0.999999]
    assert picks(Sampling(1), chances) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_probability_and_entropy_are_those_of_the_draw() -> None:
    """Entropy of 1/2 1/4 1/8 1/8 is 7/4 bit."""
    (token,) = draw(LOGITS, Sampling(1), [0.6])
    assert (token.id, token.logprob) == (1, pytest.approx(math.log(0.25)))
    assert token.entropy == pytest.approx(1.75 * math.log(2))


def test_temperature_half_squares_the_odds() -> None:
    """16:4:1:1, of 22."""
    (token,) = draw(LOGITS, Sampling(1, temperature=0.5), [17 / 22])
    assert (token.id, token.logprob) == (1, pytest.approx(math.log(4 / 22)))


def test_temperature_0_is_greedy_with_the_models_own_probabilities() -> None:
    (token,) = draw(LOGITS, Sampling(1, temperature=0.0), [0.99])
    assert (token.id, token.logprob) == (0, pytest.approx(math.log(0.5)))
    assert token.entropy == pytest.approx(1.75 * math.log(2))


def test_top_k_and_top_p_renormalise() -> None:
    """The two likeliest are 2/3 and 1/3; .5 is not enough for a top-p of .6, .75 is."""
    for sampling in (Sampling(1, top_k=2), Sampling(1, top_p=0.6)):
        assert picks(sampling, [0.0, 0.66, 0.67, 0.999]) == [0, 0, 1, 1]
        assert draw(LOGITS, sampling, [0.9])[0].logprob == pytest.approx(math.log(1 / 3))
    assert picks(Sampling(1, top_p=0.5), [0.999]) == [0]


def test_a_token_of_no_probability_is_never_drawn() -> None:
    logits = torch.tensor([[float("-inf"), 0.0, float("-inf"), float("-inf")]])
    for chance in (0.0, 0.5, 1.0 - 2**-53):
        assert draw(logits, Sampling(1), [chance])[0].id == 1


def test_a_chance_depends_on_seed_copy_and_place_only() -> None:
    places = [(seed, copy, at) for seed in (0, 1) for copy in (0, 1) for at in (7, 8)]
    assert len({uniform(*place) for place in places}) == len(places)
    assert uniform(1, 0, 7) == uniform(1, 0, 7)
    assert len({request_seed(*place) for place in places}) == len(places)
    assert all(0 <= request_seed(*place) < 2**31 for place in places)
