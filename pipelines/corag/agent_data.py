"""What the agent learns from labels: the best reranker and settings of each query, split."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.corag.labels import Label, LabelError, by_query
from pipelines.corag.space import SearchSpace
from pipelines.corag.types import Configuration

SHARES = (0.70, 0.15, 0.15)


@dataclass(frozen=True, slots=True)
class Target:
    """The best configuration of one query, and how much the reranker matters to it.

    `best` and `worst` are the ROUGE-L of the best and the worst reranker, each at its own best
    settings.
    """

    query: str
    text: str
    configuration: Configuration
    best: float
    worst: float

    def differs(self, threshold: float, relative: bool = True) -> bool:
        """True if best and worst reranker differ by more than `threshold`: of the best's ROUGE-L
        (`relative`), or in points of ROUGE-L. Never for a query that no reranker answers."""
        gap = self.best - self.worst
        # A hair of tolerance: 0.5 against 0.45 is exactly 10 %, whatever floats make of it.
        return self.best > 0 and gap > threshold * (self.best if relative else 1.0) + 1e-9


@dataclass(frozen=True, slots=True)
class Split:
    """Query ids, each in one part; equal questions are in the same."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def split_queries(
    texts: Mapping[str, str], seed: int, shares: tuple[float, float, float] = SHARES
) -> Split:
    """Splits query ids (with their texts) at random. Questions that differ in case, spaces or
    Unicode form only stay together. Raises `LabelError` where a part would be empty."""
    groups: dict[str, list[str]] = {}
    for query in sorted(texts):
        words = unicodedata.normalize("NFKC", texts[query]).casefold().split()
        groups.setdefault(" ".join(words), []).append(query)
    names = sorted(groups)
    np.random.default_rng(seed).shuffle(names)
    total = sum(shares)
    first = round(len(names) * shares[0] / total)
    second = round(len(names) * (shares[0] + shares[1]) / total)
    parts = [
        tuple(query for name in part for query in groups[name])
        for part in (names[:first], names[first:second], names[second:])
    ]
    if not all(parts):
        raise LabelError(
            f"{len(names)} different questions cannot be split "
            f"{'/'.join(f'{share:.0%}' for share in shares)}: label more"
        )
    return Split(*parts)


def mean_rouge(labels: Iterable[Label]) -> dict[Configuration, float]:
    """Mean ROUGE-L of each configuration over the questions that it was labelled for."""
    values: dict[Configuration, list[float]] = {}
    for label in labels:
        values.setdefault(label.configuration, []).append(label.rouge_l)
    return {configuration: sum(found) / len(found) for configuration, found in values.items()}


def targets(
    labels: Sequence[Label], space: SearchSpace, queries: Iterable[str], prior: Iterable[str]
) -> list[Target]:
    """The target of each of `queries`: the configuration of the greatest ROUGE-L.

    Many configurations give the same chunks, so the same answer. Of equals, the one that does best
    on the mean over the `prior` queries (those trained on) is taken, then the fewest iterations,
    then who is first in the space. Raises `LabelError` for a query without labels, or a label of a
    reranker that is not in the space.
    """
    grouped = by_query(labels)
    prior = set(prior)
    means = mean_rouge(label for label in labels if label.query in prior)
    found = []
    for query in queries:
        rows = grouped.get(query)
        if not rows:
            raise LabelError(f"question {query} has no label")
        try:
            ranked = sorted(rows, key=lambda label: _rank(label, means, space))
        except ValueError as error:
            raise LabelError(f"labels of question {query}: {error}") from error
        by_reranker: dict[str, float] = {}
        for label in rows:
            name = label.configuration.reranker
            by_reranker[name] = max(label.rouge_l, by_reranker.get(name, 0.0))
        found.append(
            Target(
                query=query,
                text=rows[0].text,
                configuration=ranked[0].configuration,
                best=max(by_reranker.values()),
                worst=min(by_reranker.values()),
            )
        )
    return found


def _rank(
    label: Label, means: Mapping[Configuration, float], space: SearchSpace
) -> tuple[float, float, int, int, float, float]:
    configuration = label.configuration
    settings = configuration.settings
    return (
        -label.rouge_l,
        -means.get(configuration, 0.0),
        settings.iterations,
        space.index(configuration.reranker),
        settings.c,
        settings.cost_weight,
    )
