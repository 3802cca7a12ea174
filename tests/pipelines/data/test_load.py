import json

import pytest

from actors.search.types import MeshHeading, Record
from configs.schema import DataConfig
from pipelines.data.load import TaskError, load_records, load_tasks
from pipelines.data.pubmed_xml import CorpusError


def records(clusters=10):
    """Three records for each of `clusters` diseases, each with its own drug."""
    return [
        Record(
            f"{c}-{n}",
            abstract="text",
            mesh=(
                MeshHeading(f"Disease {c}", f"D{c}", True, (("drug therapy", False),)),
                MeshHeading(f"Drug {c}", f"E{c}", False, (("therapeutic use", False),)),
            ),
        )
        for c in range(clusters)
        for n in range(3)
    ]


def query_file(path, relevant):
    rows = ({"id": str(n), "text": "t", "relevant": ids} for n, ids in enumerate(relevant))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_tasks_made_from_the_records_are_split():
    said: list[str] = []
    split = load_tasks(DataConfig(tasks="mesh-pico"), records(), said.append)
    assert (len(split.train), len(split.test), split.dropped) == (7, 3, 0)
    assert said == [
        "tasks: 7 to train on, 3 held out, 0 dropped by the split, 0 without relevant records "
        "(0 relevant ids missing)"
    ]


def test_joined_kinds_share_no_heading(tmp_path):
    path = query_file(tmp_path / "q.jsonl", [["0-0"], ["1-0"], ["2-0"], ["3-0"]])
    split = load_tasks(DataConfig(tasks=f"mesh-pico+{path}"), records())
    assert len(split.train) + len(split.test) == 14
    assert not {t for each in split.train for t in each.topics} & {
        t for each in split.test for t in each.topics
    }


def test_the_test_set_can_be_cut_by_the_seed():
    config = DataConfig(test_fraction=0.5, max_test_tasks=2)
    split = load_tasks(config, records())
    assert (len(split.train), len(split.test)) == (5, 2)
    assert load_tasks(config, records()) == split


def test_relevant_ids_outside_the_corpus_are_counted(tmp_path):
    relevant = [["0-0", "gone"], ["1-0"], ["2-0"], ["3-0"], ["gone", "lost"]]
    path = query_file(tmp_path / "q.jsonl", relevant)
    split = load_tasks(DataConfig(tasks=path, test_fraction=0.5), records())
    assert (split.empty, split.missing) == (1, 3)
    kept = {task.id: task.relevant for task in (*split.train, *split.test)}
    assert kept["0"] == frozenset({"0-0"})
    assert len(kept) == 4


def test_tasks_that_do_not_fit_the_corpus(tmp_path):
    path = query_file(tmp_path / "q.jsonl", [["x"], ["y", "z"]])
    with pytest.raises(TaskError, match=r"none of the relevant records.*2 tasks, 3 ids"):
        load_tasks(DataConfig(tasks=path), records())
    with pytest.raises(TaskError, match="makes no mesh-pico task"):
        load_tasks(DataConfig(), [Record("1", abstract="text")])
    with pytest.raises(TaskError, match="too few"):
        load_tasks(DataConfig(), records(1))
    with pytest.raises(CorpusError, match="'mesh-pics' is neither mesh-pico, mesh-pairs, judg"):
        load_tasks(DataConfig(tasks="mesh-pics"), records())


def test_records_are_read_from_a_path(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"pmid": "1", "abstract": "a"}\n{"pmid": "2"}\n')
    assert [r.id for r in load_records(DataConfig(corpus=str(path)))] == ["1"]
    both = load_records(DataConfig(corpus=str(path), abstracts_only=False))
    assert [r.id for r in both] == ["1", "2"]
