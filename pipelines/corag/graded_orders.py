"""What a reranker of ordered chunk lists is trained on: lists with a soft target.

The target of a list is the worth of its evidence times how purely and how early it holds it:

    target = (1 - MISS ** gold) * sum(w_i of gold chunks) / sum(w_i of all chunks)
    w_i = 1 / log2(1 + i), i = 1 for the first chunk (the discount of nDCG)

A first piece of evidence is worth 0.6, each further one 60% of what is missing to 1; a chunk that
is no evidence lowers the target, the more the earlier it stands. A list without evidence has 0.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.corag.ranking_lists import RankingList

MISS = 0.4
_PIECE = 45  # words of a passage in an easy pair


@dataclass(frozen=True, slots=True)
class GradedOrder:
    """A query, its chunks in order, which of them are evidence; `guess` is what the embedder's
    cosine says of a single chunk's target (see `Calibration`), None for longer lists."""

    query: str
    chunks: tuple[str, ...]
    gold: tuple[bool, ...]
    guess: float | None = None

    def target(self, trust: float) -> float:
        """The soft target, of which the share `trust` comes from the embedder's guess."""
        own = soft_target(self.gold)
        return own if self.guess is None else trust * self.guess + (1 - trust) * own


def soft_target(gold: Sequence[bool]) -> float:
    """The target in [0, 1) of chunks that are evidence or not, in order; see the module. Raises
    ValueError for no chunks."""
    if not gold:
        raise ValueError("a list of no chunks has no target")
    weights = [1 / math.log2(1 + place) for place in range(1, len(gold) + 1)]
    found = sum(weight for weight, is_gold in zip(weights, gold, strict=True) if is_gold)
    return (1 - MISS ** sum(gold)) * found / sum(weights)


@dataclass(frozen=True, slots=True)
class Calibration:
    """P(gold | cosine) = 1 / (1 + exp(-(slope * cosine + shift))), times the worth of one piece of
    evidence: the guess that a new reranker starts from."""

    slope: float
    shift: float

    @classmethod
    def of(cls, lists: Sequence[RankingList]) -> "Calibration":
        """Logistic regression over all passages of `lists`, gold and useless ones weighing alike in
        all. Raises ValueError where one label is missing."""
        from sklearn.linear_model import LogisticRegression

        rows = [
            (cosine, gold)
            for each in lists
            for cosine, gold in zip(each.cosines, each.gold, strict=True)
        ]
        if len({gold for _, gold in rows}) < 2:
            raise ValueError("the training lists hold passages of one label only")
        fitted = LogisticRegression(class_weight="balanced").fit(
            [[cosine] for cosine, _ in rows], [gold for _, gold in rows]
        )
        return cls(float(fitted.coef_[0][0]), float(fitted.intercept_[0]))

    def guess(self, cosine: float) -> float:
        """The target that is to be expected of a single chunk."""
        return (1 - MISS) / (1 + math.exp(-(self.slope * cosine + self.shift)))


def draw_pairs(lists: Sequence[RankingList], rng: random.Random, count: int) -> list[GradedOrder]:
    """Short and easy pairs, one half right: a question with a gold passage, or words of a passage's
    first half with its second half; against the passage of another draw.

    They teach a new model to compare what stands on either side, which it does not find out from
    hard negatives in any reasonable time. Their `guess` is 1 or 0.
    """
    passages = [passage for each in lists for passage in each.passages]
    made = []
    for _ in range(count):
        if rng.random() < 0.5:
            each = rng.choice(lists)
            query = each.query
            golds = [text for text, gold in zip(each.passages, each.gold, strict=True) if gold]
            answer = rng.choice(golds).split()[:_PIECE]
        else:
            words = rng.choice(passages).split()
            middle = max(1, len(words) // 2)
            length = rng.randint(4, 14)
            start = rng.randrange(max(1, middle - length))
            query = " ".join(words[start : min(start + length, middle)])
            answer = words[middle : middle + _PIECE] or words
        right = rng.random() < 0.5
        if not right:
            answer = rng.choice(passages).split()[:_PIECE]
        made.append(GradedOrder(query, (" ".join(answer),), (right,), float(right)))
    return made


def draw_orders(
    lists: Sequence[RankingList],
    calibrations: dict[str, Calibration],
    rng: random.Random,
    *,
    useless: int,
    pairs: int,
    longest: int = 4,
) -> list[GradedOrder]:
    """One pass over `lists`, shuffled: each gold passage and `useless` others alone, and `pairs`
    times 2 to `longest` chunks in an order drawn at random and in the reverse of it."""
    made: list[GradedOrder] = []
    for each in lists:
        gold = [place for place, is_gold in enumerate(each.gold) if is_gold]
        rest = [place for place, is_gold in enumerate(each.gold) if not is_gold]
        calibration = calibrations[each.source]
        for place in [*gold, *rng.sample(rest, min(useless, len(rest)))]:
            guess = calibration.guess(each.cosines[place])
            made.append(_order(each, (place,), guess))
        for _ in range(pairs):
            length = rng.randint(2, longest)
            evidence = rng.sample(gold, rng.randint(1, min(length, len(gold))))
            others = rng.sample(rest, min(length - len(evidence), len(rest)))
            order = [*evidence, *others]
            rng.shuffle(order)
            made.append(_order(each, order))
            if len({each.gold[place] for place in order}) == 2:
                made.append(_order(each, order[::-1]))
    rng.shuffle(made)
    return made


def _order(each: RankingList, places: Sequence[int], guess: float | None = None) -> GradedOrder:
    return GradedOrder(
        each.query,
        tuple(each.passages[place] for place in places),
        tuple(each.gold[place] for place in places),
        guess,
    )
