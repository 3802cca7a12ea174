import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from actors.search.engines import MESH_FILE
from actors.search.index import Manifest, build_index, open_index, verify
from pipelines.data import build_index as module
from pipelines.data import parts as parts_module
from pipelines.data.build_index import build_pubmed_index
from pipelines.data.failures import BuildError, CorpusError
from pipelines.data.pubmed_xml import read_records
from tests.pipelines.data.corpora import article, baseline, write_xml

ROOT = Path(__file__).parents[3]


class Notes:
    """A reporter that keeps the bars' last words."""

    def __init__(self):
        self.notes = {}

    def say(self, text):
        pass

    @contextmanager
    def bar(self, name, total):
        yield self._Bar(self.notes, name)

    class _Bar:
        def __init__(self, notes, name):
            self.notes, self.name = notes, name

        def update(self, completed, note=""):
            self.notes[self.name] = (completed, note)


def test_a_build_of_files_equals_one_of_records(tmp_path):
    files = baseline(tmp_path, 3, 40)
    notes = Notes()
    manifest = build_pubmed_index(files[::-1], tmp_path / "out", workers=1, reporter=notes)
    records = read_records(files)
    assert manifest.records == len(records) == 118
    assert manifest.content_hash == build_index(records).manifest.content_hash
    assert Manifest.load(tmp_path / "out") == manifest
    assert verify(tmp_path / "out") == []
    index = open_index(tmp_path / "out")
    assert index.record("1").title == records[0].title
    assert notes.notes["reading"][0] == 4
    assert notes.notes["reading"][1].startswith("121 records")
    assert not list(tmp_path.glob(".out*"))


def test_shards_hold_the_same_records(tmp_path):
    files = baseline(tmp_path, 3, 40)
    whole = build_pubmed_index(files, tmp_path / "whole", workers=1)
    parted = build_pubmed_index(files, tmp_path / "parted", workers=1, shards=3)
    assert parted.content_hash == whole.content_hash
    assert sum(shard.records for shard in parted.shards) == whole.records
    assert len(parted.shards) == 3


def test_long_files_become_several_parts(tmp_path, monkeypatch):
    files = baseline(tmp_path, 2, 50)
    again = write_xml(
        tmp_path / "pubmed22n0001.xml",
        "<DeleteCitation><PMID>5</PMID><PMID>6</PMID></DeleteCitation>",
        article(5, seed=2),
        *(article(n) for n in range(200, 230)),
        "<DeleteCitation><PMID>200</PMID><PMID>229</PMID></DeleteCitation>",
    )
    expected = build_index(read_records([*files, again])).manifest
    monkeypatch.setattr(parts_module, "RECORDS_PER_PART", 10)
    monkeypatch.setattr(
        "actors.search.index.pubmed.batches.__defaults__", (module.pubmed.FIELDS, 5)
    )
    manifest = build_pubmed_index([*files, again], tmp_path / "out", workers=1)
    assert manifest.content_hash == expected.content_hash
    assert {"5", "228"} <= set(open_index(tmp_path / "out").ids)
    assert not {"6", "200", "229"} & set(open_index(tmp_path / "out").ids)


def test_json_lines_override_xml(tmp_path):
    files = baseline(tmp_path, 1, 10)
    lines = tmp_path / "a.jsonl"
    rows = [{"pmid": "4", "title": "new"}, {"pmid": "900", "title": "t", "mesh": ["Asthma"]}]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_pubmed_index([lines, *files], tmp_path / "out", workers=1)
    index = open_index(tmp_path / "out")
    assert index.size == 9
    assert [index.record(id).title for id in ("4", "900")] == ["new", "t"]


def test_a_killed_build_goes_on_where_it_stopped(tmp_path):
    files = baseline(tmp_path, 6, 1500)
    out = tmp_path / "out"
    script = (
        "import sys; from pipelines.data.build_index import build_pubmed_index;"
        "build_pubmed_index(sys.argv[2:], sys.argv[1], workers=1)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", script, out, *files], env=environment)
    work = tmp_path / ".out.build" / "parts"
    deadline = time.monotonic() + 60
    while not (
        len(list(work.glob("*/done.json"))) >= 2 and list(work.glob("*/.0000.*"))
    ):  # two files are done and a third is half way
        assert process.poll() is None, "the build ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists()
    done = {path: path.stat().st_mtime_ns for path in work.glob("*/done.json")}
    assert 2 <= len(done) < 7
    notes = Notes()
    manifest = build_pubmed_index(files, out, workers=1, reporter=notes)
    assert notes.notes["reading"][1].endswith(f"{len(done)} files kept")
    assert manifest.content_hash == build_index(read_records(files)).manifest.content_hash
    assert verify(out) == []


def test_a_changed_file_is_read_again_and_only_that(tmp_path, monkeypatch):
    files = baseline(tmp_path, 3, 20)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "plan", full)
        with pytest.raises(BuildError, match=r"No space left on device: free some space.*kept"):
            build_pubmed_index(files, tmp_path / "out", workers=1)
    write_xml(files[1], *(article(n, seed=5) for n in range(21, 41)))
    notes = Notes()
    manifest = build_pubmed_index(files, tmp_path / "out", workers=1, reporter=notes)
    assert notes.notes["reading"] == (4, notes.notes["reading"][1])
    assert notes.notes["reading"][1].startswith("20 records")
    assert notes.notes["reading"][1].endswith("3 files kept")
    assert manifest.content_hash == build_index(read_records(files)).manifest.content_hash


def test_trouble_that_is_no_full_disk_names_the_file_and_the_reason(tmp_path, monkeypatch):
    files = baseline(tmp_path, 1, 5)

    def refused(*_):
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr(module, "plan", refused)
    with pytest.raises(BuildError) as caught:
        build_pubmed_index(files, tmp_path / "out", workers=1)
    assert str(caught.value).startswith("/some/file: Permission denied. What is done is kept in ")
    assert "space" not in str(caught.value)


def test_finished_shards_are_kept(tmp_path, monkeypatch):
    files = baseline(tmp_path, 3, 20)
    with monkeypatch.context() as patch:
        patch.setattr(module, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build_pubmed_index(files, tmp_path / "out", workers=1, shards=2)
    monkeypatch.setattr(module, "write_shard", lambda *_: 1 / 0)
    assert len(build_pubmed_index(files, tmp_path / "out", workers=1, shards=2).shards) == 2
    assert verify(tmp_path / "out") == []


def test_a_build_that_was_killed_after_its_index_was_in_place_is_done_again(tmp_path, monkeypatch):
    files = baseline(tmp_path, 2, 20)
    with monkeypatch.context() as patch:
        patch.setattr(module.shutil, "rmtree", lambda path, **_: 1 / 0 if path == work else None)
        work = tmp_path / ".out.build"
        with pytest.raises(ZeroDivisionError):
            build_pubmed_index(files, tmp_path / "out", workers=1, shards=2)
    assert work.exists()
    assert verify(tmp_path / "out") == []
    manifest = build_pubmed_index(files, tmp_path / "out", workers=1, shards=2)
    assert verify(tmp_path / "out") == []
    assert sum(open_index(tmp_path / "out", shard=n).size for n in (0, 1)) == manifest.records


def test_linked_files_count_in_the_order_of_their_own_names(tmp_path):
    old = write_xml(tmp_path / "z", article(1))
    new = write_xml(tmp_path / "a", article(1, seed=1))
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "pubmed24n0001.xml").symlink_to(old)
    (linked / "pubmed24n0002.xml").symlink_to(new)
    build_pubmed_index([linked], tmp_path / "out", workers=1)
    assert open_index(tmp_path / "out").record("1").title == read_records([new])[0].title


def test_starting_over(tmp_path, monkeypatch):
    files = baseline(tmp_path, 2, 20)
    with monkeypatch.context() as patch:
        patch.setattr(module, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build_pubmed_index(files, tmp_path / "out", workers=1)
    notes = Notes()
    build_pubmed_index(files, tmp_path / "out", workers=1, resume=False, reporter=notes)
    assert "kept" not in notes.notes["reading"][1]


MESH = """<?xml version="1.0"?><DescriptorRecordSet><DescriptorRecord DescriptorClass="1">
<DescriptorUI>D001249</DescriptorUI><DescriptorName><String>Asthma</String></DescriptorName>
<TreeNumberList><TreeNumber>C08.127.108</TreeNumber></TreeNumberList></DescriptorRecord>
</DescriptorRecordSet>"""


def test_the_mesh_vocabulary_lies_in_the_index(tmp_path):
    files = baseline(tmp_path, 1, 10)
    (tmp_path / "desc.xml").write_text(MESH)
    build_pubmed_index(files, tmp_path / "out", workers=1, mesh=tmp_path / "desc.xml")
    assert module.load_mesh(tmp_path / "out" / MESH_FILE).heading("asthma") == "asthma"
    assert verify(tmp_path / "out") == []
    with pytest.raises(BuildError, match="MeSH vocabulary"):
        build_pubmed_index(files, tmp_path / "out", workers=1, mesh=files[0])


def test_what_cannot_be_built(tmp_path, monkeypatch):
    files = baseline(tmp_path, 1, 10)
    with pytest.raises(CorpusError, match=r"none\.xml: no such file"):
        build_pubmed_index([tmp_path / "none.xml"], tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(BuildError, match="is not an index: it will not be overwritten"):
        build_pubmed_index(files, tmp_path / "other")
    with pytest.raises(CorpusError, match=r"other: holds no \*\.xml"):
        build_pubmed_index([tmp_path / "other"], tmp_path / "out")
    with pytest.raises(BuildError, match="no field colour: PubMed records have title"):
        build_pubmed_index(files, tmp_path / "out", fields=["title", "colour"])
    with pytest.raises(BuildError, match="too few for 99 shards"):
        build_pubmed_index(files, tmp_path / "out", workers=1, shards=99)
    broken = tmp_path / "pubmed22n0001.xml"
    broken.write_text("<PubmedArticleSet>\n<PubmedArticle>")
    with pytest.raises(CorpusError, match=r"pubmed22n0001\.xml: broken XML at line 2"):
        build_pubmed_index([*files, broken], tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(module, "_free", lambda _: 0)
    with pytest.raises(BuildError, match="free some space or give another --out"):
        build_pubmed_index(files, tmp_path / "fresh", workers=1)


def test_two_builds_of_one_index_at_once(tmp_path):
    work = tmp_path / ".out.build"
    work.mkdir()
    files = baseline(tmp_path, 1, 10)
    (work / "of-the-first").touch()
    with module._alone(work):
        for resume in (True, False):
            with pytest.raises(BuildError, match="another build of this index"):
                build_pubmed_index(files, tmp_path / "out", workers=1, resume=resume)
        assert (work / "of-the-first").exists()
