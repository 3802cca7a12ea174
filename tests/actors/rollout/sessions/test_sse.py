"""Server-sent events, however the bytes are cut."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.sse import MOST_CHARACTERS, StreamError, data_events

STREAM = (
    'data: {"é": 1}\n\n: comment\nevent: x\nid: 3\n\r\n'
    "data:two\r\ndata:  lines\r\n\r\ndata: end\n\n"
)
EVENTS = ['{"é": 1}', "two\n lines", "end"]


def events(*parts: bytes) -> list[str]:
    async def source() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def go() -> list[str]:
        return [data async for data in data_events(source())]

    return asyncio.run(go())


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=8))
def test_events_do_not_depend_on_the_parts(places: list[int]) -> None:
    data = STREAM.encode()
    bounds = [0, *sorted(places), len(data)]
    parts = [data[a:b] for a, b in pairwise(bounds)]
    assert events(*parts) == EVENTS


def test_an_event_that_breaks_off_is_dropped_but_for_the_last_word() -> None:
    assert events(b"data: a\n\ndata: b\n") == ["a"]
    assert events(b"data: a\n\ndata: [DO") == ["a"]
    assert events(b"data: a\n\ndata: [DONE]") == ["a", "[DONE]"]
    assert events(b"data: a\n\ndata: [DONE]\n") == ["a", "[DONE]"]


def test_a_line_without_end_is_no_event() -> None:
    with pytest.raises(StreamError, match="an event of over"):
        events(b"data: ", b"x" * (MOST_CHARACTERS + 1))
