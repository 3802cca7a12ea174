import json
from pathlib import Path

import pytest

from pipelines.data.failures import CorpusError
from pipelines.realm.segment.candidates import candidates
from pipelines.realm.segment.data import load_traces, split_traces
from pipelines.realm.segment.opening import SegmenterError
from tests.pipelines.realm.segment.toys import write_toys

SHARED = Path(__file__).parents[5] / "shared" / "data" / "traces"
TEXT = "One is odd. Two is even. Three is odd. So be it."


def load(path: Path, **values: object):
    row = {"id": "a", "trace": TEXT, **values}
    path.write_text(json.dumps(row) + "\n", "utf-8")
    return load_traces(path)


def segments(*labels: str, text: str = TEXT) -> list[dict[str, str]]:
    parts = [part.rstrip(".") + "." for part in text.split(". ")]
    return [{"text": part, "label": label} for part, label in zip(parts, labels, strict=True)]


def test_boundaries_are_where_the_label_changes(tmp_path: Path) -> None:
    (trace,) = load(tmp_path / "t.jsonl", segments=segments("count", "count", "3. count", "end"))
    assert [TEXT[:each] for each in trace.boundaries] == ["One is odd. Two is even. Three is odd."]
    assert [each.label for each in trace.segments] == ["count", "count", "count", "end"]
    assert all(trace.knows(each.offset) for each in candidates(TEXT))


def test_segments_without_labels_are_steps(tmp_path: Path) -> None:
    (trace,) = load(tmp_path / "t.jsonl", segments=segments("", "", "", ""))
    assert [TEXT[:each] for each in trace.boundaries] == [
        "One is odd.",
        "One is odd. Two is even.",
        "One is odd. Two is even. Three is odd.",
    ]


def test_offsets_given(tmp_path: Path) -> None:
    given = [{"start": 0, "end": 25, "label": "a"}, {"start": 25, "end": 38, "label": "b"}]
    (trace,) = load(tmp_path / "t.jsonl", segments=given)
    assert TEXT[: trace.boundaries[0]] == "One is odd. Two is even."
    assert not trace.knows(38)  # nobody says what "So be it." is
    (trace,) = load(tmp_path / "t.jsonl", boundaries=[12, 38])
    assert trace.boundaries == (11, 38)


def test_what_is_not_found_is_not_known(tmp_path: Path) -> None:
    entries = segments("a", "b", "a", "b")
    entries[1]["text"] = "Two is prime."
    (trace,) = load(tmp_path / "t.jsonl", segments=entries)
    known = [trace.knows(each.offset) for each in candidates(TEXT)]
    assert known == [False, False, True]
    assert trace.boundaries == (38,)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"trace": " "}, "no trace"),
        ({"segments": ["x"]}, "not a list of objects"),
        ({"segments": [{"start": 5, "end": 99}]}, "is not one of"),
        ({"segments": [{"start": 5, "end": 9}, {"start": 3, "end": 12}]}, "must be in order"),
        ({"boundaries": [0]}, "not offsets inside"),
        ({"boundaries": [9, 9]}, "ascending"),
        ({}, "no trace has"),
    ],
)
def test_bad_traces(tmp_path: Path, values: dict[str, object], why: str) -> None:
    with pytest.raises(SegmenterError, match=why):
        load(tmp_path / "t.jsonl", **values)


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(CorpusError, match="cannot be read"):
        load_traces(path)
    path.write_text('{"id": "a", "trace": "x", "boundaries": []}\n' * 2, "utf-8")
    with pytest.raises(SegmenterError, match="line 2: id 'a' was that of line 1"):
        load_traces(path)


def test_a_split_is_by_trace_and_knows_no_order(tmp_path: Path) -> None:
    traces = load_traces(write_toys(tmp_path / "t.jsonl"))
    split = split_traces(traces, seed=1)
    assert split == split_traces(traces[::-1], seed=1)
    assert split != split_traces(traces, seed=2)
    ids = [trace.id for part in (split.train, split.dev, split.test) for trace in part]
    assert sorted(ids) == sorted(trace.id for trace in traces)
    assert (len(split.train), len(split.dev), len(split.test)) == (11, 3, 6)
    with pytest.raises(SegmenterError, match="more labelled traces"):
        split_traces(traces[:2], seed=1)


@pytest.mark.skipif(not SHARED.is_dir(), reason="shared traces are not here")
def test_human_labels_change_at_candidates() -> None:
    traces = load_traces(SHARED / "r1_schoenfeld_labelled.jsonl")
    places = [{each.offset for each in candidates(trace.text)} for trace in traces]
    gold = sum(len(trace.boundaries) for trace in traces)
    found = sum(len(at & set(t.boundaries)) for at, t in zip(places, traces, strict=True))
    assert (len(traces), gold) == (26, 1022)
    assert found / gold > 0.97
