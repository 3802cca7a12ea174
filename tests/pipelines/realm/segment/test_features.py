import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.segment.candidates import candidates
from pipelines.realm.segment.features import (
    KINDS,
    LOOKS,
    PIECE,
    PLACES,
    Reader,
    Vocabulary,
    kind,
    look,
    place,
    read,
)

TEXTS = st.text(alphabet="ab AB.1,\n\té—<>/\ud800", max_size=80)
VOCABULARY = Vocabulary.learn(["the cat and the hat. " * 9, "the 12 cats\n" * 9], 300)


def test_pieces() -> None:
    text = "So  x_1 = 3.14,\n\nfine ."
    assert [match[0] for match in PIECE.finditer(text)] == [
        "So", "  ", "x", "_", "1", " =", " 3", ".", "1", "4", ",", "\n", "\n", "fine", " .",
    ]  # fmt: skip


@given(st.text(max_size=80))
def test_pieces_are_the_text(text: str) -> None:
    assert "".join(match[0] for match in PIECE.finditer(text)) == text


@pytest.mark.parametrize(
    ("piece", "name"),
    [(" the", "lower"), ("The", "title"), (" THE", "upper"), ("7", "digit"), (" +", "sign"),
     ("\n", "line"), ("  ", "space"), ("é", "lower")],
)  # fmt: skip
def test_looks(piece: str, name: str) -> None:
    assert LOOKS[look(piece)] == name


def test_every_candidate_has_its_place() -> None:
    text = "One.\n\n- Two\n3. Let me see it. Wait</think>\nSo it is.  \nEnd"
    found = candidates(text)
    assert len({place(each) for each in found}) == 6
    assert all(0 <= place(each) < PLACES and 0 <= kind(each) < KINDS for each in found)


def test_subwords_learned_are_whole_and_others_are_spelt() -> None:
    assert len(VOCABULARY.ids(" the")) == 1
    assert len(VOCABULARY.ids("zzz")) == 3
    assert len(VOCABULARY.ids("é")) == 2  # bytes
    assert 0 not in VOCABULARY.ids("the")
    assert Vocabulary(VOCABULARY.json).ids(" the") == VOCABULARY.ids(" the")


def test_a_candidate_sits_on_the_first_token_behind_it() -> None:
    reading = read("the cat.\n\nthe hat", VOCABULARY)
    # the, cat, ., two line breaks
    assert reading.tokens_of == [3]
    assert reading.starts[3] == len("the cat.")


@given(TEXTS, st.integers(0, 2**32))
def test_pieces_of_any_size_are_read_alike(text: str, seed: int) -> None:
    rng, reader, at = random.Random(seed), Reader(VOCABULARY), 0
    while at < len(text):
        size = rng.choice((1, 2, 40))
        before = len(reader.reading)
        reader.feed(text[at : at + size])
        assert len(reader.reading) >= before
        at += size
    reader.finish()
    assert reader.reading == read(text, VOCABULARY)
    assert all(at < len(reader.reading) for at in reader.reading.tokens_of)
