"""Paired tests against exact enumeration."""

from itertools import product

import numpy as np
import pytest

from pipelines.ir.significance import bootstrap_interval, randomisation_p


def values(*numbers):
    return {f"q{place}": number for place, number in enumerate(numbers)}


def test_p_is_that_of_all_assignments():
    first, second = values(0.5, 0.7, 0.2, 0.9, 0.4, 0.6), values(0.4, 0.4, 0.3, 0.5, 0.1, 0.6)
    differences = np.array([first[q] - second[q] for q in first])
    signs = np.array(list(product((-1, 1), repeat=6)))
    means = np.abs((signs * differences).mean(axis=1))
    exact = (means >= abs(differences.mean()) - 1e-12).mean()
    assert randomisation_p(first, second) == pytest.approx(exact, abs=0.015)
    assert randomisation_p(second, first) == randomisation_p(first, second)


def test_equal_engines_differ_by_nothing():
    same = values(0.1, 0.2, 0.3)
    assert randomisation_p(same, same) == 1
    assert bootstrap_interval(same, same) == (0, 0)


def test_a_constant_difference_is_certain():
    first = values(*[0.5] * 30)
    second = values(*[0.25] * 30)
    assert randomisation_p(first, second) < 0.001
    assert bootstrap_interval(first, second) == (0.25, 0.25)


def test_the_interval_is_near_the_normal_one():
    draw = np.random.default_rng(1)
    first = values(*draw.normal(0.1, 1, 400))
    second = values(*[0.0] * 400)
    low, high = bootstrap_interval(first, second)
    numbers = np.array(list(first.values()))
    half = 1.96 * numbers.std() / 20
    assert (low, high) == pytest.approx((numbers.mean() - half, numbers.mean() + half), abs=0.01)


def test_other_queries_cannot_be_paired():
    with pytest.raises(ValueError, match="the same queries"):
        randomisation_p(values(1, 2), values(1))
