"""How well a reranker ranks labelled lists, and whether it cares for order and for padding.

MRR@10 and nDCG@10 as trec_eval has them with binary gains; equal scores keep the order of the list,
which is drawn at random. AUC is the mean over lists of the share of (gold, useless) pairs that are
ranked right, ties counting one half.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from actors.expansion.types import QueryOrders, Reranker
from pipelines.corag.ranking_lists import RankingList

CUT = 10
Scorer = Callable[[Sequence[QueryOrders]], list[tuple[float, ...]]]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Means over lists."""

    lists: int
    mrr: float
    ndcg: float
    auc: float


@dataclass(frozen=True, slots=True)
class OrderSense:
    """Shares of questions; a tie counts as wrong."""

    questions: int
    gold_first: float
    """The gold chunk before useless ones beats the gold chunk behind them."""
    alone: float
    """The gold chunk alone beats the gold chunk before useless ones."""
    two_gold: float
    """Two gold chunks beat the first of them alone; of the questions that have two."""


def values(reranker: Reranker) -> Scorer:
    """Its utilities."""

    def score(batch: Sequence[QueryOrders]) -> list[tuple[float, ...]]:
        return [tuple(each.value for each in row) for row in reranker.score(batch)]

    return score


def list_scores(scorer: Scorer, lists: Sequence[RankingList]) -> list[tuple[float, ...]]:
    """The score of each passage alone."""
    batch = []
    for each in lists:
        texts = {str(place): text for place, text in enumerate(each.passages)}
        batch.append(QueryOrders(each.query, texts, tuple((id,) for id in texts)))
    return scorer(batch)


def ranking(lists: Sequence[RankingList], scores: Sequence[Sequence[float]]) -> Ranking:
    """Measures of `scores`, one a passage. Raises ValueError for no lists."""
    if not lists:
        raise ValueError("no lists to measure on")
    rows = []
    for each, found in zip(lists, scores, strict=True):
        order = sorted(range(len(found)), key=lambda place: -found[place])
        ranked = [each.gold[place] for place in order]
        rows.append((reciprocal_rank(ranked), ndcg(ranked), auc(each.gold, found)))
    mrr, gain, area = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return Ranking(len(rows), mrr, gain, area)


def reciprocal_rank(ranked: Sequence[bool], cut: int = CUT) -> float:
    """1 / the rank of the first gold passage, 0 if that is beyond `cut`."""
    return next((1 / rank for rank, gold in enumerate(ranked[:cut], 1) if gold), 0.0)


def ndcg(ranked: Sequence[bool], cut: int = CUT) -> float:
    """Discounted gain of the first `cut` over that of the best order; 0 without gold."""
    best = _gain(sorted(ranked, reverse=True)[:cut])
    return _gain(ranked[:cut]) / best if best else 0.0


def auc(gold: Sequence[bool], scores: Sequence[float]) -> float:
    """Share of (gold, useless) pairs ranked right. Raises ValueError where a label is missing."""
    positive = [score for score, is_gold in zip(scores, gold, strict=True) if is_gold]
    negative = [score for score, is_gold in zip(scores, gold, strict=True) if not is_gold]
    if not positive or not negative:
        raise ValueError("AUC needs gold and useless passages")
    right = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    return right / (len(positive) * len(negative))


def order_sense(
    scorer: Scorer, lists: Sequence[RankingList], *, useless: int = 2, seed: int = 0
) -> OrderSense:
    """Compares orders of the same chunks, drawn from each list by `seed`."""
    batch = []
    twos = []
    for each in lists:
        rng = random.Random(f"{seed} {each.id}")
        gold = [str(place) for place, is_gold in enumerate(each.gold) if is_gold]
        rest = [str(place) for place, is_gold in enumerate(each.gold) if not is_gold]
        rng.shuffle(gold)
        others = tuple(rng.sample(rest, min(useless, len(rest))))
        orders = [(gold[0], *others), (*others, gold[0]), (gold[0],)]
        if len(gold) > 1:
            orders.append((gold[0], gold[1]))
        twos.append(len(gold) > 1)
        texts = {str(place): text for place, text in enumerate(each.passages)}
        batch.append(QueryOrders(each.query, texts, tuple(orders)))
    scores = scorer(batch)
    pairs = [row for row, two in zip(scores, twos, strict=True) if two]
    return OrderSense(
        len(scores),
        _share(row[0] > row[1] for row in scores),
        _share(row[2] > row[0] for row in scores),
        _share(row[3] > row[2] for row in pairs),
    )


def _share(found: Iterable[bool]) -> float:
    rows = list(found)
    return sum(rows) / len(rows) if rows else math.nan


def _gain(ranked: Sequence[bool]) -> float:
    return sum(1 / math.log2(1 + rank) for rank, gold in enumerate(ranked, 1) if gold)
