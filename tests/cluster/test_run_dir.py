import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cluster.failures import RunDirError
from cluster.run_dir import RunDir, differing_keys, read_jsonl, to_line

CONFIG = "run_dir: r\nlearner:\n  lr: 1.0\ntrain:\n  steps: 3\n"
ROOT = Path(__file__).parents[2]


def test_a_new_run_has_its_folders_and_configuration(tmp_path):
    with RunDir.create(tmp_path / "a" / "b", CONFIG) as run:
        assert (run.path / "config.yaml").read_text() == CONFIG
        assert run.metrics.read_text() == ""
        assert all(folder.is_dir() for folder in (run.samples, run.checkpoints, run.plots))


def test_an_existing_run_needs_resume_or_overwrite(tmp_path):
    with RunDir.create(tmp_path, CONFIG) as run:
        run.metrics.write_text('{"step": 1}\n')
        (run.checkpoints / "x").touch()
    with pytest.raises(RunDirError, match="already holds a run"):
        RunDir.create(tmp_path, CONFIG)
    with RunDir.create(tmp_path, CONFIG, resume=True) as run:
        assert run.metrics.read_text() == '{"step": 1}\n'
    with RunDir.create(tmp_path, CONFIG, overwrite=True) as run:
        assert run.metrics.read_text() == ""
        assert list(run.checkpoints.iterdir()) == []


def test_resume_without_a_run_starts_one(tmp_path):
    RunDir.create(tmp_path / "new", CONFIG, resume=True).close()
    assert (tmp_path / "new" / "config.yaml").exists()


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()
    for options in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(RunDirError, match=r"not a run folder.*thesis\.tex"):
            RunDir.create(tmp_path, CONFIG, **options)
    assert (tmp_path / "thesis.tex").exists()


def test_a_start_that_recorded_nothing_claims_no_folder(tmp_path):
    RunDir.create(tmp_path, CONFIG).close()  # and then, say, the corpus was not found
    mended = CONFIG.replace("lr: 1.0", "lr: 2.0")
    RunDir.create(tmp_path, mended).close()
    assert (tmp_path / "config.yaml").read_text() == mended


def test_overwrite_leaves_nothing_of_the_run_and_all_that_is_not_its(tmp_path):
    with RunDir.create(tmp_path, CONFIG) as run:
        run.metrics.write_text('{"step": 1}\n')
    for name in ("evaluations.json", "report.md", "wandb.json", "notes.txt"):
        (tmp_path / name).write_text("old")
    (tmp_path / "model").mkdir()
    with RunDir.create(tmp_path, CONFIG, overwrite=True) as run:
        there = {path.name for path in run.path.iterdir()}
    assert there == {
        *("config.yaml", "metrics.jsonl", "run.lock", "samples", "checkpoints", "plots"),
        "notes.txt",
    }


def test_a_resumed_run_may_go_on_longer_but_not_otherwise(tmp_path):
    with RunDir.create(tmp_path, CONFIG) as run:
        run.metrics.write_text('{"step": 1}\n')
    longer = CONFIG.replace("steps: 3", "steps: 9")
    RunDir.create(tmp_path, longer, resume=True).close()
    assert (tmp_path / "config.yaml").read_text() == longer
    with pytest.raises(RunDirError, match=r"learner\.lr: 1\.0 -> 2\.0"):
        RunDir.create(tmp_path, longer.replace("lr: 1.0", "lr: 2.0"), resume=True)
    assert differing_keys("a: 1\nb:\n  c: 2\n", "a: 1\nb:\n  d: 2\n") == [
        "b.c: 2 -> None",
        "b.d: None -> 2",
    ]


def test_rewind_drops_later_records_samples_and_a_half_line(tmp_path):
    with RunDir.create(tmp_path, CONFIG) as run:
        lines = [to_line({"step": step, "loss": step / 2}) for step in range(5)]
        run.metrics.write_text("".join(lines) + '{"step": 5, "lo')
        for step in range(5):
            (run.samples / f"step-{step:06d}.jsonl").touch()
        run.rewind(2)
        assert [record["step"] for record in read_jsonl(run.metrics)] == [0, 1, 2]
        assert len(list(run.samples.iterdir())) == 3
        run.rewind(-1)
        assert run.metrics.read_text() == ""


def test_resume_repairs_a_half_written_last_line(tmp_path):
    with RunDir.create(tmp_path, CONFIG) as run:
        run.metrics.write_bytes(b'{"step": 1}\n{"step": 2, "x": "\xc3')
    with RunDir.create(tmp_path, CONFIG, resume=True) as run:
        assert run.metrics.read_text() == '{"step": 1}\n'


def test_two_drivers_cannot_use_one_run(tmp_path):
    run = RunDir.create(tmp_path, CONFIG)
    with pytest.raises(RunDirError, match=f"in use by process {os.getpid()}"):
        RunDir.create(tmp_path, CONFIG, resume=True)
    run.close()
    RunDir.create(tmp_path, CONFIG, resume=True).close()


def test_the_lock_of_a_killed_driver_is_taken_over(tmp_path):
    script = (
        f"import os, signal; from cluster.run_dir import RunDir; "
        f"run = RunDir.create({str(tmp_path)!r}, {CONFIG!r}); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "run.lock").read_text() != ""
    RunDir.create(tmp_path, CONFIG, resume=True).close()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError, match="cannot be written"):
        RunDir.create(tmp_path / "file" / "run", CONFIG)


def test_lines_are_json_whatever_the_numbers():
    line = to_line({"step": 1, "a": float("nan"), "b": np.float32(0.5), "c": np.int64(3), "d": "x"})
    assert json.loads(line) == {"step": 1, "a": None, "b": 0.5, "c": 3, "d": "x"}
