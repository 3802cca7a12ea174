"""Label rows and files that may be cut off at any byte."""

import fcntl
import json
import math
from pathlib import Path

import pytest

from pipelines.corag.labels import Label, LabelError, LabelFile, configuration_key, read_labels
from pipelines.corag.types import Configuration, TreeSettings
from tests.pipelines.corag.label_toys import label

CONFIGURATION = Configuration("bm25", TreeSettings())
ROW = Label(
    "q1", "What?\u2028Why?", CONFIGURATION, 0.25, 0.5, ("d#0", "d#2"), 300, 'An "answer"\nof two'
)


def test_a_row_has_all_that_was_promised_and_comes_back() -> None:
    row = json.loads(json.dumps(ROW.to_json()))
    assert row.keys() >= {
        "query", "text", "reranker", "iterations", "c", "cost_weight", "rouge_l", "reward",
        "chunks", "answer",
    }  # fmt: skip
    assert Label.from_json(row) == ROW


def test_keys_tell_all_settings_apart() -> None:
    made = [
        CONFIGURATION,
        Configuration("minilm", TreeSettings()),
        Configuration("bm25", TreeSettings(11)),
        Configuration("bm25", TreeSettings(c=2.401)),
        Configuration("bm25", TreeSettings(cost_weight=0.101)),
        Configuration("bm25", TreeSettings(wave=2)),
        Configuration("bm25", TreeSettings(pick="reward")),
    ]
    assert configuration_key(CONFIGURATION) == "bm25-i10-c2.4-l0.1"
    assert len({configuration_key(one) for one in made}) == len(made)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"rouge_l": None}, "rouge_l is no number"),
        ({"rouge_l": 1.5}, "within 0..1"),
        ({"reward": math.nan}, "reward is no number"),
        ({"c": True}, "c is no number"),
        ({"query": 7}, "query is no text"),
        ({"iterations": 0}, "iterations is 0"),
        ({"pick": "best"}, "pick is 'best'"),
    ],
)
def test_wrong_fields_are_named_with_their_place(tmp_path: Path, change: dict, fault: str) -> None:
    path = tmp_path / "labels.jsonl"
    good = json.dumps(ROW.to_json())
    path.write_text(good + "\n\n" + json.dumps({**ROW.to_json(), "query": "q2", **change}) + "\n")
    with pytest.raises(LabelError, match=rf"labels.jsonl, line 3: .*{fault}"):
        read_labels(path)


def test_missing_fields_doubles_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"query": "q"}\n')
    with pytest.raises(LabelError, match="line 1: no text, reranker, rouge_l"):
        read_labels(path)
    path.write_text((json.dumps(ROW.to_json()) + "\n") * 2)
    with pytest.raises(LabelError, match="line 2: a second label of question q1 under bm25-i10"):
        read_labels(path)
    with pytest.raises(LabelError, match=r"nowhere.jsonl cannot be read"):
        read_labels(tmp_path / "nowhere.jsonl")


def test_a_file_cut_at_any_byte_goes_on_with_whole_labels(tmp_path: Path) -> None:
    rows = [label(f"q{number}") for number in range(3)]
    path = tmp_path / "trials" / "one.jsonl"
    with LabelFile(path, CONFIGURATION) as file:
        for row in rows:
            file.append(row)
            file.append(row)  # a second time changes nothing
    whole = path.read_bytes()
    assert read_labels(path) == rows
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with LabelFile(path, CONFIGURATION) as file:
            known = [row for row in rows if file.get(row.query)]
            assert known == rows[: whole[:length].count(b"\n")]
            for row in rows:
                file.append(row)
        assert path.read_bytes() == whole


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with (
        LabelFile(path, CONFIGURATION),
        pytest.raises(LabelError, match="in use by another sweep"),
    ):
        LabelFile(path, CONFIGURATION, lock_s=0.1)
    LabelFile(path, CONFIGURATION, lock_s=0).__exit__()


def test_labels_of_another_configuration_are_refused_and_the_file_is_let_go(
    tmp_path: Path,
) -> None:
    path = tmp_path / "one.jsonl"
    with LabelFile(path, CONFIGURATION) as file:
        file.append(label("q", iterations=11))
    with pytest.raises(LabelError, match=r"holds labels of bm25-i11-c2.4-l0.1, not of bm25-i10"):
        LabelFile(path, CONFIGURATION)
    with path.open() as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
