import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.segment.metrics import BoundaryScores, boundary_scores, matches

OFFSETS = st.lists(st.integers(0, 20), max_size=5, unique=True).map(sorted)


def test_by_hand() -> None:
    # 2 of 3 found are right, of 4: precision 2/3, recall 1/2, F1 4/7.
    scores = boundary_scores([([10, 20], [10, 21, 30]), ([5], [5])])
    assert scores == BoundaryScores(right=2, found=3, gold=4)
    assert scores.precision == pytest.approx(2 / 3)
    assert scores.recall == pytest.approx(0.5)
    assert scores.f1 == pytest.approx(4 / 7)
    assert boundary_scores([([10, 20], [10, 21, 30])], tolerance=1).right == 2


def test_nothing_found_or_wanted() -> None:
    assert boundary_scores([([], [3])]).f1 == 0
    assert boundary_scores([([3], [])]).recall == 0
    assert boundary_scores([]).f1 == 0


def test_a_gold_boundary_is_found_once() -> None:
    assert matches([9, 10, 11], [10], tolerance=2) == 1


@given(OFFSETS, OFFSETS, st.integers(0, 4))
def test_no_pairing_is_better(found: list[int], gold: list[int], tolerance: int) -> None:
    def best(at: int, free: frozenset[int]) -> int:
        if at == len(found):
            return 0
        partners = [each for each in free if abs(each - found[at]) <= tolerance]
        return max([best(at + 1, free)] + [1 + best(at + 1, free - {each}) for each in partners])

    assert matches(found, gold, tolerance) == best(0, frozenset(gold))


def test_names() -> None:
    assert set(BoundaryScores(1, 1, 1).flat("dev")) == {"dev/precision", "dev/recall", "dev/f1"}
