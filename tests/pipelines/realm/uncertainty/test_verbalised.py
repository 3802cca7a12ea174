"""Replies to the question how sure the model is."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.types import Piece
from pipelines.realm.uncertainty.verbalised import ask_confidence, parse_confidence


@pytest.mark.parametrize(
    ("reply", "confidence"),
    [
        ("85", 0.85),
        (" 85%\n\nNext, 12 things", 0.85),
        ("85/100", 0.85),
        ("9 out of 10", 0.9),
        ("4/5", 0.8),
        ("1/3", None),
        ("80-90", 0.85),
        ("between 60 to 70.", 0.65),
        ("90-80", None),
        ("0.85", 0.85),
        (".5", 0.5),
        ("1", 0.01),
        ("1.0", 1.0),
        ("85.5", 0.855),
        ("100", 1.0),
        ("0", 0.0),
        ("101", None),
        ("-5", None),
        ("1000", None),
        ("Confidence: 75, since 2 of 3 hold", 0.75),
        ("I would say 85% sure.", 0.85),
        ("I am 60 percent sure that 3 are", 0.6),
        ("40% or 60%", None),
        ("In 1987, 12 people", None),
        ("3 people, 4 dogs", 0.03),
        ("there were 3 people, 4 dogs", None),
        ("1. 85", 0.85),
        ("<think>5 or 6?</think>\n90", 0.9),
        ("<think>90, I think", None),
        ("**90**", 0.9),
        ("Eighty-five", 0.85),
        ("one hundred", 1.0),
        ("ninety", 0.9),
        ("fairly high", None),
        ("", None),
        ("\n\n70", 0.7),
        ("It is 70.\n80", 0.7),
        ("step2", None),
    ],
)
def test_reads_a_stated_confidence(reply, confidence):
    found = parse_confidence(reply)
    assert found == (None if confidence is None else pytest.approx(confidence))


@given(st.integers(0, 100), st.sampled_from(["{}", " {}%", "{}/100", "Confidence: {}", "{}."]))
def test_every_number_in_every_usual_form(number, form):
    assert parse_confidence(form.format(number)) == pytest.approx(number / 100)


@given(st.text() | st.from_regex(r"[-.,/%\d a-z\n]{0,20}", fullmatch=True))
def test_any_reply_gives_a_share_or_nothing(reply):
    found = parse_confidence(reply)
    assert found is None or 0 <= found <= 1


@pytest.mark.parametrize(
    ("piece", "confidence"),
    [
        (Piece(" 85", finish="length"), 0.85),
        (Piece("I would say 8", finish="length"), None),
        (Piece("I would say 8", finish="stop"), 0.08),
        (Piece("I would say 85%", finish="length"), 0.85),
    ],
)
def test_a_number_that_may_be_broken_off_is_none(piece, confidence):
    class OneReply:
        async def ask(self, suffix, sampling, *, n=1, seed=0, at=None):
            assert (at, n) == (7, 1)
            return [piece]

    assert asyncio.run(ask_confidence(OneReply(), 7)) == (confidence, piece.text)
