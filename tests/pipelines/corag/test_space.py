"""The space that configurations are drawn from and clamped to."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.corag.space import SearchSpace
from pipelines.corag.types import Configuration, TreeSettings

SPACE = SearchSpace(("bm25", "minilm"), wave=4)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.tuples(numbers, numbers, numbers))
def test_any_prediction_is_clamped_inside(scaled: tuple[float, float, float]) -> None:
    settings = SPACE.configuration("bm25", scaled).settings
    assert 5 <= settings.iterations <= 50
    assert 0 <= settings.c <= 4
    assert 0 <= settings.cost_weight <= 1
    assert (settings.wave, settings.pick) == (4, "average")


def test_scaled_values_are_shares_of_the_ranges() -> None:
    # (iterations, lambda, c): 5 + .2 * 45 = 14, 0 + .5 * 1, 0 + .25 * 4
    assert SPACE.configuration("bm25", (0.2, 0.5, 0.25)).settings == TreeSettings(
        14, c=1.0, cost_weight=0.5, wave=4
    )
    assert SPACE.scaled(TreeSettings(14, 1.0, 0.5)) == pytest.approx((0.2, 0.5, 0.25))


def test_minus_infinity_is_clamped_and_nan_refused() -> None:
    made = SPACE.configuration("minilm", (-math.inf, math.inf, 0.5))
    assert (made.settings.iterations, made.settings.cost_weight) == (5, 1.0)
    with pytest.raises(ValueError, match="not a number"):
        SPACE.configuration("minilm", (math.nan, 0, 0))


def test_unknown_reranker_is_named() -> None:
    with pytest.raises(ValueError, match="'gte' is none of this space: bm25, minilm"):
        SPACE.clamp(Configuration("gte", TreeSettings()))


def test_defaults_of_a_narrow_space_are_its_nearest_point() -> None:
    narrow = SearchSpace(("bm25",), iterations=(20, 30), c=(0.0, 1.0))
    assert narrow.defaults("bm25").settings == TreeSettings(20, 1.0, 0.1)


def test_drawing_spreads_over_the_strata_alike_for_every_reranker() -> None:
    drawn = SPACE.draw(9, seed=3)
    assert drawn == SPACE.draw(9, seed=3)
    assert drawn != SPACE.draw(9, seed=4)
    assert len(drawn) == 18
    mine, others = drawn[:9], drawn[9:]
    assert mine[0] == SPACE.defaults("bm25")
    assert [c.settings for c in mine] == [c.settings for c in others]
    # 8 drawn values, one of each eighth of 0..4
    assert sorted(int(c.settings.c / 0.5) for c in mine[1:]) == list(range(8))


def test_json_round_trip() -> None:
    assert SearchSpace.from_json(SPACE.to_json()) == SPACE


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"rerankers": ()}, "at least one"),
        ({"rerankers": ("a", "a")}, "each once"),
        ({"rerankers": ("a",), "iterations": (0, 5)}, "iterations 0..5"),
        ({"rerankers": ("a",), "c": (3.0, 2.0)}, "c 3.0..2.0"),
        ({"rerankers": ("a",), "cost_weight": (0.0, math.nan)}, "cost_weight"),
    ],
)
def test_impossible_spaces(values: dict, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        SearchSpace(**values)
