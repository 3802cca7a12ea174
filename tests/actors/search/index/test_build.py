import gc
import json
import sys
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from actors.search.index import (
    IndexMismatchError,
    build_documents,
    build_index,
    corpus_hash,
    open_index,
    pubmed_document,
    verify,
)
from actors.search.index.manifest import FORMAT_VERSION
from actors.search.index.pubmed import schema
from actors.search.lookup import Atom
from actors.search.types import MeshHeading, Record

RECORDS = [
    Record("1", "red rat", "Ménière", published=date(2001, 1, 1)),
    Record("2", "blue rat", published=date(2002, 1, 1)),
]


def found(index, word):
    return index.first(index.find(Atom(("title", "abstract"), (word,))), 10)


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
    [
        ({"schema_version": 999}, f"999.*{FORMAT_VERSION}"),
        ({"records": 3}, "3 records.*2"),
        ({"x": 1}, "manifest"),
    ],
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
    monkeypatch.setattr(sys.modules["actors.search.index.merge"], "save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_index(RECORDS[:1], tmp_path / "index")
    monkeypatch.undo()
    assert found(open_index(tmp_path / "index"), "rat") == ["2", "1"]
    assert [p.name for p in tmp_path.iterdir()] == ["index"]


def test_ids_that_are_no_numbers_come_after_numbers():
    records = [Record(i, "rat") for i in ("NCT1", "7", "00070", "NCT2", "9" * 5000)]
    assert found(build_index(records), "rat") == ["9" * 5000, "00070", "7", "NCT2", "NCT1"]


FULL = Record(
    "7",
    "Ménière\x00disease\ud800",
    "line\nbreak",
    (("AIM", "to see"),),
    ("Smith J", "WHO Group"),
    "The Journal",
    "J",
    date(2001, 2, 3),
    "day",
    date(2002, 1, 1),
    date(2003, 1, 1),
    ("Review", "Journal Article"),
    (MeshHeading("Rats", "D1", False, (("blood", True), ("genetics", False))), MeshHeading("Mice")),
    ("Water",),
    ("inner ear",),
    ("eng", "fre"),
    ("1", "2"),
    "10.1000/ABC.1",
    ("Smith, Jane", "WHO Group"),
    ("Oslo",),
    "12",
    "3",
    "1-9",
    "1234-5678",
    "0012345",
    "Norway",
    "MEDLINE",
    date(2001, 1, 1),
    date(2001, 1, 2),
    date(2001, 1, 3),
    date(2001, 1, 4),
    (("pmc", "PMC77"), ("pii", "S1 / 2")),
)


def test_a_record_comes_back_as_it_went_in():
    index = build_index([FULL, *RECORDS])
    assert index.record("7") == replace(FULL, title="Ménière\x00disease?")
    assert [index.record(r.id) for r in RECORDS] == RECORDS
    with pytest.raises(KeyError, match="'8'"):
        index.record("8")


@pytest.mark.parametrize(
    ("store", "value"),
    [
        ("title", "disease"),
        ("abstract", "break"),
        ("authors_exact", "smith j"),
        ("first_author_exact", "smith j"),
        ("last_author_exact", "who group"),
        ("full_authors_exact", "smith jane"),
        ("journal_exact", "the journal"),
        ("journal_exact", "j"),
        ("publication_types_exact", "journal article"),
        ("mesh", "genetics"),
        ("mesh_exact", "rats"),
        ("mesh_exact", "rats genetics"),
        ("major_exact", "rats"),
        ("major_exact", "rats blood"),
        ("qualifier_exact", "genetics"),
        ("major_qualifier_exact", "blood"),
        ("chemicals_exact", "water"),
        ("keywords_exact", "inner ear"),
        ("languages_exact", "fre"),
        ("ids_exact", "10.1000/abc.1"),
        ("ids_exact", "pmc77"),
        ("ids_exact", "s1 / 2"),
        ("affiliations", "oslo"),
        ("volume_exact", "12"),
        ("issue_exact", "3"),
        ("pages_exact", "1 9"),
        ("issn_exact", "1234 5678"),
        ("issn_exact", "0012345"),
        ("country_exact", "norway"),
        ("status_exact", "medline"),
        ("facts_exact", "has structured abstract"),
        ("facts_exact", "has mesh"),
        ("id", "7"),
    ],
)
def test_each_column_holds_its_part_of_a_record(full, store, value):
    atom = Atom((store,), (value,))
    assert full.first(full.find(atom), 9) == ["7"]
    assert full.count(atom) == 1


@pytest.mark.parametrize(
    ("store", "value"),
    [
        ("major_exact", "mice"),
        ("major_exact", "rats genetics"),
        ("major_qualifier_exact", "genetics"),
        ("last_author_exact", "smith j"),
        ("authors_exact", ""),
        ("volume_exact", ""),
        ("facts_exact", "has nothing"),
        ("no_such_column", "rats"),
    ],
)
def test_and_nothing_else(full, store, value):
    assert full.count(Atom((store,), (value,))) == 0


@pytest.fixture(scope="module")
def full():
    return build_index([FULL, *RECORDS])


def test_dates_of_every_kind_are_found_and_undated_records_are_in_none(full):
    day = date(2001, 1, 4)
    assert full.first(full.dated("mesh_dated", day, day), 9) == ["7"]
    assert not full.dated("mesh_dated", date(2001, 1, 5), date.max)
    assert list(full.dated("published", date.min, date(2001, 1, 1))) == [2]
    assert list(full.dated("published", date(2001, 1, 2), date.max)) == [0, 1]
    assert not full.dated("published", date(2003, 1, 1), date(2001, 1, 1))
    assert full.ids[np.array([2, 0])].tolist() == ["1", "2"]


def test_fields_that_are_not_searchable_leave_no_column():
    index = build_index(RECORDS, fields=("title",))
    assert index.stores == {"title", "id"}
    assert index.count(Atom(("abstract", "title"), ("meniere",))) == 0


def test_verify_names_a_changed_a_missing_and_no_file(tmp_path):
    build_index(RECORDS, tmp_path / "index")
    assert verify(tmp_path / "index") == []
    changed = tmp_path / "index" / "shard-00000" / "title.column"
    data = bytearray(changed.read_bytes())
    data[-1] ^= 1
    changed.write_bytes(data)
    (tmp_path / "index" / "shard-00000" / "store").unlink()
    faults = verify(tmp_path / "index")
    assert len(faults) == 2
    assert "store is missing" in faults[0]
    assert "title.column is damaged" in faults[1]


@pytest.mark.parametrize("keep", [0, 100, 1000])
def test_a_file_that_was_cut_short_is_named_when_opened(tmp_path, keep):
    build_index(RECORDS, tmp_path / "index")
    path = tmp_path / "index" / "shard-00000" / "title.column"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(IndexMismatchError, match=r"title\.column is (damaged|missing or empty)"):
        open_index(tmp_path / "index")


def test_an_index_in_memory_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    index = build_index(RECORDS)
    assert found(index, "rat") == ["2", "1"]
    assert len(list(tmp_path.iterdir())) == 1
    del index
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_records_as_documents_make_the_same_index(tmp_path):
    first = build_index([FULL, *RECORDS], tmp_path / "records").manifest
    documents = map(pubmed_document, [FULL, *RECORDS])
    second = build_documents(documents, tmp_path / "documents", schema()).manifest
    assert second.files == first.files
    assert set(pubmed_document(FULL, ("title",)).text) == {"title"}
