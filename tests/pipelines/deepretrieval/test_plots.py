import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.deepretrieval.plots import draw_curves, running_mean

PNG = b"\x89PNG\r\n\x1a\n"


def write_metrics(run, records):
    text = "".join(json.dumps(record) + "\n" for record in records)
    (run / "metrics.jsonl").write_text(text, encoding="utf-8")


def test_running_mean_by_hand():
    # Windows of three: 2, (2+4)/2, (2+4+9)/3, (4+9+2)/3, (9+2+1)/3.
    assert running_mean([2, 4, 9, 2, 1], 3) == [2, 3, 5, 5, 4]
    assert running_mean([2, 4], 1) == [2, 4]
    assert running_mean([], 3) == []


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), max_size=30), st.integers(1, 10))
def test_a_running_mean_stays_within_its_window(values, window):
    means = running_mean(values, window)
    assert len(means) == len(values)
    for i, mean in enumerate(means):
        part = values[max(0, i - window + 1) : i + 1]
        assert min(part) - 1e-6 <= mean <= max(part) + 1e-6


def test_a_window_over_all_values_is_the_mean_so_far():
    assert running_mean([1, 2, 3, 4], 9) == pytest.approx([1, 1.5, 2, 2.5])


def test_curves_of_a_run(tmp_path):
    records = [{"step": 1, "warmup/loss": 2.0}, {"step": 2, "held_out/recall/mean": 0.1}]
    for n in range(1, 4):
        records.append(
            {
                "step": n + 2,
                "train/rl_step": n,
                "reward/mean": -1.0 + n,
                "reward/wrong_share": 0.5,
                "recall/mean": 0.1 * n,
                "recall/at_least_0.5": 0.1 * n,
                "policy/entropy": 1.0,
                "policy/kl": None if n == 1 else 0.01,
                "time/generate": 3.0,
            }
        )
    records.append({"step": 5, "held_out/recall/mean": 0.4})
    write_metrics(tmp_path, records)
    path = draw_curves(tmp_path, warmup_steps=2, k=100)
    assert path == tmp_path / "plots" / "curves.png"
    assert path.read_bytes().startswith(PNG)
    assert draw_curves(tmp_path, warmup_steps=2, k=100) == path  # drawn again over the first


def test_no_curves_before_reinforcement(tmp_path):
    assert draw_curves(tmp_path, 2, 100) is None  # no metrics yet
    write_metrics(tmp_path, [{"step": 1, "warmup/loss": 2.0}, {"step": 1, "held_out/x": 0.1}])
    assert draw_curves(tmp_path, 2, 100) is None
    assert not (tmp_path / "plots").exists()
