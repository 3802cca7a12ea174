"""The agent against fixed configurations and an oracle, on queries it was not trained on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.corag.agent import ConfigurationAgent
from pipelines.corag.labels import Label, LabelError, Labeller, by_query
from pipelines.corag.space import SearchSpace
from pipelines.corag.types import Configuration
from pipelines.data.chunks import Question
from pipelines.ir.significance import bootstrap_interval, randomisation_p

AGENT, BEST_FIXED, DEFAULTS, ORACLE = "agent", "best fixed", "defaults", "oracle"
Choices = Mapping[str, Configuration]
"""A configuration for each query id."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a query got. `exact` is False if another configuration's label stands in."""

    rouge_l: float
    reward: float
    exact: bool = True


Measure = Callable[[Choices], Mapping[str, Measured]]


@dataclass(frozen=True, slots=True)
class MethodResult:
    """Means over the queries; `exact` is the share that was measured as chosen. Rewards of
    different rerankers are on different scales: compare them with that in mind."""

    method: str
    queries: int
    rouge_l: float
    reward: float
    exact: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean ROUGE-L of the first method minus `other`'s, 95 % bootstrap interval over queries, and
    p of the paired randomisation test."""

    other: str
    rouge_l: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every method on the same queries; differences of the first method to the others."""

    results: tuple[MethodResult, ...]
    differences: tuple[Difference, ...]

    def flat(self, prefix: str) -> dict[str, float]:
        """As metrics: `prefix/best_fixed/rouge_l`, `prefix/over_best_fixed/p`, ..."""
        return {
            f"{prefix}/{_word(row.method)}/{name}": getattr(row, name)
            for row in self.results
            for name in ("rouge_l", "reward", "exact")
        } | {
            f"{prefix}/over_{_word(row.other)}/{name}": getattr(row, name)
            for row in self.differences
            for name in ("rouge_l", "low", "high", "p")
        }


def best_fixed(labels: Iterable[Label], queries: Iterable[str]) -> Configuration:
    """The configuration of the greatest mean ROUGE-L over `queries`, among those that were
    labelled for the most of them (early stopping leaves others with less); then by reward, then
    the fewest iterations. Raises `LabelError` where nothing is labelled."""
    wanted = set(queries)
    rows: dict[Configuration, list[Label]] = {}
    for label in labels:
        if label.query in wanted:
            rows.setdefault(label.configuration, []).append(label)
    if not rows:
        raise LabelError("none of these questions has a label")

    def worth(configuration: Configuration) -> tuple[int, float, float, int]:
        found = rows[configuration]
        return (
            len(found),
            sum(label.rouge_l for label in found) / len(found),
            sum(label.reward for label in found) / len(found),
            -configuration.settings.iterations,
        )

    return max(rows, key=worth)


def oracle(labels: Iterable[Label], queries: Iterable[str]) -> dict[str, Configuration]:
    """The labelled configuration of the greatest ROUGE-L (then reward) of each query: what no
    agent can beat on these labels."""
    grouped = by_query(labels)
    return {
        query: max(
            _rows(grouped, query), key=lambda label: (label.rouge_l, label.reward)
        ).configuration
        for query in queries
    }


def methods(
    agent: ConfigurationAgent,
    vectors: np.ndarray,
    labels: Sequence[Label],
    train: Sequence[str],
    test: Sequence[str],
    default_reranker: str = "",
) -> dict[str, Choices]:
    """What each method chooses for the `test` queries, whose vectors (test, dimension) come in
    their order. The paper names no reranker with its default settings: `default_reranker`, or the
    first of the space, takes that place."""
    fixed = best_fixed(labels, train)
    defaults = agent.space.defaults(default_reranker or agent.space.rerankers[0])
    return {
        AGENT: dict(zip(test, agent.configure(vectors), strict=True)),
        BEST_FIXED: dict.fromkeys(test, fixed),
        DEFAULTS: dict.fromkeys(test, defaults),
    }


def nearest_label(labels: Iterable[Label], space: SearchSpace) -> Measure:
    """Measures by the labels of a query: of those with the chosen reranker, the one whose scaled
    settings are nearest (of equally near ones the first). Its measure raises `LabelError` where
    a query has no label with that reranker."""
    grouped = by_query(labels)

    def measure(choices: Choices) -> dict[str, Measured]:
        found = {}
        for query, configuration in choices.items():
            rows = [
                label
                for label in _rows(grouped, query)
                if label.configuration.reranker == configuration.reranker
            ]
            if not rows:
                raise LabelError(
                    f"question {query} has no label with reranker {configuration.reranker}: "
                    "measure it live, or label it"
                )
            at = np.array(space.scaled(configuration.settings))
            away = [
                float(((np.array(space.scaled(row.configuration.settings)) - at) ** 2).sum())
                for row in rows
            ]
            label = rows[int(np.argmin(away))]
            found[query] = Measured(
                label.rouge_l, label.reward, label.configuration == configuration
            )
        return found

    return measure


def live(labeller: Labeller, questions: Iterable[Question]) -> Measure:
    """Measures by answering: every choice is run, queries of one configuration together."""
    known = {question.id: question for question in questions}

    def measure(choices: Choices) -> dict[str, Measured]:
        groups: dict[Configuration, list[Question]] = {}
        for query, configuration in choices.items():
            groups.setdefault(configuration, []).append(known[query])
        return {
            label.query: Measured(label.rouge_l, label.reward)
            for configuration, asked in groups.items()
            for label in labeller.label(asked, configuration)
        }

    return measure


def compare(choices: Mapping[str, Choices], measure: Measure) -> Comparison:
    """Measures every method on the same queries. Raises `ValueError` where they are not the same
    or none."""
    measured = {name: measure(chosen) for name, chosen in choices.items()}
    first, *others = measured
    results = tuple(
        MethodResult(
            method=name,
            queries=len(found),
            rouge_l=_mean(row.rouge_l for row in found.values()),
            reward=_mean(row.reward for row in found.values()),
            exact=_mean(float(row.exact) for row in found.values()),
        )
        for name, found in measured.items()
    )
    ours = {query: row.rouge_l for query, row in measured[first].items()}
    differences = []
    for name in others:
        theirs = {query: row.rouge_l for query, row in measured[name].items()}
        low, high = bootstrap_interval(ours, theirs)
        mean = _mean(ours[query] - theirs[query] for query in ours)
        differences.append(Difference(name, mean, low, high, randomisation_p(ours, theirs)))
    return Comparison(results, tuple(differences))


def _word(method: str) -> str:
    return method.replace(" ", "_")


def _rows(grouped: Mapping[str, list[Label]], query: str) -> list[Label]:
    try:
        return grouped[query]
    except KeyError:
        raise LabelError(f"question {query} has no label") from None


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    if not found:
        raise ValueError("nothing was measured: there are no queries to compare on")
    return sum(found) / len(found)
