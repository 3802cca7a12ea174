import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.types import EngineError, Piece
from pipelines.realm.writing import StepWriter, WrittenStep, words_of_tokens
from tests.pipelines.realm.scripted import EveryFullStop, ScriptedSession


def writer_of(
    session: ScriptedSession, *, late: int = 2, max_tokens: int = 10_000, piece_s: float = 60.0
) -> StepWriter:
    return StepWriter(session, EveryFullStop(late), len, max_tokens, piece_s)


async def all_steps(writer: StepWriter) -> list[WrittenStep]:
    found = []
    while (step := await writer.next_step()) is not None:
        found.append(step)
    return found


@given(
    st.text(alphabet="ab. \n", max_size=40),
    st.integers(1, 9),
    st.integers(0, 6),
    st.booleans(),
    st.integers(1, 12),
)
def test_steps_together_are_the_text_whatever_the_pieces(
    text: str, size: int, late: int, tokens: bool, most: int
) -> None:
    session = ScriptedSession(
        lambda standing: text[len(standing) :], size=size, tokens=tokens, most=most
    )
    writer = writer_of(session, late=late)
    steps = asyncio.run(all_steps(writer))
    assert session.text == text
    assert writer.over == "stop"
    assert writer.exhausted
    at = 0
    for step in steps:
        assert (step.start, step.text) == (at, text[at : step.end])
        assert step.text.strip()
        assert step.tokens == len(step.text)
        assert "".join(step.words) == (step.text if tokens else "")
        at = step.end
    assert not text[at:].strip()  # white space alone is no step


def test_no_more_is_taken_in_than_the_segmenter_needs() -> None:
    session = ScriptedSession(lambda text: "One. Two. Three."[len(text) :], size=1)
    writer = writer_of(session, late=3)
    step = asyncio.run(writer.next_step())
    assert step is not None
    assert step.text == "One."
    assert session.text == "One. Tw"


def test_what_is_inserted_takes_the_place_of_what_was_written_ahead() -> None:
    async def chain() -> tuple[str, list[str], list[int]]:
        session = ScriptedSession(
            lambda text: "New. Last." if text.endswith("|") else "One. Two. Three.", size=6
        )
        writer = writer_of(session)
        first = await writer.next_step()
        assert first is not None
        await writer.insert(first.end, "|")
        rest = await all_steps(writer)
        return session.text, [step.text for step in rest], [step.start for step in rest]

    text, steps, starts = asyncio.run(chain())
    assert text == "One.|New. Last."
    assert steps == ["New.", " Last."]
    assert starts == [5, 9]


def test_the_token_limit_ends_the_text_for_good() -> None:
    async def chain() -> tuple[StepWriter, ScriptedSession]:
        session = ScriptedSession(lambda text: "word " * 100, size=5)
        writer = writer_of(session, max_tokens=22)
        (step,) = await all_steps(writer)
        assert step.text == "word " * 5  # 25 tokens: the piece that went over is kept
        assert not session.writing
        await writer.insert(step.end, "|")
        assert await writer.next_step() is None
        return writer, session

    writer, session = asyncio.run(chain())
    assert (writer.over, writer.tokens) == ("length", 25)
    assert session.usage.requests == 1


def test_an_engine_whose_window_is_full_is_not_asked_forever() -> None:
    class Full(ScriptedSession):
        async def write(self):  # type: ignore[no-untyped-def]
            self.usage.requests += 1
            yield Piece("", finish="length")

    session = Full(lambda text: "")
    writer = writer_of(session)
    assert asyncio.run(all_steps(writer)) == []
    assert (writer.over, session.usage.requests) == ("length", 2)


def test_an_engine_that_falls_silent_is_an_engine_error() -> None:
    session = ScriptedSession(lambda text: "One. Two."[len(text) :], size=1, hang_after=6)
    writer = writer_of(session, piece_s=0.05)

    async def chain() -> None:
        assert (await writer.next_step()) is not None
        with pytest.raises(EngineError, match=r"nothing for 0\.05 s"):
            await writer.next_step()

    asyncio.run(chain())
    assert session.text == "One. T"


def test_words_of_tokens_are_those_told_or_shares_of_the_text() -> None:
    assert words_of_tokens(Piece("abc", (1, 2), words=("a", "bc"))) == ["a", "bc"]
    assert words_of_tokens(Piece("abcd", (1, 2))) == ["ab", "cd"]
    assert words_of_tokens(Piece("abc", (1,))) == ["abc"]
    assert words_of_tokens(Piece("abc")) == []


def test_ids_without_probabilities_count_as_tokens_alone() -> None:
    class Silent(ScriptedSession):
        async def write(self):  # type: ignore[no-untyped-def]
            self._text += "One."
            yield Piece("One.", (1, 2), finish="stop")

    step = asyncio.run(writer_of(Silent(lambda text: "")).next_step())
    assert step is not None
    assert (step.tokens, step.logprobs, step.words) == (2, (), ())
