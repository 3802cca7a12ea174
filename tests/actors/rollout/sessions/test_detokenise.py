"""Ids become whole characters, whatever ids they are."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.detokenise import Detokeniser


class Bytes:
    """The plainest byte-level decoder: an id is a byte."""

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode(errors="replace")


class Blanks:
    """As SentencePiece: a leading blank of the first token is dropped."""

    words = (" the", " cat", "s", " sat")

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.words[i] for i in ids).removeprefix(" ")


def test_a_character_comes_with_its_last_byte() -> None:
    """ "aé" is 61 c3 a9."""
    detokeniser = Detokeniser(Bytes())
    assert [detokeniser.push(byte) for byte in b"a\xc3\xa9"] == ["a", None, "é"]
    assert detokeniser.flush() is None


def test_half_a_character_at_the_end_is_given_when_asked_for() -> None:
    detokeniser = Detokeniser(Bytes())
    assert [detokeniser.push(byte) for byte in b"\xf0\x9f"] == [None, None]
    assert detokeniser.flush() == "�"


def test_bytes_that_are_no_text_do_not_wait_for_ever() -> None:
    detokeniser = Detokeniser(Bytes())
    given_out = [detokeniser.push(0xFF) for _ in range(12)]
    assert sum(text is not None for text in given_out) >= 2


def test_blanks_that_depend_on_the_context() -> None:
    assert [Detokeniser(Blanks()).push(0)] == ["the"]
    detokeniser = Detokeniser(Blanks(), context=[0])
    assert [detokeniser.push(i) for i in (1, 2, 3)] == [" cat", "s", " sat"]


@given(st.text(), st.text(max_size=20))
def test_all_texts_joined_are_the_text(context: str, text: str) -> None:
    context, text = (t.encode("utf-8", "replace").decode() for t in (context, text))
    detokeniser = Detokeniser(Bytes(), context.encode())
    parts = [detokeniser.push(byte) for byte in text.encode()]
    assert "".join(part or "" for part in parts) == text
    assert detokeniser.flush() is None
    assert not any("�" in (part or "") for part in parts) or "�" in text


@given(st.binary(max_size=40))
def test_any_bytes_end(data: bytes) -> None:
    detokeniser = Detokeniser(Bytes())
    parts = [detokeniser.push(byte) or "" for byte in data] + [detokeniser.flush() or ""]
    kept = data.decode(errors="ignore")
    assert not data or "".join(parts)
    if b"\xff" not in data and kept.encode() == data:
        assert "".join(parts) == kept
