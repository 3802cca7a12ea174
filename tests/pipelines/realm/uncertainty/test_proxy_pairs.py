"""Pairs of a step and the confidence that was stated for it."""

import asyncio
import json

import pytest

from actors.rollout.sessions.types import Usage
from pipelines.data.failures import CorpusError
from pipelines.realm.types import GO_ON, Chain, Status, Step, StepRecord, Uncertainty
from pipelines.realm.uncertainty.command import asking_meter, read_traces, train_and_keep
from pipelines.realm.uncertainty.proxy import ProxyError
from pipelines.realm.uncertainty.proxy_pairs import (
    ProxyPair,
    Trace,
    collect_from_texts,
    pairs_of,
    read_pairs,
    write_pairs,
)
from tests.pipelines.realm.uncertainty.asked import AskedSession, Spread


def test_pairs_of_measured_steps():
    measured = (
        Uncertainty(0.5, verb=0.2, ent=0.4),
        None,
        Uncertainty(0.5, verb=None, ent=0.6),
        Uncertainty(0.5, verb=1.0, ent=0.8),
    )
    records = tuple(
        StepRecord(Step(i, f"In Oslo {i}."), GO_ON, uncertainty)
        for i, uncertainty in enumerate(measured)
    )
    chain = Chain("q", "Where?", "", Status.ANSWERED, records, "", Usage(), 0.0)
    first, last = pairs_of([chain])
    assert first == ProxyPair("q", 0, "In Oslo 0.", pytest.approx(0.8), 1, pytest.approx(0.4))
    assert last == ProxyPair("q", 3, "In Oslo 3.", 0.0, 1, pytest.approx(0.6))


def test_what_is_written_is_read(tmp_path):
    made = [ProxyPair("q", 0, "In Oslo – now.\n", 0.25, 1, None), ProxyPair("q", 1, "x", 1, 0, 0.5)]
    write_pairs(tmp_path / "new" / "pairs.jsonl", made)
    assert read_pairs(tmp_path / "new" / "pairs.jsonl") == made


def test_entities_and_steps_are_counted_where_missing(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"chain": "q", "text": "Oslo, Rome", "confidence": 1}\n')
    assert read_pairs(path) == [ProxyPair("q", 0, "Oslo, Rome", 1.0, 2, None)]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"text": " "}, "no text"),
        ({"text": 3}, "no text"),
        ({"chain": None}, "no chain"),
        ({"confidence": None}, "no confidence"),
        ({"confidence": 85}, "confidence is not from 0 to 1: 85"),
        ({"confidence": True}, "confidence is not from 0 to 1"),
        ({"recent": -1}, "recent is not from 0 to 1"),
        ({"entities": -1}, "entities is not a number from 0"),
        ({"step": "one"}, "step is not a number from 0"),
    ],
)
def test_bad_lines_are_named(tmp_path, change, fault):
    path = tmp_path / "pairs.jsonl"
    good = {"chain": "q", "step": 0, "text": "In Oslo.", "confidence": 0.5}
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
    with pytest.raises(CorpusError, match=f"line 2: {fault}"):
        read_pairs(path)


class Engine:
    """Opens sessions that state what the texts are worth: 10 less for each step."""

    def __init__(self):
        self.closed = 0

    def open(self, prompt, sampling, *, key="", seed=0):
        engine = self

        class Fading(AskedSession):
            def append(self, text):
                self.text += text
                self._confidence = str(100 - 10 * self.text.count("."))

            async def close(self):
                engine.closed += 1

        assert "Where?" in prompt
        return Fading(text="")


def test_a_model_is_shown_traces_step_by_step():
    engine = Engine()
    traces = [Trace("a", "Where?", ("In Oslo.", " Or Rome.")), Trace("b", "Where?", ("So.",))]
    meter = asking_meter(Spread(Oslo=10, Rome=1))
    found = asyncio.run(collect_from_texts(engine, traces, meter))
    assert found == [
        ProxyPair("a", 0, "In Oslo.", pytest.approx(0.9), 1, pytest.approx(0.5)),
        ProxyPair("a", 1, " Or Rome.", pytest.approx(0.8), 1, pytest.approx(0.25)),
        ProxyPair("b", 0, "So.", pytest.approx(0.9), 0, None),
    ]
    assert engine.closed == 2
    assert meter.costs.skipped == 0


def test_traces_are_cut_into_steps(tmp_path):
    from pipelines.realm.segment.rules import EverySentence

    path = tmp_path / "traces.jsonl"
    path.write_text(
        '{"id": "a", "question": "Where?", "trace": "In Oslo. Or Rome. Or Lyon."}\n'
        '{"trace": "So."}\n{"trace": "Not read."}\n'
    )
    first, second = read_traces(path, EverySentence, most_steps=2, most_traces=2)
    assert (first.id, first.question) == ("a", "Where?")
    assert [step.strip() for step in first.steps] == ["In Oslo.", "Or Rome."]
    assert second == Trace("2", "", ("So.",))
    path.write_text('{"id": "a"}\n')
    with pytest.raises(CorpusError, match="line 1: no trace or text"):
        read_traces(path, EverySentence)
    path.write_text("")
    with pytest.raises(CorpusError, match="holds no trace"):
        read_traces(path, EverySentence)


def test_nothing_to_learn_from(tmp_path):
    with pytest.raises(ProxyError, match="never replied"):
        train_and_keep([], tmp_path, encoder="hashed")
