"""TREC run files: written, read back, refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.ir.failures import RunFileError
from pipelines.ir.runs import fuse_runs, ordered, read_run, write_run

NAMES = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8).filter(
    lambda name: name.split() == [name]
)
SCORES = st.floats(-1e6, 1e6, width=32)
RUNS = st.dictionaries(NAMES, st.dictionaries(NAMES, SCORES, min_size=1, max_size=6), max_size=4)


def test_the_columns_of_a_run_file(tmp_path):
    path = tmp_path / "deep" / "x.run"
    write_run(path, {"q1": [("d2", 0.5), ("d9", 2.0), ("d3", 0.5)], "q2": []}, "bm25")
    assert path.read_text().splitlines() == [
        "q1 Q0 d9 1 2 bm25",
        "q1 Q0 d3 2 0.5 bm25",
        "q1 Q0 d2 3 0.5 bm25",
    ]


@given(run=RUNS)
def test_what_is_written_is_read_back(tmp_path_factory, run):
    path = tmp_path_factory.mktemp("run") / "x.run"
    write_run(path, {query: hits.items() for query, hits in run.items()}, "t")
    assert read_run(path) == {query: ordered(hits.items()) for query, hits in run.items()}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("q Q0 d 1 0.5", "line 2: 5 columns"),
        ("q Q0 d 1 high tag", "line 2: score 'high' is no number"),
        ("q Q0 d 1 nan tag", "line 2: score 'nan' is not finite"),
        ("q Q0 first 2 0.1 tag", "line 2: document first comes twice for query q"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, words):
    (tmp_path / "x.run").write_text(f"q Q0 first 1 0.9 tag\n{line}\n")
    with pytest.raises(RunFileError, match=words):
        read_run(tmp_path / "x.run")


def test_ids_that_a_run_file_cannot_hold(tmp_path):
    with pytest.raises(RunFileError, match="document id 'a b'"):
        write_run(tmp_path / "x.run", {"q": [("a b", 1.0)]}, "t")
    with pytest.raises(RunFileError, match="query id ''"):
        write_run(tmp_path / "x.run", {"": [("a", 1.0)]}, "t")
    assert not list(tmp_path.iterdir())
    with pytest.raises(RunFileError, match="cannot be read"):
        read_run(tmp_path / "x.run")


def test_runs_are_fused_by_rank():
    first = {"q": [("a", 9.0), ("b", 1.0)], "only": [("x", 1.0)]}
    second = {"q": [("b", 0.3), ("c", 0.2)]}
    fused = fuse_runs([first, second], depth=2)
    assert [id for id, _ in fused["q"]] == ["b", "a"]
    assert fused["q"][0][1] == pytest.approx(1 / 62 + 1 / 61)
    assert [id for id, _ in fused["only"]] == ["x"]
