import numpy as np
import pytest

from pipelines.realm.policy.baseline import EmaBaseline, group_advantages


def test_moving_average_by_hand():
    held = EmaBaseline(0.9)
    assert held.advantages(np.array([1.0, 3.0])).tolist() == [-1.0, 1.0]  # the first sets it: 2
    assert held.value == 2.0
    # Judged by the average before (2), then .9 * 2 + .1 * 7 = 2.5.
    assert held.advantages(np.array([7.0])).tolist() == [5.0]
    assert held.value == pytest.approx(2.5)


def test_group_baseline_is_the_mean_of_the_others():
    found = group_advantages(np.array([1.0, 5.0, 2.0, 3.0, 9.0]), ["a", "b", "a", "a", "c"])
    # a: 1 - 2.5, 2 - 2, 3 - 1.5; b and c are alone.
    assert found.tolist() == pytest.approx([-1.5, 0.0, 0.0, 1.5, 0.0])
