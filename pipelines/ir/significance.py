"""Are two engines different, query by query? Smucker, Allan and Carterette (CIKM 2007)."""

from collections.abc import Mapping

import numpy as np

TRIALS = 10_000


def randomisation_p(
    first: Mapping[str, float], second: Mapping[str, float], trials: int = TRIALS, seed: int = 0
) -> float:
    """Two-sided p of the paired randomisation test: signs of the differences flipped at random.

    The observed assignment counts as one trial, so that p is never 0.
    """
    differences = _differences(first, second)
    observed = abs(differences.mean())
    draw = np.random.default_rng(seed)
    as_far = 1
    for start in range(0, trials, 1000):
        shape = (min(1000, trials - start), len(differences))
        signs = draw.integers(0, 2, size=shape) * 2 - 1
        means = np.abs((signs * differences).mean(axis=1))
        as_far += int((means >= observed - 1e-12).sum())
    return as_far / (trials + 1)


def bootstrap_interval(
    first: Mapping[str, float],
    second: Mapping[str, float],
    level: float = 0.95,
    trials: int = TRIALS,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of the mean difference `first - second` over resampled queries."""
    means = resampled_means(_differences(first, second), trials, seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def resampled_means(values: np.ndarray, trials: int = TRIALS, seed: int = 0) -> np.ndarray:
    """Means (trials,) of `values` (n,) drawn again with replacement, n at a time."""
    draw = np.random.default_rng(seed)
    means = np.empty(trials)
    for start in range(0, trials, 1000):
        shape = (min(1000, trials - start), len(values))
        rows = draw.integers(0, len(values), size=shape)
        means[start : start + shape[0]] = values[rows].mean(axis=1)
    return means


def _differences(first: Mapping[str, float], second: Mapping[str, float]) -> np.ndarray:
    if first.keys() != second.keys() or not first:
        raise ValueError("both engines must have been measured on the same queries")
    return np.array([first[query] - second[query] for query in first])
