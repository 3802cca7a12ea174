import gzip
import json
from pathlib import Path

import pytest

from pipelines.data.failures import CorpusError
from pipelines.data.ir_sets import IRQuery, Passage, load_ir_set

SHARED = Path(__file__).parents[4] / "shared" / "data" / "passages"

CORPUS = [
    {"id": "d1", "title": "Asthma", "text": "Airways narrow."},
    {"id": "d2", "title": "", "text": "Lungs."},
]
QUERIES = [
    {"id": "q1", "text": "what is asthma", "split": "dev"},
    {"id": "q2", "text": "lungs", "split": "test"},
    {"id": "q3", "text": "nothing", "split": "test"},
]
QRELS = [
    {"query_id": "q1", "doc_id": "d1", "relevance": 2},
    {"query_id": "q1", "doc_id": "gone", "relevance": 1},
    {"query_id": "q2", "doc_id": "d2", "relevance": 1},
    {"query_id": "q3", "doc_id": "d2", "relevance": 0},
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def folder(tmp_path):
    lines(tmp_path / "corpus.jsonl", CORPUS)
    lines(tmp_path / "queries.jsonl", QUERIES)
    lines(tmp_path / "qrels.jsonl", QRELS)
    return tmp_path


def test_a_collection_is_read_in_file_order(folder):
    found = load_ir_set(folder)
    assert found.corpus == (Passage("d1", "Asthma", "Airways narrow."), Passage("d2", "", "Lungs."))
    assert found.queries[0] == IRQuery("q1", "what is asthma", "dev")
    assert found.qrels == {"q1": {"d1": 2, "gone": 1}, "q2": {"d2": 1}, "q3": {"d2": 0}}
    assert [query.id for query in found.judged] == ["q1", "q2"]
    assert found.name == folder.name


def test_one_split(folder):
    found = load_ir_set(folder, "test")
    assert [query.id for query in found.queries] == ["q2", "q3"]
    assert set(found.qrels) == {"q2", "q3"}
    with pytest.raises(CorpusError, match=r"no query of split 'prod' \(splits there: dev, test\)"):
        load_ir_set(folder, "prod")


def test_beirs_own_names_and_judgement_tables(tmp_path):
    rows = ({"_id": row["id"], "title": "", "text": row["text"]} for row in CORPUS)
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    lines(tmp_path / "queries.jsonl", [{"_id": q["id"], "text": q["text"]} for q in QUERIES])
    (tmp_path / "qrels").mkdir()
    table = "query-id\tcorpus-id\tscore\nq1\td1\t1\n"
    (tmp_path / "qrels" / "test.tsv").write_text(table)
    (tmp_path / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td2\t1\n")
    assert load_ir_set(tmp_path).qrels == {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {}}
    assert [query.id for query in load_ir_set(tmp_path, "test").queries] == ["q1"]
    (tmp_path / "qrels" / "test.tsv").write_text("q1\td1\n")
    with pytest.raises(CorpusError, match=r"test\.tsv, line 1: expected query-id"):
        load_ir_set(tmp_path)


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("corpus", [CORPUS[0], CORPUS[0]], r"corpus\.jsonl, line 2: id d1 was in line 1 already"),
        ("corpus", [{"title": "no id"}], r"corpus\.jsonl, line 1: no id or _id"),
        ("corpus", [], r"corpus\.jsonl: holds no passage"),
        ("queries", [{"id": "q1", "text": " "}], r"queries\.jsonl, line 1: no text"),
        ("queries", [QUERIES[0], QUERIES[0]], r"queries\.jsonl, line 2: id q1 comes twice"),
        ("qrels", [{"query_id": "q9", "doc_id": "d1", "relevance": 1}], r"line 1: judges query q9"),
        ("qrels", [{**QRELS[0], "relevance": "high"}], r"qrels\.jsonl, line 1: relevance is no"),
        ("qrels", [QRELS[0], {**QRELS[0], "relevance": 1}], r"line 2: .*grade 1, but 2 before"),
    ],
)
def test_errors_name_file_and_line(folder, name, rows, message):
    lines(folder / f"{name}.jsonl", rows)
    with pytest.raises(CorpusError, match=message):
        load_ir_set(folder)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("test.tsv", b"q1\td1\t+-1\n", r"test\.tsv, line 1: relevance is no whole number: '\+-1'"),
        ("test.tsv", b"q\xff\td1\t1\n", r"test\.tsv: cannot be read: 'utf-8'"),
        ("test.tsv.gz", gzip.compress(b"q1\td1\t1\n" * 99)[:20], r"test\.tsv\.gz: cannot be read"),
    ],
    ids=["sign", "encoding", "cut"],
)
def test_judgement_tables_that_are_damaged(folder, name, data, message):
    (folder / "qrels").mkdir()
    (folder / "qrels" / name).write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        load_ir_set(folder)


def test_a_set_is_named_after_its_folder_however_that_is_given(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert load_ir_set(".").name == folder.name


def test_missing_parts(folder):
    (folder / "queries.jsonl").unlink()
    with pytest.raises(CorpusError, match=r"holds no queries\.jsonl \(or queries\.jsonl\.gz\)"):
        load_ir_set(folder)
    with pytest.raises(CorpusError, match="no such folder"):
        load_ir_set(folder / "none")


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"NOT CHECKED: no collections at {SHARED}")
@pytest.mark.parametrize(
    ("name", "passages", "queries", "judged", "judgements"),
    [
        ("cisi", 1460, 112, 76, 3114),
        ("cranfield", 1400, 225, 225, 1837),
        ("med", 1033, 30, 30, 696),
        ("nfcorpus_preprocessed", 3395, 650, 647, 23719),
        ("scifact", 5183, 809, 809, 919),
    ],
)
def test_the_real_collections(name, passages, queries, judged, judgements):
    found = load_ir_set(SHARED / name)
    assert (len(found.corpus), len(found.queries), len(found.judged)) == (passages, queries, judged)
    assert sum(map(len, found.qrels.values())) == judgements


def test_a_split_of_a_set_without_splits_is_refused(folder):
    lines(folder / "queries.jsonl", [{"id": row["id"], "text": row["text"]} for row in QUERIES])
    assert len(load_ir_set(folder).queries) == 3
    with pytest.raises(CorpusError, match=r"no query of split 'dev'.*none"):
        load_ir_set(folder, "dev")
