import gc

import pytest

from actors.search.index import headings, write_part
from actors.search.index.headings import Headings
from actors.search.index.pubmed import batches, schema
from actors.search.types import MeshHeading, Record

SMOKING = MeshHeading("Smoking", "D1", False, (("adverse effects", True), ("therapy", False)))
LUNG = MeshHeading("Lung", "D2", True)
RATS = MeshHeading("Rats", "D3", False, (("therapy", False),))
RECORDS = [
    Record("1", mesh=(SMOKING, LUNG)),
    Record("2"),
    Record("3", mesh=(RATS, SMOKING)),
    Record("4", mesh=(LUNG,)),
]
WORDS = [
    ["Smoking", "adverse effects", "therapy", "Lung"],
    [],
    ["Rats", "therapy", "Smoking", "adverse effects", "therapy"],
    ["Lung"],
]
WHOLE = [
    ["Smoking", "Smoking adverse effects", "Smoking therapy", "Lung"],
    [],
    ["Rats", "Rats therapy", "Smoking", "Smoking adverse effects", "Smoking therapy"],
    ["Lung"],
]
MAJOR = [
    ["Smoking adverse effects", "Smoking", "Lung"],
    [],
    ["Smoking adverse effects", "Smoking"],
    ["Lung"],
]
QUALIFIERS = [
    ["adverse effects", "therapy"],
    [],
    ["therapy", "adverse effects", "therapy"],
    [],
]
MAJOR_QUALIFIERS = [["adverse effects"], [], ["adverse effects"], []]
EXPECTED = [WORDS, WHOLE, MAJOR, QUALIFIERS, MAJOR_QUALIFIERS]


def test_headings_become_five_columns():
    assert [list(column) for column in Headings().columns(RECORDS)] == EXPECTED


@pytest.mark.parametrize("most", [0, 4, 1000])
def test_batches_share_what_is_remembered_and_rows_stay_as_they_were(monkeypatch, most):
    monkeypatch.setattr(headings, "_MOST", most)
    memory = Headings()
    found = [memory.columns(RECORDS[i : i + 1]) for i in (0, 1, 2, 3)]
    for number, expected in enumerate(EXPECTED):
        assert [columns[number][0] for columns in found] == expected


def test_records_without_headings_have_empty_rows():
    assert [list(column) for column in Headings().columns(RECORDS[1:2])] == [[[]]] * 5


def test_rows_can_be_sliced_and_counted_from_the_end():
    rows = Headings().columns(RECORDS)[0]
    assert rows[:2] == WORDS[:2]
    assert rows[-1] == ["Lung"]
    with pytest.raises(IndexError):
        rows[4]


def test_the_garbage_collector_is_as_it_was_after_a_part_and_after_an_error(tmp_path):
    write_part(tmp_path / "part", schema(), batches(RECORDS))
    assert gc.isenabled()
    with pytest.raises(ValueError, match="line feed"):
        write_part(tmp_path / "part", schema(), batches([Record("a\nb")]))
    assert gc.isenabled()
