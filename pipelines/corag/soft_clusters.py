"""Soft clusters of text vectors, as RAPTOR groups nodes: mixture of Gaussians, number by BIC.

Source: Sarthi et al., RAPTOR, arXiv 2401.18059, section 3. The paper reduces dimensions by UMAP;
this is PCA: linear, quicker, the same for the same input, and without a further dependency. It
keeps global structure where UMAP pulls neighbours together. Pure, no Ray.
"""

import warnings

import numpy as np

DIMENSIONS = 10
THRESHOLD = 0.1
MOST_CLUSTERS = 50
_EVERY_NUMBER_UP_TO = 12
_STEP = 1.2

Members = tuple[int, ...]


def soft_clusters(
    vectors: np.ndarray,
    *,
    dimensions: int = DIMENSIONS,
    threshold: float = THRESHOLD,
    most: int = MOST_CLUSTERS,
    seed: int = 0,
) -> list[Members]:
    """Clusters of the rows of `vectors` (n, dimension), global ones split into local ones.

    A row belongs to every cluster of which its probability is over `threshold`, and to its most
    probable one. Every row is in some cluster; rows ascend, clusters stand in order of their rows.
    """
    rows = np.arange(len(vectors))
    found: dict[Members, None] = {}
    for globally in _mixture(vectors, dimensions, threshold, most, seed):
        inside = rows[globally]
        for locally in _mixture(vectors[inside], dimensions, threshold, most, seed):
            found[tuple(int(row) for row in inside[locally])] = None
    return sorted(found)


def _mixture(
    vectors: np.ndarray, dimensions: int, threshold: float, most: int, seed: int
) -> list[np.ndarray]:
    """Boolean masks (n,) of one mixture's clusters. So few rows that a mixture would be guesswork
    (the paper's limit: one more than the dimensions) are one cluster."""
    count = len(vectors)
    if count <= dimensions + 1:
        return [np.ones(count, dtype=bool)] if count else []
    from sklearn.decomposition import PCA
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    distinct = len(np.unique(vectors, axis=0))
    if distinct == 1:
        return [np.ones(count, dtype=bool)]
    components = min(dimensions, distinct - 1, vectors.shape[1])
    reducer = PCA(n_components=components, svd_solver="full", random_state=seed)
    reduced = reducer.fit_transform(np.asarray(vectors, dtype=np.float64))
    best, least = None, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number in _numbers(min(most, distinct - 1)):
            mixture = GaussianMixture(number, random_state=seed).fit(reduced)
            if (bic := mixture.bic(reduced)) < least:
                best, least = mixture, bic
    assert best is not None
    probabilities = best.predict_proba(reduced)  # (n, clusters)
    belongs = probabilities > threshold
    belongs[np.arange(count), probabilities.argmax(axis=1)] = True
    return [mask for mask in belongs.T if mask.any()]


def _numbers(most: int) -> list[int]:
    """Numbers of clusters that are tried: all small ones, then steps of a fifth."""
    numbers = list(range(1, min(most, _EVERY_NUMBER_UP_TO) + 1))
    while numbers[-1] < most:
        numbers.append(min(most, int(numbers[-1] * _STEP)))
    return numbers
