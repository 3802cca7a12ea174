"""Reciprocal rank fusion by hand."""

import pytest

from actors.search.ranking.fusion import reciprocal_rank_fusion


def test_sums_of_reciprocal_ranks():
    fused = dict(reciprocal_rank_fusion([["a", "b", "c"], ["c", "a"]]))
    assert fused["a"] == pytest.approx(1 / 61 + 1 / 62)
    assert fused["b"] == pytest.approx(1 / 62)
    assert fused["c"] == pytest.approx(1 / 63 + 1 / 61)
    assert list(fused) == ["a", "c", "b"]


def test_k_and_weights():
    fused = reciprocal_rank_fusion([["a"], ["b"]], k=0, weights=[1, 3])
    assert fused == [("b", 3.0), ("a", 1.0)]
    with pytest.raises(ValueError, match="1 weights for 2 rankings"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=[1])


def test_ties_are_by_id_descending():
    assert [id for id, _ in reciprocal_rank_fusion([["d1"], ["d3"], ["d2"]])] == ["d3", "d2", "d1"]
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []
