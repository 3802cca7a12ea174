"""How good answers and retrievals are, question by question.

Answers are compared as HotpotQA's official evaluation does (Yang et al., EMNLP 2018).
"""

import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.ir.significance import TRIALS, resampled_means

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_VERDICTS = frozenset(("yes", "no", "noanswer"))


def normalise(text: str) -> str:
    """Lower case, then without ASCII punctuation, then without English articles, then with single
    spaces. Other punctuation and accents stay, as in the official evaluation."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, golds: Iterable[str]) -> float:
    """1.0 when the answer equals one of `golds` after normalisation, else 0.0."""
    said = normalise(answer)
    return float(any(said == normalise(gold) for gold in golds))


def f1(answer: str, golds: Iterable[str]) -> float:
    """The best F1 over `golds` between bags of words, from 0 to 1.

    Where either side is "yes", "no" or "noanswer", only equality counts. Two empty texts share no
    word: 0, although they match exactly.
    """
    said = normalise(answer)
    return max((_f1(said, normalise(gold)) for gold in golds), default=0.0)


def _f1(said: str, gold: str) -> float:
    if said != gold and (said in _VERDICTS or gold in _VERDICTS):
        return 0.0
    mine, theirs = said.split(), gold.split()
    shared = (Counter(mine) & Counter(theirs)).total()
    return 2 * shared / (len(mine) + len(theirs)) if shared else 0.0


def recall_at(ids: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Share of `relevant` among the first `k` different ids. ValueError where nothing is relevant:
    such a question has no recall and is left out of means."""
    if not relevant:
        raise ValueError("recall of nothing: leave questions without relevant passages out")
    return _hits(ids, relevant, k) / len(set(relevant))


def precision_at(ids: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Share of relevant ones among the first `k` different ids; fewer than `k` count as misses."""
    return _hits(ids, relevant, k) / k


def reciprocal_rank(ids: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant one among the different ids, rank from 1; 0 where none is."""
    wanted = set(relevant)
    places = (rank for rank, id in enumerate(dict.fromkeys(ids), 1) if id in wanted)
    return 1.0 / next(places, float("inf"))


def _hits(ids: Sequence[str], relevant: Collection[str], k: int) -> int:
    if k < 1:
        raise ValueError(f"k is {k}, below 1")
    return len(set(list(dict.fromkeys(ids))[:k]) & set(relevant))


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of `a - b` over the same questions, its percentile interval, and p.

    p is two-sided: twice the share of resampled means on the other side of zero or on it, at most
    1; no resample there counts as one, so that p is never 0.
    """

    mean: float
    low: float
    high: float
    p: float
    questions: int


def paired_bootstrap(
    a: Mapping[str, float] | Sequence[float],
    b: Mapping[str, float] | Sequence[float],
    resamples: int = TRIALS,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """Paired bootstrap of `a - b`: questions are resampled, each with both its values.

    Values go by question (mappings of the same keys) or by place (sequences of one length).
    Raises ValueError for others, or none.
    """
    first, second = _aligned(a, b)
    differences = first - second
    means = resampled_means(differences, resamples, seed)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    tail = min(int((means <= 0).sum()), int((means >= 0).sum()))
    p = min(1.0, 2 * max(tail, 1) / resamples)
    return Difference(float(differences.mean()), float(low), float(high), p, len(differences))


def _aligned(
    a: Mapping[str, float] | Sequence[float], b: Mapping[str, float] | Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys() or not a:
            raise ValueError("paired values need the same questions on both sides, at least one")
        return np.array(list(a.values()), float), np.array([b[key] for key in a], float)
    if isinstance(a, Mapping) or isinstance(b, Mapping) or len(a) != len(b) or not len(a):
        raise ValueError("paired values need the same questions on both sides, at least one")
    return np.array(a, float), np.array(b, float)
