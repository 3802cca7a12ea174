import errno
import logging
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cluster.checkpoint import CheckpointStore
from cluster.failures import CheckpointError


def weights(text: str = "weights"):
    return lambda folder: (folder / "model.bin").write_text(text)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_checkpoint_comes_back_with_its_state(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=2)
    assert store.latest() is None
    store.save(10, weights(), {"version": 3, "seeds": [1, 2]})
    found = CheckpointStore(tmp_path, keep_last=2).latest()
    assert (found.step, found.state) == (10, {"version": 3, "seeds": [1, 2]})
    assert found.path == tmp_path / "step-000010"
    assert (found.path / "model.bin").read_text() == "weights"
    assert hidden(tmp_path) == []


def test_folders_that_a_writer_makes_are_kept_and_checked(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=1)

    def write(folder: Path) -> None:
        (folder / "adapter" / "inner").mkdir(parents=True)
        (folder / "adapter" / "inner" / "a.bin").write_bytes(b"\0" * 9)

    path = store.save(1, write, {}).path
    assert store.load(1).path == path
    (path / "adapter" / "inner" / "a.bin").write_bytes(b"\1" * 9)
    with pytest.raises(CheckpointError, match=r"adapter/inner/a\.bin differs"):
        store.load(1)


def test_the_last_n_and_the_best_are_kept(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=2)
    recalls = {1: 0.1, 2: 0.9, 3: 0.3, 4: 0.9, 5: 0.2}
    marked = []
    for step, recall in recalls.items():
        store.save(step, weights(), {})
        marked.append(store.offer_best(step, "eval/recall", recall))
    assert store.steps() == [2, 4, 5]
    assert store.best().step == 2  # 0.9 at step 4 is equal, not better
    assert marked == [True, True, False, False, False]


def test_a_full_disk_leaves_the_last_good_one(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=1)
    store.save(1, weights(), {})

    def full(folder: Path) -> None:
        (folder / "model.bin").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CheckpointError, match=r"step 2 was not written: .*No space left"):
        store.save(2, full, {})
    assert hidden(tmp_path) == []
    assert store.latest().step == 1
    with pytest.raises(CheckpointError):
        store.save(1, full, {})  # the same step: the old one stays
    assert (store.latest().path / "model.bin").read_text() == "weights"


def test_a_disk_that_fails_while_flushing_leaves_the_last_good_one(tmp_path, monkeypatch):
    store = CheckpointStore(tmp_path, keep_last=1)
    store.save(1, weights(), {})

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(CheckpointError, match="Input/output"):
            store.save(2, weights(), {})
    assert store.latest().step == 1
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("name", ["model.bin", "state.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, caplog, name, damage):
    store = CheckpointStore(tmp_path, keep_last=3)
    store.save(1, weights("older"), {"step": 1})
    file = store.save(2, weights("newer"), {"step": 2}).path / name
    data = file.read_bytes()
    if damage == "flip":
        file.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    elif damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    else:
        file.unlink()
    with caplog.at_level(logging.WARNING):
        assert store.latest().state == {"step": 1}
    assert "step-000002 is damaged" in caplog.text


def test_a_damaged_best_is_none_and_a_damaged_mark_is_no_mark(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=1)
    path = store.save(1, weights(), {}).path
    store.offer_best(1, "recall", 0.5)
    (path / "model.bin").unlink()
    assert store.best() is None
    (tmp_path / "best.json").write_text("{")
    assert store.best() is None
    assert store.offer_best(1, "recall", 0.1)


def test_the_same_step_is_replaced(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=2)
    store.save(1, weights("old"), {})
    store.save(1, weights("new"), {})
    assert (store.latest().path / "model.bin").read_text() == "new"
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("moment", ["written", "sealed", "set aside"])
def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(tmp_path, moment):
    script = textwrap.dedent(
        f"""
        import os, signal, sys
        from pathlib import Path
        import cluster.checkpoint as c
        store = c.CheckpointStore(Path({str(tmp_path)!r}), 1)
        store.save(5, lambda f: (f / "model.bin").write_text("good"), {{}})
        die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        rename = Path.rename
        def on_rename(self, to):
            if self.name.startswith(".tmp"): die()
            return rename(self, to)
        if {moment!r} == "written": c._seal = die
        else: Path.rename = on_rename
        step = 5 if {moment!r} == "set aside" else 6
        store.save(step, lambda f: (f / "model.bin").write_text("next"), {{}})
        """
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
    assert done.returncode == -signal.SIGKILL
    assert hidden(tmp_path) != []  # the kill was amid a save
    store = CheckpointStore(tmp_path, keep_last=1)
    assert hidden(tmp_path) == []
    assert (store.latest().step, (store.latest().path / "model.bin").read_text()) == (5, "good")


def test_an_interrupt_amid_a_save_leaves_no_trace(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=1)

    def interrupted(folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.save(1, interrupted, {})
    assert hidden(tmp_path) == []


def test_a_mark_without_its_checkpoint_is_no_mark(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=1)
    store.save(1, lambda folder: None, {})
    store.offer_best(1, "recall", 0.5)
    assert not store.would_be_best("recall", 0.5)
    store.offer_best(2, "recall", 0.9)  # and then the disk was full
    assert store.would_be_best("recall", 0.1)


def test_rewinding_forgets_a_later_best(tmp_path):
    store = CheckpointStore(tmp_path, keep_last=2)
    for step in (1, 2):
        store.save(step, lambda folder: None, {})
        store.offer_best(step, "recall", step / 10)
    store.rewind(2)
    assert store.best().step == 2
    store.rewind(1)
    assert store.best() is None
