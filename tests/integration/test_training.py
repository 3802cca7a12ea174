"""The whole loop on real Ray with a tiny model: it learns, survives kills, and resumes exactly."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.run_dir import read_jsonl
from configs.schema import RewriterConfig
from pipelines.deepretrieval import train as train_module
from pipelines.deepretrieval.train import train
from pipelines.progress import SilentReporter

Make = Callable[..., RewriterConfig]
ROOT = Path(__file__).parents[2]


def trajectory(run: Path) -> list[dict[str, Any]]:
    """All metrics but clock times and restarts, which no seed fixes."""
    return [
        {k: v for k, v in r.items() if not k.startswith("time/") and k != "infra/restarts"}
        for r in read_jsonl(run / "metrics.jsonl")
    ]


@pytest.fixture(scope="module")
def reference(ray_local: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An uninterrupted run, which others are compared with."""
    return {}


def uninterrupted(reference: dict[str, Any], tiny_config: Make) -> list[dict[str, Any]]:
    if not reference:
        run = train(tiny_config("reference"), SilentReporter())
        reference["trajectory"] = trajectory(run)
        reference["files"] = sorted(p.name for p in run.iterdir())
        reference["report"] = (run / "report.md").read_text()
    return reference["trajectory"]


def test_run_learns_and_leaves_everything(reference: dict[str, Any], tiny_config: Make) -> None:
    records = uninterrupted(reference, tiny_config)
    steps = [r for r in records if "train/rl_step" in r]
    assert [r["step"] for r in steps] == [101, 102, 103, 104]  # 100 of warm-up come first
    assert all(r["policy/grad_norm"] > 0 for r in steps)
    losses = [r["warmup/loss"] for r in records if "warmup/loss" in r]
    assert losses[-1] < losses[0] / 2
    assert {"model", "report.md", "evaluations.json", "metrics.jsonl"} <= set(reference["files"])
    for row in ("all words ANDed", "untrained model", "warmed-up model", "trained model"):
        assert f"| {row} |" in reference["report"]


def test_killed_workers_cost_no_step(
    reference: dict[str, Any], tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = uninterrupted(reference, tiny_config)
    original = train_module.Trainer._rollouts
    killed: list[int] = []

    def kill_first(self: Any, step: int) -> Any:
        if step == 102:
            fleets = (self.actors.rollout, self.actors.search)
            killed.extend(pid for fleet in fleets for pid in fleet.pids())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return original(self, step)

    monkeypatch.setattr(train_module.Trainer, "_rollouts", kill_first)
    run = train(tiny_config("killed"), SilentReporter())
    assert len(killed) == 2
    restarts = [
        r["infra/restarts"] for r in read_jsonl(run / "metrics.jsonl") if "train/rl_step" in r
    ]
    assert restarts == [0, 2, 2, 2]
    assert trajectory(run) == expected


def test_rollout_worker_killed_while_it_generates(
    reference: dict[str, Any], tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = uninterrupted(reference, tiny_config)
    original = train_module.Trainer._rollouts

    def kill_soon(self: Any, step: int) -> Any:
        if step == 103:
            pid = self.actors.rollout.pids()[0]
            threading.Timer(0.02, os.kill, (pid, signal.SIGKILL)).start()
        return original(self, step)

    monkeypatch.setattr(train_module.Trainer, "_rollouts", kill_soon)
    assert trajectory(train(tiny_config("mid"), SilentReporter())) == expected


def test_killed_driver_resumes_to_the_same_metrics(
    reference: dict[str, Any], tiny_config: Make, tmp_path: Path
) -> None:
    expected = uninterrupted(reference, tiny_config)
    config = tiny_config("resumed")
    driver = start_driver(config, tmp_path)
    # Step 103 is after the checkpoint of step 102: its metrics are written and must be undone.
    wait_for(lambda: any(r["step"] == 103 for r in trajectory(tmp_path / "resumed")), driver)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    run = train(config, SilentReporter(), resume=True)
    assert trajectory(run) == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_driver_leaves_a_checkpoint_and_no_process(
    ray_local: None, tiny_config: Make, tmp_path: Path, number: signal.Signals
) -> None:
    run = tmp_path / "stopped"
    config = tiny_config("stopped", "train.steps=500", "train.checkpoint_every=0")
    driver = start_driver(config, tmp_path)
    wait_for(lambda: any(r["step"] >= 102 for r in trajectory(run)), driver)
    os.kill(driver.pid, number)
    assert driver.wait(timeout=120) == 130
    last = max(r["step"] for r in trajectory(run) if "train/rl_step" in r)
    assert (run / "checkpoints" / f"step-{last:06d}" / "manifest.json").exists()
    wait_for(lambda: not processes_of(driver.pid), driver)


def test_full_disk_at_a_checkpoint_leaves_the_last_one_whole(
    ray_local: None, tiny_config: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from cluster.failures import CheckpointError

    original = train_module.Trainer._save

    def full(self: Any, folder: Path) -> None:
        if self.done > 102:
            raise OSError(28, "No space left on device")
        original(self, folder)

    monkeypatch.setattr(train_module.Trainer, "_save", full)
    with pytest.raises(CheckpointError, match="No space left"):
        train(tiny_config("full"), SilentReporter())
    checkpoints = tmp_path / "full" / "checkpoints"
    assert sorted(p.name for p in checkpoints.glob("*step*")) == ["step-000100", "step-000102"]
    monkeypatch.undo()
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))
    run = train(tiny_config("full"), SilentReporter(), resume=True)
    assert max(r["step"] for r in trajectory(run)) == 104


def start_driver(config: RewriterConfig, folder: Path) -> subprocess.Popen[bytes]:
    """`seekray train rewriter` in a process of its own, with a Ray of its own."""
    from configs.load import to_yaml

    path = folder / "config.yaml"
    path.write_text(to_yaml(config))
    command = [sys.executable, "-m", "pipelines.cli", "train", "rewriter", "-c", str(path)]
    log = (folder / "driver.log").open("wb")
    env = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"}
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=log,
        stderr=log,
        env=env,
        start_new_session=True,
        # Where tests run in the background, Ctrl-C is ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(
    true: Callable[[], bool], driver: subprocess.Popen[bytes], limit_s: float = 240
) -> None:
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.05)


def processes_of(session: int) -> list[str]:
    """Command lines of the processes that the driver's session started and that still live."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append((stat.parent / "cmdline").read_text())
        except (OSError, ValueError):
            continue
    return found


def test_samples_are_json_lines(reference: dict[str, Any], tiny_config: Make) -> None:
    run = train(tiny_config("samples", "train.steps=1"), SilentReporter())
    rows = [json.loads(line) for line in (run / "samples/step-000101.jsonl").open()]
    assert len(rows) == 16  # 4 tasks x 4 samples
    assert {"task", "reward", "recall", "query", "completion", "status"} <= set(rows[0])
