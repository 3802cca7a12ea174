import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, roc_auc_score

from pipelines.corag.ranking_lists import RankingList
from pipelines.corag.ranking_measures import (
    auc,
    list_scores,
    ndcg,
    order_sense,
    ranking,
    reciprocal_rank,
)


def _list(gold, id="1"):
    flags = tuple(flag == "1" for flag in gold)
    return RankingList("s", id, "test", gold, tuple(f"p{i}" for i in range(len(gold))), flags)


def test_by_hand():
    lists = [_list("0100"), _list("1001")]
    found = ranking(lists, [[4, 3, 2, 1], [4, 3, 2, 1]])
    assert found.mrr == pytest.approx((1 / 2 + 1) / 2)
    second = (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert found.ndcg == pytest.approx((1 / math.log2(3) + second) / 2)
    assert found.auc == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.lists == 2


def test_nothing_counts_beyond_the_cut():
    ranked = [False] * 10 + [True]
    assert reciprocal_rank(ranked) == ndcg(ranked) == 0


def test_equal_scores_keep_the_list_and_count_half():
    found = ranking([_list("010")], [[0, 0, 0]])
    assert (found.mrr, found.auc) == (0.5, 0.5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=20).filter(
        lambda rows: len({gold for gold, _ in rows}) == 2
    )
)
def test_as_scikit_learn_has_it(rows):
    gold, scores = zip(*rows, strict=True)
    assert auc(gold, scores) == pytest.approx(roc_auc_score(gold, scores))
    distinct = [score + place / 100 for place, score in enumerate(scores)]
    ranked = [g for _, g in sorted(zip(distinct, gold, strict=True), reverse=True)]
    assert ndcg(ranked) == pytest.approx(ndcg_score([gold], [distinct], k=10))


def test_no_lists_and_one_label_are_refused():
    with pytest.raises(ValueError, match="no lists"):
        ranking([], [])
    with pytest.raises(ValueError, match="needs gold and useless"):
        auc([True], [1.0])


def _place_of_gold(batch):
    """Worth: gold chunks (the query says which), less 0.1 a chunk, more the earlier the first."""
    rows = []
    for asked in batch:
        row = []
        for order in asked.orders:
            gold = [
                place
                for place, id in enumerate(order)
                if asked.query[int(asked.texts[id][1:])] == "1"
            ]
            row.append(len(gold) - 0.1 * len(order) - 0.01 * gold[0])
        rows.append(tuple(row))
    return rows


def test_order_sense_of_scores_that_know_and_of_scores_that_do_not():
    lists = [_list("1000", "a"), _list("1100", "b")]
    knows = order_sense(_place_of_gold, lists)
    assert (knows.questions, knows.gold_first, knows.alone, knows.two_gold) == (2, 1, 1, 1)
    blind = order_sense(lambda batch: [(1.0,) * len(each.orders) for each in batch], lists)
    assert (blind.gold_first, blind.alone, blind.two_gold) == (0, 0, 0)
    assert math.isnan(order_sense(_place_of_gold, lists[:1]).two_gold)


def test_passages_are_scored_alone_and_in_order():
    def lengths(batch):
        return [tuple(float(asked.texts[o[0]][1:]) for o in asked.orders) for asked in batch]

    assert list_scores(lengths, [_list("010")]) == [(0.0, 1.0, 2.0)]
