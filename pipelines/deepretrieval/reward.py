"""The reward of a rollout (arXiv 2503.00223, section 3 and tables 8 to 10).

A well-formed completion earns the format reward and a score of its hits; a malformed one, or a
query that the engine cannot parse, earns the format penalty alone. An infrastructure failure earns
nothing at all: its rollout is not scored.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actors.search.types import InfraFailure, QueryError, SearchOutcome
from pipelines.deepretrieval.answer import Answer, FormatError

RECALL_TIERS = ((0.7, 5.0), (0.5, 4.0), (0.4, 3.0), (0.3, 1.0), (0.1, 0.5), (0.05, 0.1))
RANK_TIERS = ((5, 5.0), (20, 4.0), (50, 2.0), (100, 1.0), (1000, 0.5), (3000, 0.1))
MISS = -3.5

OK, FORMAT_ERROR, QUERY_ERROR, INFRA_FAILURE = (
    "ok",
    "format_error",
    "query_error",
    "infra_failure",
)


def recall(ids: Sequence[str], relevant: frozenset[str]) -> float:
    """Share of the relevant records among the hits; `relevant` must not be empty."""
    return len(relevant.intersection(ids)) / len(relevant)


def precision(ids: Sequence[str], relevant: frozenset[str]) -> float:
    """Share of the hits that are relevant; 0 without hits."""
    return len(relevant.intersection(ids)) / len(ids) if ids else 0.0


def f1(ids: Sequence[str], relevant: frozenset[str]) -> float:
    """Harmonic mean of precision and recall."""
    found = len(relevant.intersection(ids))
    return 2 * found / (len(ids) + len(relevant)) if found else 0.0


def ndcg(ids: Sequence[str], relevant: frozenset[str], depth: int = 10) -> float:
    """NDCG with binary gains at `depth`."""
    gain = sum(1 / math.log2(i + 2) for i, hit in enumerate(ids[:depth]) if hit in relevant)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(depth, len(relevant))))
    return gain / ideal


def first_rank(ids: Sequence[str], relevant: frozenset[str]) -> int | None:
    """1-based rank of the first relevant hit."""
    return next((i for i, hit in enumerate(ids, start=1) if hit in relevant), None)


def _recall_tiers(ids: Sequence[str], relevant: frozenset[str]) -> float:
    value = recall(ids, relevant)
    return next((score for least, score in RECALL_TIERS if value >= least), MISS)


def _rank_tiers(ids: Sequence[str], relevant: frozenset[str]) -> float:
    rank = first_rank(ids, relevant)
    if rank is None:
        return MISS
    return next((score for most, score in RANK_TIERS if rank <= most), MISS)


def _ndcg_or_zero(ids: Sequence[str], relevant: frozenset[str]) -> float:
    value = ndcg(ids, relevant)
    return 0.1 + value if value > 0 else 0.0


def _scaled(measure: Callable[[Sequence[str], frozenset[str]], float]) -> Callable[..., float]:
    """5 x the measure, and the paper's -3.5 where nothing relevant was found."""
    return lambda ids, relevant: 5 * value if (value := measure(ids, relevant)) > 0 else MISS


SHAPES: dict[str, Callable[[Sequence[str], frozenset[str]], float]] = {
    "recall-tiers": _recall_tiers,
    "rank-tiers": _rank_tiers,
    "ndcg": _ndcg_or_zero,
    "recall": _scaled(recall),
    "precision": _scaled(precision),
    "f1": _scaled(f1),
}


@dataclass(frozen=True, slots=True)
class Score:
    """What a rollout earned. `reward` and `recall` are None for an infrastructure failure."""

    status: str
    reward: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class Reward:
    """A named shape with its two format scores."""

    shape: str = "recall-tiers"
    format_right: float = 1.0
    format_wrong: float = -4.0

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise ValueError(f"no reward shape {self.shape!r}; there are {', '.join(SHAPES)}")

    def score(
        self,
        answer: Answer | FormatError,
        outcome: SearchOutcome | None,
        relevant: frozenset[str],
    ) -> Score:
        """Scores one rollout; `outcome` is None exactly when the answer is malformed."""
        if isinstance(answer, FormatError):
            return Score(FORMAT_ERROR, self.format_wrong, 0.0)
        match outcome:
            case None:
                raise ValueError("a well-formed answer has no search outcome")
            case InfraFailure():
                return Score(INFRA_FAILURE, None, None)
            case QueryError():
                return Score(QUERY_ERROR, self.format_wrong, 0.0)
            case _:
                earned = SHAPES[self.shape](outcome.ids, relevant)
                return Score(OK, self.format_right + earned, recall(outcome.ids, relevant))
