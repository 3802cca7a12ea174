import os
import subprocess
import sys

import pytest

from actors.search.index import build_index, open_index, verify
from actors.search.index import placing as placing_module
from actors.search.index.manifest import Manifest
from actors.search.index.placing import alone, put_in_place, recover
from actors.search.types import Record

KILLED_BETWEEN = """
import os, sys
from pathlib import Path
from actors.search.index import build_index
from actors.search.types import Record

rename, target = os.rename, Path(sys.argv[1])

def dying(source, destination):
    if Path(destination) == target:
        os._exit(9)
    rename(source, destination)

os.rename = dying
build_index([Record("2", "new")], target)
"""

REPLACING = """
import sys
from pathlib import Path
from actors.search.index import build_index
from actors.search.index.merge import check_target
from actors.search.index.placing import put_in_place
from actors.search.types import Record

own, target = Path(sys.argv[2]), Path(sys.argv[1])
for _ in range(20):
    build_index([Record("1", "rat")], own)
    put_in_place(own, target, check_target)
"""


def no_check(_):
    """Anything may be replaced."""


def folder(path, text):
    path.mkdir()
    (path / "file").write_text(text)
    return path


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def killed_between_the_moves(target):
    build_index([Record("1", "old")], target)
    done = subprocess.run([sys.executable, "-c", KILLED_BETWEEN, str(target)])
    assert done.returncode == 9
    assert not target.exists()


def test_an_index_that_a_kill_left_aside_is_opened_again(tmp_path):
    target = tmp_path / "index"
    killed_between_the_moves(target)
    assert open_index(target).fetch(["1"]) == [("old", "")]
    assert verify(target) == []
    assert not list(tmp_path.glob(".index.former.*"))


def test_a_build_after_a_kill_takes_the_place_and_sweeps(tmp_path):
    target = tmp_path / "index"
    killed_between_the_moves(target)
    build_index([Record("3", "newest")], target)
    assert open_index(target).fetch(["3"]) == [("newest", "")]
    assert not list(tmp_path.glob(".index.former.*"))


def test_of_two_that_were_left_aside_none_is_chosen(tmp_path):
    for number in "12":
        (tmp_path / f".index.former.{number}").mkdir()
        folder(tmp_path / f".index.former.{number}" / "index", number)
    recover(tmp_path / "index")
    assert names(tmp_path) == [".index.former.1", ".index.former.2"]
    with pytest.raises(FileNotFoundError, match="no index at"):
        Manifest.load(tmp_path / "index")


def test_what_is_there_is_not_replaced_by_what_was_left_aside(tmp_path):
    (tmp_path / ".index.former.1").mkdir()
    folder(tmp_path / ".index.former.1" / "index", "old")
    target = folder(tmp_path / "index", "new")
    recover(target)
    assert (target / "file").read_text() == "new"
    put_in_place(folder(tmp_path / "building", "newer"), target, no_check)
    assert names(tmp_path) == ["index"]


def test_a_move_that_fails_puts_the_former_back(tmp_path, monkeypatch):
    target, rename = folder(tmp_path / "index", "old"), os.rename

    def failing(source, destination):
        if source == tmp_path / "building":
            raise OSError(5, "the disk is gone")
        rename(source, destination)

    monkeypatch.setattr(placing_module.os, "rename", failing)
    with pytest.raises(OSError, match="the disk is gone"):
        put_in_place(folder(tmp_path / "building", "new"), target, no_check)
    assert (target / "file").read_text() == "old"
    assert names(tmp_path) == ["building", "index"]


def test_everything_is_on_the_disk_before_it_is_in_place(tmp_path, monkeypatch):
    target, done = tmp_path / "index", []
    building = folder(tmp_path / "building", "new")
    folder(building / "shard", "deep")
    rename = os.rename

    def noted(source, destination):
        done.append("moved")
        rename(source, destination)

    monkeypatch.setattr(placing_module, "_sync", lambda path: done.append(path))
    monkeypatch.setattr(placing_module.os, "rename", noted)
    put_in_place(building, target, no_check)
    assert done[:-2] == [
        building / "shard" / "file",
        building / "shard",
        building / "file",
        building,
    ]
    assert done[-2:] == ["moved", tmp_path]


def test_two_processes_that_replace_one_index_do_not_fail(tmp_path):
    command = [sys.executable, "-c", REPLACING, str(tmp_path / "index")]
    running = [
        subprocess.Popen([*command, str(tmp_path / own)], stderr=subprocess.PIPE, text=True)
        for own in ("one", "two")
    ]
    assert [process.communicate()[1] for process in running] == ["", ""]
    assert [process.returncode for process in running] == [0, 0]
    assert names(tmp_path) == ["index"]
    assert verify(tmp_path / "index") == []


def test_the_lock_is_taken_once_and_leaves_nothing(tmp_path):
    with alone(tmp_path / "index"):
        assert names(tmp_path) == [".index.lock"]
    assert names(tmp_path) == []
