"""One folder, three engines, one corpus hash."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest

from actors.search.dense.embed import Embedder
from actors.search.dense.factory import IndexSpec
from actors.search.dense.failures import DenseMismatchError
from actors.search.ranking.analysis import Analysis
from actors.search.ranking.failures import PassagesError, PassagesMismatchError
from actors.search.ranking.folder import (
    build_passages_index,
    open_engine,
    read_passages_manifest,
    verify,
)
from actors.search.ranking.fusion import reciprocal_rank_fusion
from actors.search.ranking.hybrid import HybridEngine
from actors.search.types import InfraFailure, QueryError, SearchRequest, SearchResult
from tests.tiny_embedder import write_embedder


@dataclass(frozen=True)
class Text:
    id: str
    title: str
    text: str


TEXTS = [Text(f"d{n}", f"title {n}", f"cat {'dog ' * (n % 3)} number {n}") for n in range(40)]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    folder = write_embedder(tmp_path_factory.mktemp("embedder") / "tiny")
    return Embedder(folder, device="cpu", query_prefix="q ", max_tokens=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, embedder):
    made = tmp_path_factory.mktemp("passages") / "index"
    build_passages_index(TEXTS, made, corpus="toy", embedder=embedder)
    return made


def test_dense_search_finds_what_is_embedded_alike(folder, embedder):
    engine = open_engine(folder, "dense", embedder=embedder)
    request = SearchRequest("title 7 cat dog", 100)
    result = engine.search(request)
    assert isinstance(result, SearchResult)
    assert len(result.ids) == len(set(result.ids)) == result.total == 40
    vectors, _ = embedder.embed_queries([request.query])
    texts = [f"{t.title} {t.text}" for t in TEXTS]
    scores = embedder.embed_passages(texts).vectors @ vectors[0]
    assert result.scores[0] == pytest.approx(scores.max(), abs=1e-5)
    assert engine.fetch(result.ids[:1]) == [
        (t.title, t.text) for t in TEXTS if t.id == result.ids[0]
    ]


def test_a_batch_gives_what_single_searches_give_and_keeps_faults_in_place(folder, embedder):
    engine = open_engine(folder, "dense", embedder=embedder)
    requests = [SearchRequest("cat", 3), SearchRequest(" ", 3), SearchRequest("dog " * 30, 5)]
    found = engine.search_many(requests)
    assert isinstance(found[1], QueryError)
    assert [len(found[0].ids), len(found[2].ids)] == [3, 5]
    assert found[2].warnings == ("OutputMessage: the query was cut to 12 tokens",)
    for request, outcome in zip(requests, found, strict=True):
        alone = engine.search(request)
        if isinstance(outcome, SearchResult):
            assert alone.ids == outcome.ids
    assert engine.search_many([]) == []


def test_hybrid_is_the_fusion_of_both(folder, embedder):
    lexical = open_engine(folder, "bm25")
    dense = open_engine(folder, "dense", embedder=embedder)
    hybrid = open_engine(folder, "hybrid", embedder=embedder)
    request = SearchRequest("dog 17", 1000)
    fused = reciprocal_rank_fusion([lexical.search(request).ids, dense.search(request).ids])
    result = hybrid.search(SearchRequest("dog 17", 5))
    assert list(zip(result.ids, result.scores, strict=True)) == fused[:5]
    assert result.total == 40
    assert hybrid.document_frequency("dog") == lexical.document_frequency("dog") == 26
    assert hybrid.fetch(["d3"]) == lexical.fetch(["d3"])
    weighted = open_engine(folder, "hybrid", embedder=embedder, weights=(1, 0))
    assert weighted.search(request).ids[0] == lexical.search(request).ids[0]


def test_hybrid_never_fuses_half_of_its_engines(folder):
    class Down:
        def search_many(self, requests):
            return [InfraFailure("no answer") for _ in requests]

    hybrid = HybridEngine([open_engine(folder, "bm25"), Down()])
    assert hybrid.search(SearchRequest("cat", 3)) == InfraFailure("no answer")
    fault = HybridEngine([open_engine(folder, "bm25")]).search(SearchRequest("the of", 3))
    assert isinstance(fault, QueryError)


def test_a_failing_model_is_never_the_querys_fault(folder, embedder):
    engine = open_engine(folder, "dense", embedder=embedder)

    class Broken:
        def embed_queries(self, texts):
            raise RuntimeError("CUDA out of memory")

    engine._embedder = Broken()
    found = engine.search_many([SearchRequest("cat", 3), SearchRequest("", 3)])
    assert isinstance(found[0], InfraFailure)
    assert "CUDA out of memory" in found[0].message
    assert isinstance(found[1], QueryError)


def test_the_model_is_loaded_with_the_settings_of_the_index(folder, embedder, tmp_path):
    engine = open_engine(folder, "dense", model=embedder._folder)
    request = SearchRequest("title 7", 10)
    assert engine.search(request) == open_engine(folder, "dense", embedder=embedder).search(request)


def test_the_model_is_found_where_it_was_when_the_index_was_built(folder, embedder):
    request = SearchRequest("title 7", 10)
    found = open_engine(folder, "hybrid").search(request)
    assert found == open_engine(folder, "hybrid", embedder=embedder).search(request)


def test_vectors_whose_writing_was_broken_off_are_made_again(embedder, tmp_path):
    options = {"corpus": "toy", "embedder": embedder}
    build_passages_index(TEXTS, tmp_path / "index", **options)
    (tmp_path / "index" / "dense-flat" / "manifest.json").unlink()
    build_passages_index(TEXTS, tmp_path / "index", **options)
    engine = open_engine(tmp_path / "index", "dense", embedder=embedder)
    assert engine.search(SearchRequest("title 7", 50)).total == 40


def test_another_model_is_refused_and_both_are_named(folder, tmp_path):
    other = write_embedder(tmp_path / "other", seed=1)
    with pytest.raises(DenseMismatchError, match=r"model 'tiny' .*with model 'other'"):
        open_engine(folder, "dense", model=other)
    same_name = shutil.copytree(other, tmp_path / "x" / "tiny")
    with pytest.raises(DenseMismatchError, match="fingerprint"):
        open_engine(folder, "dense", model=same_name)


def test_another_corpus_is_refused_and_both_are_named(folder, embedder, tmp_path):
    wanted = "0" * 64
    with pytest.raises(PassagesMismatchError, match=r"corpus 'toy' \(hash \w{12}\).*0{12}"):
        open_engine(folder, corpus_hash=wanted)
    assert open_engine(folder, corpus_hash=read_passages_manifest(folder).corpus_hash)
    with pytest.raises(PassagesMismatchError, match=r"of corpus 'toy'.*this is corpus 'next'"):
        build_passages_index(TEXTS[1:], folder, corpus="next")
    with pytest.raises(PassagesMismatchError, match=r"stemmer='english'.*wanted is.*stemmer=''"):
        build_passages_index(TEXTS, folder, corpus="toy", analysis=Analysis("", False))
    build_passages_index(TEXTS[1:], tmp_path / "other", corpus="next", embedder=embedder)
    for part, error, words in [
        ("dense-flat", DenseMismatchError, "built from corpus 'next'.*here is corpus 'toy'"),
        ("lexical", PassagesMismatchError, r"is not the index that passages\.json names"),
    ]:
        mixed = shutil.copytree(folder, tmp_path / f"mixed-{part}")
        shutil.rmtree(mixed / part)
        shutil.copytree(tmp_path / "other" / part, mixed / part)
        with pytest.raises(error, match=words):
            open_engine(mixed, "dense", embedder=embedder)


def test_building_again_adds_what_is_lacking_and_embeds_once(embedder, tmp_path):
    texts = [Text(f"d{n}", "", f"text {n}") for n in range(700)]
    calls = []
    folder, cache = tmp_path / "index", tmp_path / "vectors"
    options = {"corpus": "c", "embedder": embedder, "vectors_cache": cache}
    build_passages_index(texts, folder, corpus="c")
    for kind in ("flat", "ivfpq", "flat"):
        build_passages_index(
            texts, folder, spec=IndexSpec(kind), progress=lambda *x: calls.append(x), **options
        )
    assert calls[-1] == (700, 700)
    assert len(calls) == 11  # batches of 64, once
    assert sorted(path.name for path in folder.iterdir()) == [
        "dense-flat", "dense-ivfpq", "lexical", "passages.json",
    ]  # fmt: skip
    for kind in ("flat", "ivfpq"):
        engine = open_engine(folder, "dense", embedder=embedder, index=kind, mmap=True)
        assert len(engine.search(SearchRequest("text", 1000)).ids) == 700


def test_what_cannot_be_built_or_opened(folder, tmp_path, embedder):
    for texts, words in [
        ([TEXTS[0], TEXTS[0]], "id 'd0' comes twice"),
        ([Text("", "", "x")], "id '' is empty"),
        ([], "has no passages"),
    ]:
        with pytest.raises(PassagesError, match=words):
            build_passages_index(texts, tmp_path / "bad", corpus="bad")
    assert not (tmp_path / "bad").exists()
    (tmp_path / "file").touch()
    with pytest.raises(PassagesError, match="file is a file, not a folder"):
        build_passages_index(TEXTS, tmp_path / "file", corpus="toy")
    with pytest.raises(PassagesError, match="engine 'colbert' is none of bm25, dense, hybrid"):
        open_engine(folder, "colbert")
    with pytest.raises(PassagesError, match="is no index of passages"):
        open_engine(tmp_path)
    with pytest.raises(PassagesError, match="dense-hnsw is not there"):
        open_engine(folder, "dense", index="hnsw", embedder=embedder)
    (tmp_path / "passages.json").write_text("{")
    with pytest.raises(PassagesError, match="is damaged"):
        open_engine(tmp_path)
    (tmp_path / "passages.json").write_text('{"schema": 99}')
    with pytest.raises(PassagesError, match="has schema 99, this version reads 1"):
        open_engine(tmp_path)


def test_verify_reads_words_and_vectors(folder, tmp_path):
    assert verify(folder) == []
    with pytest.raises(PassagesError, match="is no index of passages"):
        verify(tmp_path)

    def faults_after(damage):
        copy = shutil.copytree(folder, tmp_path / "copy")
        damage(copy)
        found = verify(copy)
        shutil.rmtree(copy)
        return found

    def flip(path):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    for damage, words in [
        (lambda copy: flip(next(copy.glob("dense-flat/vectors-*"))), "faiss is damaged: SHA-256"),
        (lambda copy: flip(next(copy.glob("dense-flat/ids-*"))), "json is damaged: SHA-256"),
        (lambda copy: next(copy.glob("dense-flat/ids-*")).unlink(), "json is missing"),
        (lambda copy: (copy / "dense-flat" / "manifest.json").unlink(), "it has no manifest.json"),
        (lambda copy: flip(next(copy.glob("lexical/shard-*/store"))), "store is damaged: SHA-256"),
        (lambda copy: shutil.rmtree(copy / "lexical"), "no index at"),
    ]:
        (fault,) = faults_after(damage)
        assert words in fault
    manifest = json.loads((folder / "dense-flat" / "manifest.json").read_text())
    plain = json.dumps({**manifest, "files": {}})
    (fault,) = faults_after(lambda copy: (copy / "dense-flat/manifest.json").write_text(plain))
    assert fault.endswith("has no check sums: build the index again")


BUILDING = """
import sys
from pathlib import Path
from actors.search.dense.embed import Embedder
from actors.search.ranking.folder import build_passages_index
from tests.actors.search.ranking.test_folder import TEXTS

embedder, done = Embedder(Path(sys.argv[2]), device="cpu"), []
input()
build_passages_index(
    TEXTS, sys.argv[1], corpus="toy", embedder=embedder, progress=lambda *at: done.append(at)
)
print(len(done))
"""


def test_two_processes_that_build_one_folder_build_it_once(embedder, tmp_path):
    command = [sys.executable, "-c", BUILDING, str(tmp_path / "index"), str(embedder._folder)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running = [subprocess.Popen(command, text=True, **pipes) for _ in range(2)]
    ends = [process.communicate("go\n") for process in running]
    assert [process.returncode for process in running] == [0, 0], ends
    assert sorted(int(out) > 0 for out, _ in ends) == [False, True]
    assert verify(tmp_path / "index") == []
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
