import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from actors.search.dense.embed import Embedder, EmbedderError
from actors.search.dense.factory import IndexSpec
from pipelines.data import chunk_index, chunk_vectors
from pipelines.data.chunk_index import (
    ChunkIndex,
    ChunkIndexError,
    ChunkIndexMismatchError,
    EmbedderOptions,
    build_chunk_index,
    build_qa_index,
    check_chunking,
    verify_chunk_index,
)
from pipelines.data.chunks import Chunk, Document
from pipelines.data.failures import BuildError, CorpusError
from pipelines.data.qa_sets import QASet
from pipelines.data.tokens import TokenCounter
from tests.tiny_embedder import write_embedder

ROOT = Path(__file__).parents[3]
WORDS = "pain knee drug heart renal acute study blind oral dose lung skin bone liver trial".split()


@pytest.fixture(scope="module")
def counter(tiny_model):
    return TokenCounter(tiny_model)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_embedder(tmp_path_factory.mktemp("embedder") / "tiny")


def a_set(count=30):
    texts = [f"{WORDS[i % 15]} {WORDS[(i * 7 + i // 15) % 15]} {i}." for i in range(count)]
    return QASet("small", tuple(Document(f"d{i}", (t,)) for i, t in enumerate(texts)), ())


@pytest.fixture
def build(counter, model, tmp_path):
    def build(folder="index", documents=None, **options):
        qa = a_set() if documents is None else QASet("small", tuple(documents), ())
        options = {"embedder": str(model), "cache": tmp_path / "cache", "size": 32, **options}
        build_qa_index(qa, tmp_path / folder, counter=options.pop("counter", counter), **options)
        return tmp_path / folder

    return build


def test_candidates_are_those_of_a_plain_search_over_all_vectors(build, model, counter):
    folder = build()
    opened = ChunkIndex.open(folder, counter=counter)
    queries = ["knee pain", "oral dose of a drug", ""]
    found = opened.candidates(queries, k=7)
    embedder = Embedder(model, device="cpu")
    texts = [chunk.text for chunk in opened.chunks.values()]
    passages = embedder.embed_passages(texts).vectors
    asked, _ = embedder.embed_queries(queries)
    ids = list(opened.chunks)
    for query, vector, each in zip(queries, asked, found, strict=True):
        scores = passages @ vector
        best = sorted(range(len(ids)), key=lambda i: -scores[i])[:7]
        assert each.query == query
        assert [chunk.id for chunk in each.chunks] == [ids[i] for i in best]
        np.testing.assert_allclose(each.similarities, scores[best], atol=1e-5)
        np.testing.assert_allclose(each.vectors, passages[best], atol=1e-5)
        np.testing.assert_allclose(each.query_vector, vector, atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(each.vectors, axis=1), 1, atol=1e-5)
        assert (each.similarities.dtype, each.vectors.dtype) == (np.float32, np.float32)
        assert all(opened.chunks[chunk.id] is chunk for chunk in each.chunks)


def test_equal_chunks_have_an_order_that_k_does_not_change(build):
    opened = ChunkIndex.open(build(documents=[Document(f"d{i}", ("knee.",)) for i in range(9)]))
    for k in (1, 4, 9):
        (found,) = opened.candidates(["knee"], k)
        assert [c.id for c in found.chunks] == [f"d{i}#0" for i in range(8, 8 - k, -1)]


def test_more_candidates_than_chunks_and_no_query(build):
    opened = ChunkIndex.open(build())
    assert len(opened.candidates(["knee"], 60)[0].chunks) == 30
    assert opened.candidates([]) == []
    with pytest.raises(ValueError, match="ask for at least 1"):
        opened.candidates(["knee"], 0)


@pytest.mark.parametrize("spec", [IndexSpec("hnsw"), IndexSpec("ivfpq", nlist=2, bits=4, pieces=6)])
def test_other_kinds_give_exact_similarities_too(build, spec):
    documents = [Document(f"d{i}", (f"{WORDS[i % 15]} {i}.",)) for i in range(640)]
    flat = ChunkIndex.open(build("flat", documents))
    other = ChunkIndex.open(build("other", documents, spec=spec))
    queries = [f"{word} {i}" for i, word in enumerate(WORDS)]
    kept = 0
    for a, b in zip(flat.candidates(queries, 10), other.candidates(queries, 10), strict=True):
        assert list(b.similarities) == sorted(b.similarities, reverse=True)
        np.testing.assert_allclose(b.similarities, b.vectors @ b.query_vector, atol=1e-5)
        kept += len({c.id for c in a.chunks} & {c.id for c in b.chunks})
    assert kept >= 0.5 * 150
    assert flat.fingerprint != other.fingerprint


def test_the_manifest_says_what_it_is_made_of(build, counter, model):
    folder = build(overlap=4)
    manifest = ChunkIndex.open(folder).manifest
    chunks = [json.loads(line) for line in (folder / "chunks.jsonl").read_text().splitlines()]
    assert (manifest.name, manifest.chunks, manifest.documents) == ("small", 30, 30)
    assert manifest.tokens == sum(counter.count(chunk["text"]) for chunk in chunks)
    assert (manifest.size, manifest.overlap) == (32, 4)
    assert manifest.tokenizer_fingerprint == counter.fingerprint
    assert manifest.embedder_fingerprint == Embedder(model, device="cpu").fingerprint
    assert manifest.truncated == 0
    check_chunking(manifest, 32, 4, folder)
    with pytest.raises(ChunkIndexMismatchError, match="cut to 32 tokens with an overlap of 4"):
        check_chunking(manifest, 64, 4, folder)


def test_the_title_is_embedded_but_costs_nothing(build, counter, model):
    titled = [Document("d", ("knee.",), "skin"), Document("e", ("knee. bone.",), "knee.")]
    opened = ChunkIndex.open(build(documents=titled))
    expected = Embedder(model, device="cpu").embed_passages(["skin\nknee.", "knee. bone."])
    np.testing.assert_allclose(opened.vectors_of(["d#0", "e#0"]), expected.vectors, atol=1e-5)
    assert opened.chunks["d#0"].tokens == counter.count("knee.")


def test_cut_chunks_are_counted(build):
    long = Document("d", (" ".join(WORDS),))
    opened = ChunkIndex.open(build(documents=[*a_set(3).documents, long], size=128))
    assert opened.manifest.truncated == 1


# --- what does not belong together is refused


def another_counter(tiny_model, folder):
    shutil.copytree(tiny_model, folder)
    text = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(text.replace("<end>", "<fin>"))
    (folder / "tokenizer_config.json").unlink()
    return TokenCounter(folder)


def test_another_tokenizer_is_refused(build, tiny_model, tmp_path):
    folder = build()
    with pytest.raises(ChunkIndexMismatchError, match="budget would be in those of 'other'"):
        ChunkIndex.open(folder, counter=another_counter(tiny_model, tmp_path / "other"))


def test_chunks_that_another_tokenizer_counted_are_refused(counter, model, tmp_path):
    chunk = Chunk("d#0", "knee pain", counter.count("knee pain") + 1, "d")
    with pytest.raises(BuildError, match=r"chunk d#0 says \d+ tokens, the tokenizer of"):
        build_chunk_index([chunk], tmp_path / "i", counter=counter, embedder=str(model))


def test_a_model_that_has_changed_is_refused(build, model, tmp_path):
    own = tmp_path / "model"
    shutil.copytree(model, own)
    folder = build(embedder=str(own))
    shutil.rmtree(own)
    write_embedder(tmp_path / "new" / "model", seed=1).rename(own)
    opened = ChunkIndex.open(folder)
    with pytest.raises(ChunkIndexMismatchError, match="queries would be embedded with 'model'"):
        opened.candidates(["knee"])


@pytest.mark.parametrize("name", ["chunks.jsonl", "vectors.npy", "dense/manifest.json"])
@pytest.mark.parametrize("how", ["missing", "cut", "changed"])
def test_damage_is_said(build, name, how):
    folder = build()
    path = folder / name
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if how == "cut" else data[:-9] + b"\0" + data[-8:])
    assert len(verify_chunk_index(folder)) == 1
    assert name in verify_chunk_index(folder)[0]
    if how != "changed" or name != "vectors.npy":  # a vector's value is for `verify` only
        with pytest.raises(ChunkIndexError, match="build the index again"):
            ChunkIndex.open(folder)


def test_a_folder_that_is_no_index(tmp_path):
    with pytest.raises(ChunkIndexError, match="is no chunk index"):
        ChunkIndex.open(tmp_path / "none")
    (tmp_path / "chunks.json").write_text('{"schema": 99}')
    with pytest.raises(ChunkIndexError, match="has schema 99"):
        ChunkIndex.open(tmp_path)
    (tmp_path / "chunks.json").write_text("{")
    with pytest.raises(ChunkIndexError, match="cannot be read"):
        ChunkIndex.open(tmp_path)


def test_bad_chunks_and_targets_are_refused(build, counter, model, tmp_path):
    chunk = Chunk("d#0", "knee", counter.count("knee"), "d")
    options = {"counter": counter, "embedder": str(model), "cache": tmp_path / "cache"}
    with pytest.raises(BuildError, match="at least one chunk"):
        build_chunk_index([], tmp_path / "i", **options)
    with pytest.raises(BuildError, match="'d#0' comes twice"):
        build_chunk_index([chunk, chunk], tmp_path / "i", **options)
    with pytest.raises(CorpusError, match="its 1 documents have no text"):
        build(documents=[Document("d", ("  ",))])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(BuildError, match="is there and is no chunk index"):
        build_chunk_index([chunk], tmp_path / "mine", **options)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "x"


# --- what is interrupted


def test_a_build_that_was_stopped_goes_on(build, monkeypatch, tmp_path):
    monkeypatch.setattr(chunk_vectors, "PART", 10)
    embed, asked = Embedder.embed_passages, []

    def failing(self, texts, progress=None):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(len(texts))
        return embed(self, texts, progress)

    monkeypatch.setattr(Embedder, "embed_passages", failing)
    with pytest.raises(KeyboardInterrupt):
        build()
    assert not (tmp_path / "index").exists()
    asked.clear()
    folder = build()
    assert asked == [10]  # two parts of three were kept
    monkeypatch.undo()
    fresh = build("fresh", cache=tmp_path / "other")
    assert (folder / "vectors.npy").read_bytes() == (fresh / "vectors.npy").read_bytes()


def test_an_index_in_use_stays_until_the_new_one_is_whole(build, monkeypatch, tmp_path):
    folder = build()
    before = ChunkIndex.open(folder)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(chunk_index.np, "save", full)
    with pytest.raises(BuildError, match="No space left on device: free some space"):
        build(documents=a_set(5).documents)
    monkeypatch.undo()
    assert ChunkIndex.open(folder).fingerprint == before.fingerprint
    assert sorted(p.name for p in tmp_path.glob(".*")) == []
    build(documents=a_set(5).documents)
    assert len(ChunkIndex.open(folder).chunks) == 5
    assert len(before.candidates(["knee"])[0].chunks) == 30  # opened before, still whole


KILLED = """
import os, signal, sys
from pathlib import Path
from pipelines.data import chunk_index
from pipelines.data.chunks import Document
from pipelines.data.qa_sets import QASet
from pipelines.data.tokens import TokenCounter
chunk_index.put_in_place = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
qa = QASet("small", (Document("d", ("knee.",)),), ())
out, model, embedder, cache = sys.argv[1:]
chunk_index.build_qa_index(qa, out, counter=TokenCounter(model), embedder=embedder, cache=cache)
"""


@pytest.mark.long
def test_a_build_that_is_killed_while_it_writes_leaves_the_old_index(
    build, tiny_model, model, tmp_path
):
    folder = build()
    command = [sys.executable, "-c", KILLED, *map(str, (folder, tiny_model, model, tmp_path / "c"))]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert (tmp_path / ".index.build").is_dir()
    assert len(ChunkIndex.open(folder).chunks) == 30
    build(documents=a_set(4).documents)
    assert len(ChunkIndex.open(folder).chunks) == 4
    assert not (tmp_path / ".index.build").exists()


# --- Ray


@pytest.mark.usefixtures("ray_local")
def test_workers_on_ray_make_the_same_index(build, monkeypatch, tmp_path):
    monkeypatch.setattr(chunk_vectors, "PART", 8)
    alone = build("alone")
    spread = build("spread", workers=2, cache=tmp_path / "other")
    for name in ("chunks.jsonl", "vectors.npy"):
        assert (alone / name).read_bytes() == (spread / name).read_bytes()
    assert len(list((tmp_path / "other" / "embeddings").glob("*.npz"))) == 4
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbedderError, match="empty cannot be loaded"):
        build(embedder=EmbedderOptions(str(tmp_path / "empty")), workers=2)


def test_prefixes_reach_the_model(build, model):
    options = EmbedderOptions(str(model), query_prefix="q ", passage_prefix="p ")
    opened = ChunkIndex.open(build(embedder=options))
    plain = Embedder(model, device="cpu")
    (found,) = opened.candidates(["knee"], 3)
    np.testing.assert_allclose(found.query_vector, plain.embed_queries(["q knee"])[0][0], atol=1e-5)
    texts = [f"p {chunk.text}" for chunk in found.chunks]
    np.testing.assert_allclose(found.vectors, plain.embed_passages(texts).vectors, atol=1e-5)
    assert opened.manifest.embedder == replace(options, model=str(model))
