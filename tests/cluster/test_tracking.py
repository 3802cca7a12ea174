import json
import logging

import pytest
import wandb

from cluster.run_dir import read_jsonl
from cluster.tracking import JsonlTracker, Trackers, WandbTracker, without_secrets


class FakeRun:
    """Stands for a W&B run; `fail` makes every call raise."""

    id = "abc123"

    def __init__(self, fail: bool = False) -> None:
        self.sent: list[tuple[int, dict]] = []
        self.fail = fail

    def log(self, metrics: dict, step: int) -> None:
        if self.fail:
            raise ConnectionError("no route")
        self.sent.append((step, metrics))

    def finish(self) -> None:
        if self.fail:
            raise ConnectionError("no route")


def test_jsonl_has_one_object_a_line_with_its_step(tmp_path):
    tracker = JsonlTracker(tmp_path / "metrics.jsonl")
    tracker.log(1, {"train/reward": 0.5})
    tracker.log(1, {"eval/recall": float("inf")})
    assert list(read_jsonl(tmp_path / "metrics.jsonl")) == [
        {"step": 1, "train/reward": 0.5},
        {"step": 1, "eval/recall": None},
    ]
    tracker.close()


@pytest.mark.parametrize("where", ["init", "log"])
def test_a_failing_wandb_warns_once_and_the_rest_goes_on(tmp_path, monkeypatch, caplog, where):
    def init(**_: object) -> FakeRun:
        if where == "init":
            raise wandb.errors.CommError("no network")
        return FakeRun(fail=True)

    monkeypatch.setattr(wandb, "init", init)
    with caplog.at_level(logging.WARNING):
        trackers = Trackers(
            WandbTracker(tmp_path, "offline", "p"), JsonlTracker(tmp_path / "metrics.jsonl")
        )
        for step in range(3):
            trackers.log(step, {"a": step})
            trackers.table("samples", ["query"], [["x"]], step)
        trackers.close()
        trackers.close()
    assert len([r for r in caplog.records if "W&B failed" in r.message]) == 1
    assert [r["a"] for r in read_jsonl(tmp_path / "metrics.jsonl")] == [0, 1, 2]


def test_a_resumed_run_keeps_its_id_and_repeats_no_step(tmp_path, monkeypatch):
    runs, calls = [], []

    def init(**options: object) -> FakeRun:
        calls.append(options)
        runs.append(FakeRun())
        return runs[-1]

    monkeypatch.setattr(wandb, "init", init)
    first = WandbTracker(tmp_path, "offline", "p", config={"lr": 1, "hub_token": "s3cret"})
    for step in range(5):
        first.log(step, {"a": step})
    # Killed here; the checkpoint was at step 2, so 3 and 4 are computed again.
    second = WandbTracker(tmp_path, "offline", "p")
    for step in range(3, 7):
        second.log(step, {"a": step})
    assert [step for step, _ in runs[0].sent] == [0, 1, 2, 3, 4]
    assert [step for step, _ in runs[1].sent] == [5, 6]
    assert (calls[0]["id"], calls[0]["resume"]) == (None, None)
    assert (calls[1]["id"], calls[1]["resume"]) == ("abc123", "allow")
    assert calls[0]["config"] == {"lr": 1}


def test_online_without_a_login_records_offline(tmp_path, monkeypatch, caplog):
    modes = []
    monkeypatch.setattr(wandb, "login", lambda **_: False)
    monkeypatch.setattr(wandb, "init", lambda **o: modes.append(o["mode"]) or FakeRun())
    WandbTracker(tmp_path, "online", "p")
    assert modes == ["offline"]
    assert "no login" in caplog.text


def test_disabled_touches_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(wandb, "init", lambda **_: pytest.fail("called"))
    tracker = WandbTracker(tmp_path, "disabled", "p")
    tracker.log(1, {"a": 1})
    tracker.close()
    assert list(tmp_path.iterdir()) == []


def test_real_offline_wandb_writes_into_the_run_folder(tmp_path):
    tracker = WandbTracker(tmp_path, "offline", "seekray", config={"a": 1})
    tracker.log(1, {"a": 1.0})
    tracker.table("samples", ["query", "recall"], [["cough", 0.5]], 2)
    tracker.close()
    assert list((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
    assert json.loads((tmp_path / "wandb.json").read_text())["step"] == 1


def test_secrets_are_left_out_and_token_counts_stay():
    config = {"max_new_tokens": 5, "token": "x", "deep": {"api_key": "x", "clip": 1}}
    assert without_secrets(config) == {"max_new_tokens": 5, "deep": {"clip": 1}}
