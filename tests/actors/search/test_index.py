import json
from dataclasses import replace
from datetime import date

import pytest

from actors.search import index as index_module
from actors.search.engine import PubMedEngine
from actors.search.index import IndexMismatchError, build_index, corpus_hash, open_index
from actors.search.types import Record, SearchRequest

RECORDS = [
    Record("1", "red rat", "Ménière", published=date(2001, 1, 1)),
    Record("2", "blue rat", published=date(2002, 1, 1)),
]


def found(index, query):
    return list(PubMedEngine(index).search(SearchRequest(query, 10)).ids)


def test_an_index_on_disk_answers_like_one_in_memory(tmp_path):
    built = build_index(RECORDS, tmp_path / "deep" / "index", corpus="rats")
    opened = open_index(tmp_path / "deep" / "index", corpus_hash(RECORDS), built.fields)
    for index in (built, opened, build_index(RECORDS)):
        assert found(index, "rat") == ["2", "1"]
        assert found(index, "meniere") == ["1"]
        assert index.size == 2
        assert index.fetch(["1"]) == [("red rat", "Ménière")]
    manifest = json.loads((tmp_path / "deep" / "index" / "manifest.json").read_text())
    assert manifest["records"] == 2
    assert manifest["corpus"] == "rats"


def test_the_same_id_again_replaces_the_former_record():
    index = build_index([*RECORDS, Record("1", "green frog")])
    assert index.size == 2
    assert found(index, "rat") == ["2"]
    assert found(index, "frog") == ["1"]


def test_an_empty_corpus_is_named():
    with pytest.raises(ValueError, match="'nothing' has no records"):
        build_index([], corpus="nothing")


def test_an_unknown_field_is_named():
    with pytest.raises(ValueError, match="titel"):
        build_index(RECORDS, fields=("titel",))


def test_hash_ignores_order_and_sees_every_change():
    assert corpus_hash(RECORDS) == corpus_hash(RECORDS[::-1])
    assert corpus_hash(RECORDS) != corpus_hash([replace(RECORDS[0], doi="x"), RECORDS[1]])


def test_an_index_of_another_corpus_is_refused_and_both_are_named(tmp_path):
    build_index(RECORDS, tmp_path / "index", corpus="rats")
    other = corpus_hash(RECORDS[:1])
    with pytest.raises(IndexMismatchError, match=rf"'rats'.*{corpus_hash(RECORDS)}.*{other}"):
        open_index(tmp_path / "index", other)
    with pytest.raises(IndexMismatchError, match=r"abstract.*wanted were title"):
        open_index(tmp_path / "index", fields=("title",))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"schema_version": 999}, "999.*1"), ({"records": 3}, "3 records.*2"), ({"x": 1}, "manifest")],
)
def test_a_manifest_that_does_not_fit_is_refused(tmp_path, change, message):
    build_index(RECORDS, tmp_path / "index")
    path = tmp_path / "index" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(IndexMismatchError, match=message):
        open_index(tmp_path / "index")


def test_a_missing_index_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no index at"):
        open_index(tmp_path / "index")


def test_building_again_replaces_the_index_and_nothing_else(tmp_path):
    build_index(RECORDS, tmp_path / "index")
    assert found(build_index(RECORDS[:1], tmp_path / "index"), "rat") == ["1"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    with pytest.raises(FileExistsError, match="thesis"):
        build_index(RECORDS, tmp_path / "thesis")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["index", "thesis"]


def test_a_build_that_fails_leaves_the_former_index(tmp_path, monkeypatch):
    build_index(RECORDS, tmp_path / "index")
    monkeypatch.setattr(index_module, "to_document", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_index(RECORDS[:1], tmp_path / "index")
    monkeypatch.undo()
    assert found(open_index(tmp_path / "index"), "rat") == ["2", "1"]
    assert [p.name for p in tmp_path.iterdir()] == ["index"]


def test_ids_that_are_no_numbers_come_after_numbers():
    records = [Record(i, "rat") for i in ("NCT1", "7", "00070", "NCT2", "9" * 5000)]
    assert found(build_index(records), "rat") == ["9" * 5000, "00070", "7", "NCT2", "NCT1"]
