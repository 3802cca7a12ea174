import pytest

from pipelines import files
from pipelines.files import write_whole


def test_a_text_replaces_the_former_one_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "values.json"
    write_whole(path, "old")
    write_whole(path, "Ménière\n")
    assert path.read_bytes() == "Ménière\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_former_text(tmp_path, monkeypatch):
    path = tmp_path / "values.json"
    write_whole(path, "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_that_write_at_once_do_not_meet(tmp_path, monkeypatch):
    path = tmp_path / "values.json"
    replace = files.os.replace

    def another_first(source, target):
        monkeypatch.setattr(files.os, "replace", replace)
        write_whole(path, "the other")
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", another_first)
    write_whole(path, "mine")
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]
