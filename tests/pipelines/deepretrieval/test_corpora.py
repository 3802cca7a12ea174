import json
import subprocess
import sys
from dataclasses import replace

import pytest

from actors.search.engines import open_engine
from actors.search.index import build_index
from actors.search.types import Record, SearchRequest
from configs.schema import DataConfig, RewriterConfig, SearchConfig
from pipelines.data.load import TaskError
from pipelines.deepretrieval.corpora import ensure_index, load_corpus
from pipelines.progress import SilentReporter


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def config(engine, corpus, tasks, **search):
    return RewriterConfig(
        data=DataConfig(corpus=str(corpus), tasks=tasks, test_fraction=0.5),
        search=SearchConfig(engine=engine, **search),
    )


def topics(tmp_path, relevant):
    rows = [{"id": f"t{i}", "text": f"need {i}", "relevant": ids} for i, ids in enumerate(relevant)]
    return lines(tmp_path / "topics.jsonl", rows)


def test_trials_are_indexed_once_and_tasks_fitted_to_them(tmp_path):
    studies = lines(
        tmp_path / "studies.jsonl",
        [
            {"nct_id": "NCT00000001", "title": "Aspirin in migraine", "conditions": ["Migraine"]},
            {"nct_id": "NCT00000002", "title": "Statins in stroke", "conditions": ["Stroke"]},
        ],
    )
    tasks = topics(tmp_path, [["NCT00000001", "NCT9"], ["NCT00000002"], ["NCT9"]])
    found = load_corpus(config("trials", studies, tasks), SilentReporter())
    assert found.records == 2
    assert (found.split.empty, found.split.missing) == (1, 2)
    kept = {task.id: task.relevant for task in [*found.split.train, *found.split.test]}
    assert kept == {"t0": {"NCT00000001"}, "t1": {"NCT00000002"}}
    engine = open_engine(found.index, "trials")
    request = SearchRequest("migraine OR nothing", 5, order="relevance", syntax="essie")
    assert engine.search(request).ids == ("NCT00000001",)
    made = (found.index / "manifest.json").stat().st_mtime_ns
    again = load_corpus(config("trials", studies, tasks), SilentReporter())
    assert (again.index / "manifest.json").stat().st_mtime_ns == made


def test_a_collection_brings_its_own_tasks(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    corpus = [{"id": f"d{i}", "title": "", "text": f"lungs breathe {i}"} for i in range(4)]
    lines(folder / "corpus.jsonl", corpus)
    lines(folder / "queries.jsonl", [{"id": f"q{i}", "text": f"lungs {i}"} for i in range(4)])
    grades = [{"query_id": f"q{i}", "doc_id": f"d{i}", "relevance": i % 4} for i in range(4)]
    lines(folder / "qrels.jsonl", grades)
    found = load_corpus(config("bm25", folder, "judged"), SilentReporter())
    assert found.records == 4
    tasks = [*found.split.train, *found.split.test]
    assert sorted(task.id for task in tasks) == ["q1", "q2", "q3"]  # q0 has nothing relevant
    engine = open_engine(found.index, "bm25")
    request = SearchRequest("breathe 2", 1, order="relevance", syntax="bag")
    assert engine.search(request).ids == ("d2",)


@pytest.mark.parametrize("shards", [1, 2])
def test_an_index_that_was_built_before_is_searched_as_it_is(tmp_path, shards):
    records = [Record(str(i), f"title {i}") for i in range(1, 9)]
    build_index(records, tmp_path / "index", shards=shards)
    tasks = topics(tmp_path, [["1", "99"], ["2"], ["98"]])
    wanted = config("pubmed", "nowhere", tasks, index=str(tmp_path / "index"))
    found = load_corpus(wanted, SilentReporter())
    assert (found.index, found.records) == (tmp_path / "index", 8)
    assert (found.split.empty, found.split.missing) == (1, 2)
    assert open_engine(found.index).search(SearchRequest("title 2", 5)).ids == ("2",)
    other = replace(wanted, data=replace(wanted.data, tasks=topics(tmp_path, [["98"]])))
    with pytest.raises(TaskError, match="none of the relevant records"):
        load_corpus(other, SilentReporter())


def test_passage_engines_take_no_ready_index():
    problems = SearchConfig(engine="dense", index="somewhere").problems()
    assert problems == ["search.index: dense builds its own index from data.corpus"]


ENSURING = """
import sys
from actors.search.types import Record
from pipelines.deepretrieval.corpora import ensure_index

input()
said = []
print(ensure_index([Record("1", "rat")], ("title",), "rats", said.append), len(said))
"""


def test_two_processes_that_want_one_index_build_it_once(tmp_path):
    running = [
        subprocess.Popen(
            [sys.executable, "-c", ENSURING],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate() for process in running]
    assert [fault for _, fault in ends] == ["", ""]
    folders, built = zip(*(out.split() for out, _ in ends), strict=True)
    assert folders[0] == folders[1]
    assert sorted(built) == ["0", "1"]


def test_an_index_of_the_cache_that_is_damaged_is_built_again(tmp_path):
    said = []
    folder = ensure_index([Record("1", "rat")], ("title",), "rats", said.append)
    (folder / "manifest.json").write_text("{}")
    assert ensure_index([Record("1", "rat")], ("title",), "rats", said.append) == folder
    assert said[0] == said[2] == "indexing 1 records"
    assert said[1].startswith("the index in the cache is not usable and is built again: ")
    assert len(said) == 3
