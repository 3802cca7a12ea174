"""From a collection's files to measures, through the command and through the real engines."""

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from actors.search.dense.factory import IndexSpec
from actors.search.ranking.analysis import Analysis
from actors.search.types import SearchRequest
from pipelines.data.ir_sets import load_ir_set
from pipelines.ir.engines import EngineMaker, EngineOptions
from pipelines.ir.evaluate import evaluate_engine
from pipelines.ir.runs import fuse_runs, read_run
from pipelines.ir_cli import app
from tests.tiny_embedder import write_embedder

SHARED = Path(os.environ.get("SEEKRAY_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
COLOURS = "red green blue white black brown grey pink".split()
ANIMALS = "cat dog horse cow bird fish".split()


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def collection(tmp_path):
    """48 passages, one a pair of words; each query names one animal, in the plural."""
    folder = tmp_path / "pets"
    folder.mkdir()
    pairs = [(colour, animal) for colour in COLOURS for animal in ANIMALS]
    write_lines(
        folder / "corpus.jsonl",
        [
            {"id": f"p{n}", "title": "", "text": f"the {c} {a} runs"}
            for n, (c, a) in enumerate(pairs)
        ],
    )
    write_lines(folder / "queries.jsonl", [{"id": a, "text": f"{a}s running"} for a in ANIMALS])
    write_lines(
        folder / "qrels.jsonl",
        [
            {"query_id": a, "doc_id": f"p{n}", "relevance": 1}
            for n, (_, a) in enumerate(pairs)
            if a != "fish"
        ],
    )
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_embedder(tmp_path_factory.mktemp("embedder") / "tiny")


def command(monkeypatch, tmp_path, *arguments):
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))
    return CliRunner().invoke(app, ["--out", str(tmp_path / "out"), *map(str, arguments)])


def test_the_command_writes_runs_values_and_a_summary(monkeypatch, tmp_path, collection, model):
    done = command(
        monkeypatch, tmp_path, "--set", collection, "--embedder", model, "--device", "cpu", "-k", 20
    )
    assert done.exit_code == 0, done.output
    out = tmp_path / "out"
    assert sorted(path.name for path in (out / "pets").iterdir()) == [
        "bm25.jsonl", "bm25.run", "dense.jsonl", "dense.run", "hybrid.jsonl", "hybrid.run",
    ]  # fmt: skip
    rows = json.loads((out / "summary.json").read_text())
    assert [(row["engine"], row["queries"]) for row in rows] == [
        ("bm25", 5), ("dense", 5), ("hybrid", 5),
    ]  # fmt: skip
    bm25 = rows[0]
    # "running" is in all 48; the animal lifts its eight to the top, "fish" is not judged
    assert bm25["nDCG@10"] == bm25["AP"] == bm25["RR@10"] == 1
    assert "R@1000" not in bm25  # 20 hits cannot show it
    assert rows[2]["against"]["engine"] == "bm25"
    first = json.loads((out / "pets" / "bm25.jsonl").read_text().splitlines()[0])
    assert first["query"] == "cat"
    assert first["hits"] == 20
    assert "pets" in done.output
    assert "nDCG@10" in done.output
    runs = [read_run(out / "pets" / f"{kind}.run") for kind in ("bm25", "dense")]
    assert all(len(hits) == 20 for run in runs for hits in run.values())
    assert list(fuse_runs(runs)) == ANIMALS[:5]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engine", "colbert"], "engine 'colbert' is none of bm25, dense, hybrid"),
        (["--engine", "bm25", "--engine", "bm25"], "given twice"),
        (["--engine", "bm25", "--k1", "-1"], "k1 is -1"),
        (["--engine", "bm25", "--stemmer", "klingon"], "stemmer 'klingon'"),
        (["--engine", "bm25", "--measure", "nDCG@10", "-k", "5"], "needs 10 hits"),
        (["--engine", "dense", "--index", "annoy"], "'annoy' is none of"),
        (["--engine", "dense", "--embedder", "./no-such"], "no-such"),
        (["--set", "/nowhere"], "/nowhere: no such folder"),
    ],
)
def test_bad_input_is_one_message(monkeypatch, tmp_path, collection, arguments, words):
    if "--set" not in arguments:
        arguments = ["--set", str(collection), *arguments]
    done = command(monkeypatch, tmp_path, *arguments)
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output


def test_two_sets_of_one_name_or_a_file_as_out_are_one_message(monkeypatch, tmp_path, collection):
    twin = shutil.copytree(collection, tmp_path / "twin" / collection.name)
    sets = ["--set", str(collection), "--set", str(twin), "--engine", "bm25"]
    done = command(monkeypatch, tmp_path, *sets)
    assert done.exit_code == 2
    assert f"two sets are named '{collection.name}'" in done.output
    (tmp_path / "out").write_text("mine")
    done = command(monkeypatch, tmp_path, "--set", str(collection), "--engine", "bm25")
    assert done.exit_code == 2
    assert (tmp_path / "out").read_text() == "mine"


def test_an_engine_is_built_once(tmp_path, collection, model):
    ir_set = load_ir_set(collection)
    options = EngineOptions(embedder=str(model), device="cpu", dense=IndexSpec("hnsw"))
    request = SearchRequest("white horses", 3)
    found = EngineMaker(options, tmp_path).engine(ir_set, "hybrid").search(request)
    built = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert EngineMaker(options, tmp_path).engine(ir_set, "hybrid").search(request) == found
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()} == built
    plain = EngineOptions(analysis=Analysis("", False))
    assert not EngineMaker(plain, tmp_path).engine(ir_set, "bm25").search(request).ids[3:]


@pytest.mark.parametrize(
    ("name", "ndcg", "recall"), [("med", 0.6947, 0.7909), ("cisi", 0.3850, 0.4450)]
)
def test_bm25_on_real_collections_gives_what_bm25s_gives(tmp_path, name, ndcg, recall):
    """The expected values were measured with bm25s (Lucene's variant) over the same words."""
    folder = SHARED / "passages" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing: set SEEKRAY_SHARED_DATA to run on real collections")
    ir_set = load_ir_set(folder)
    engine = EngineMaker(EngineOptions(), tmp_path).engine(ir_set, "bm25")
    means = evaluate_engine(engine, ir_set, 100, ("nDCG@10", "R@100")).means
    assert means["nDCG@10"] == pytest.approx(ndcg, abs=0.002)
    assert means["R@100"] == pytest.approx(recall, abs=0.002)


@pytest.mark.long
def test_minilm_and_fusion_beat_bm25_on_med(tmp_path):
    folder = SHARED / "passages" / "med"
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing: set SEEKRAY_SHARED_DATA to run on real collections")
    ir_set = load_ir_set(folder)
    maker = EngineMaker(EngineOptions(device="cpu"))
    measured = {
        kind: evaluate_engine(maker.engine(ir_set, kind), ir_set, 100, ("nDCG@10",)).means[
            "nDCG@10"
        ]
        for kind in ("bm25", "dense", "hybrid")
    }
    assert measured["dense"] == pytest.approx(0.7875, abs=0.01)
    assert measured["hybrid"] > measured["bm25"] + 0.05
