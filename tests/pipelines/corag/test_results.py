import dataclasses
import json

import pytest

from pipelines.corag.pace import Pace
from pipelines.corag.results import Results, ResultsError, Row


def row(question="q1", method="corag", budget=100, setup="s", **values):
    made = Row(
        question=question,
        method=method,
        budget=budget,
        setup=setup,
        rouge_1=0.5,
        rouge_2=0.25,
        rouge_l=0.4,
        reward=0.75,
        own_reward=0.75,
        cost=90,
        chunks=("d#1", "d#0"),
        answer="Yes.",
        citations=("d#1",),
        prompt_tokens=120,
        sequences=30,
        scored=20,
        truncated=0,
        iterations=10,
        reranker="bm25",
        settings={"c": 2.4},
        seconds={"embed": 0.1, "generate": None},
    )
    return dataclasses.replace(made, **values)


def add(path, *rows, setup="s"):
    with Results(path, setup) as results:
        results.add(rows)


def read(path, setup="s"):
    with Results(path, setup) as results:
        return results.rows


def test_rows_come_back_as_they_were(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    add(path, row(), row(method="naive"))
    assert list(read(path).values()) == [row(), row(method="naive")]
    assert ("q1", "corag", 100) in read(path)
    assert ("q1", "corag", 200) not in read(path)


def test_rows_of_another_setup_stay_but_do_not_count(tmp_path):
    path = tmp_path / "rows.jsonl"
    add(path, row(setup="before"), setup="before")
    with Results(path, "now") as now:
        assert not now.rows
        assert now.passed_over == 1
        now.add([row(setup="now")])
    assert len(read(path, "before")) == len(read(path, "now")) == 1


def test_a_row_is_written_once(tmp_path):
    path = tmp_path / "rows.jsonl"
    add(path, row())
    add(path, row(rouge_l=0.9), row(question="q2"), row(question="q2"))
    kept = read(path)
    assert kept["q1", "corag", 100].rouge_l == 0.4
    assert len(kept) == len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_line_that_a_killed_process_left_half_written_is_passed_over(tmp_path, cut):
    path = tmp_path / "rows.jsonl"
    add(path, row(), row(question="q2"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert ("q1", "corag", 100) in read(path)
    add(path, row(question="q2"), row(question="q3"))
    assert {key[0] for key in read(path)} == {"q1", "q2", "q3"}
    assert sum(_reads(line) for line in path.read_text().splitlines()) == 3


def test_two_evaluations_do_not_write_one_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    with Results(path, "s"), pytest.raises(ResultsError, match="in use by another evaluation"):
        Results(path, "s")
    assert read(path) == {}


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match=r"file/rows\.jsonl cannot be written"):
        Results(tmp_path / "file" / "rows.jsonl", "s")


def _reads(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def test_work_that_was_shared_is_paid_at_the_measured_pace():
    pace = Pace()
    assert pace.alone("search", "a", 10) is None
    pace.measured("search", "a", seconds=2.0, units=4)  # 0.5 s a unit
    pace.measured("search", "b", seconds=1.0, units=8)  # 0.125 s a unit; of both 3 s for 12
    assert pace.alone("search", "a", 8, done=4) == 4.0
    assert pace.alone("search", "b", 8, done=8) == 1.0
    # Of 100 units 4 were really done: too few to speak for the group.
    assert pace.alone("search", "a", 100, done=4) == 25.0
    assert pace.alone("search", "c", 4) == 1.0
    assert pace.alone("search", "c", 0) == 0.0
    assert pace.alone("generate", "a", 1) is None
    pace.measured("generate", "a", seconds=1.0, units=0)
    assert pace.alone("generate", "a", 1) is None
