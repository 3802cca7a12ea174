import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.corag.graded_orders import (
    Calibration,
    GradedOrder,
    draw_orders,
    draw_pairs,
    soft_target,
)
from pipelines.corag.ranking_lists import RankingList

LOG3 = 1 / 1.584962500721156  # 1 / log2(3), the weight of the second chunk
flags = st.lists(st.booleans(), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("1", 0.6),  # 1 - 0.4
        ("0", 0.0),
        ("11", 0.84),  # 1 - 0.4^2
        ("111", 0.936),
        ("10", 0.6 / (1 + LOG3)),
        ("01", 0.6 * LOG3 / (1 + LOG3)),
        ("101", 0.84 * 1.5 / (1.5 + LOG3)),  # the third weighs 1 / log2(4) = 1/2
        ("001", 0.6 * 0.5 / (1.5 + LOG3)),
        ("000", 0.0),
    ],
)
def test_targets_by_hand(gold, expected):
    assert soft_target([flag == "1" for flag in gold]) == pytest.approx(expected)


def test_no_chunks_have_no_target():
    with pytest.raises(ValueError, match="no chunks"):
        soft_target([])


@given(flags)
def test_a_useless_chunk_never_helps(gold):
    before = soft_target(gold)
    for place in range(len(gold) + 1):
        after = soft_target([*gold[:place], False, *gold[place:]])
        assert after < before or before == after == 0


@given(flags)
def test_evidence_counts_more_the_earlier_it_comes(gold):
    assert soft_target(sorted(gold, reverse=True)) >= soft_target(gold) >= soft_target(sorted(gold))


@given(st.integers(1, 8))
def test_more_evidence_counts_more(count):
    assert soft_target([True] * (count + 1)) > soft_target([True] * count)
    assert soft_target([True] * count) < 1


def test_the_guess_is_trusted_as_far_as_wanted():
    order = GradedOrder("q", ("a",), (True,), guess=0.2)
    assert [order.target(trust) for trust in (0, 0.5, 1)] == pytest.approx([0.6, 0.4, 0.2])
    assert GradedOrder("q", ("a", "b"), (True, True)).target(1) == pytest.approx(0.84)


def _list(count, gold, source="s"):
    return RankingList(
        source,
        "1",
        "train",
        "q",
        tuple(f"p{place}" for place in range(count)),
        tuple(place in gold for place in range(count)),
        tuple(0.9 if place in gold else 0.1 for place in range(count)),
    )


def test_calibration_tells_the_labels_apart():
    made = Calibration.of([_list(10, {0, 5})])
    assert made.slope > 0
    assert made.guess(0.9) > 0.3 > made.guess(0.1)  # 0.3 is half of one piece's worth
    assert 0 < made.guess(-1) < made.guess(1) < 0.6


def test_calibration_needs_both_labels():
    with pytest.raises(ValueError, match="one label"):
        Calibration.of([_list(3, {0, 1, 2})])


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 3))
def test_draws_are_of_the_list_and_repeat_by_seed(seed, useless, pairs):
    each = _list(9, {1, 4})
    calibrations = {"s": Calibration(10, -5)}

    def drawn():
        return draw_orders(
            [each], calibrations, random.Random(seed), useless=useless, pairs=pairs, longest=4
        )

    made = drawn()
    assert made == drawn()
    label = dict(zip(each.passages, each.gold, strict=True))
    for order in made:
        assert order.query == "q"
        assert order.gold == tuple(label[chunk] for chunk in order.chunks)
        assert len(set(order.chunks)) == len(order.chunks)
        assert (order.guess is None) == (len(order.chunks) > 1)
    singles = [order for order in made if len(order.chunks) == 1]
    assert len(singles) == 2 + useless
    lists = [order for order in made if len(order.chunks) > 1]
    assert pairs <= len(lists) <= 2 * pairs
    assert all(2 <= len(order.chunks) <= 4 and any(order.gold) for order in lists)
    mixed = [order.chunks for order in lists if len(set(order.gold)) == 2]
    assert all(chunks[::-1] in mixed for chunks in mixed)


@given(st.integers(0, 10**6))
def test_easy_pairs_are_of_the_lists_and_repeat_by_seed(seed):
    texts = ("alpha beta gamma delta", "one", "red green blue white black grey")
    each = RankingList("s", "1", "train", "what is it", texts, (True, False, False))
    made = draw_pairs([each], random.Random(seed), 40)
    assert made == draw_pairs([each], random.Random(seed), 40)
    for pair in made:
        (chunk,) = pair.chunks
        (right,) = pair.gold
        assert pair.target(1) == pair.guess == float(right)
        assert chunk.strip()
        assert any(chunk in text for text in texts)
        assert pair.query == each.query or any(pair.query in text for text in texts)
        if right and pair.query == each.query:
            assert chunk == texts[0]
        elif right:
            both = [text for text in texts if pair.query in text and chunk in text]
            assert both
            assert chunk == "one" or pair.query not in chunk
