"""Sessions on a completion server: a real socket, and every fault it may have."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from actors.rollout.sessions.completion_session import CompletionSession
from actors.rollout.sessions.completions import CompletionSessions, Patience
from actors.rollout.sessions.open import open_sessions
from actors.rollout.sessions.types import EngineError
from actors.rollout.types import Sampling
from tests.actors.rollout.sessions.completion_server import (
    STORY,
    TOKEN,
    Reply,
    Request,
    Server,
    after,
    close_at_once,
    event,
    good,
    head,
    status,
    text_event,
)
from tests.actors.rollout.sessions.lively import read, text_of

CALM = Patience(timeout_s=10, retries=2, retries_in_all=4, backoff_s=0.001, longest_s=0.01)
QUICK = replace(CALM, timeout_s=0.3)
"""Where the server is silent on purpose."""
ALL = Sampling(1000, temperature=0.0)


def on_server(
    server: Server,
    go: Callable[[CompletionSessions], Awaitable[Any]],
    patience: Patience = CALM,
    **options: Any,
) -> Any:
    async def run() -> Any:
        async with server.running():
            engine = CompletionSessions("m", url=server.url, patience=patience, **options)
            try:
                return await asyncio.wait_for(go(engine), 20)
            finally:
                await engine.close()

    return asyncio.run(run())


def story(server: Server, sampling: Sampling = ALL, patience: Patience = CALM) -> CompletionSession:
    """The story written down, as far as `sampling` lets it."""

    async def go(engine: CompletionSessions) -> CompletionSession:
        session = engine.open("Tell: ", sampling, key="q1")
        assert text_of(await read(session)) == session.text
        return session

    return on_server(server, go, patience)


def test_a_text_is_written_and_counted() -> None:
    server = Server()
    session = story(server, Sampling(10, temperature=0.5, top_p=0.9, top_k=7, stop=("@",)))
    assert session.text == STORY[: 10 * TOKEN]
    usage = session.usage
    assert (usage.requests, usage.prompt_tokens, usage.cached_tokens) == (1, 50, 32)
    assert (usage.written_tokens, len(usage.first_token_s)) == (10, 1)
    body = server.requests[0].body
    assert body.pop("seed") >= 0
    assert body == {
        "model": "m",
        "prompt": "Tell: ",
        "max_tokens": 10,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 7,
        "stop": ["@"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_finish_is_the_servers() -> None:
    async def go(engine: CompletionSessions) -> list[str]:
        short = await read(engine.open("", Sampling(3)))
        return [short[-1].finish, (await read(engine.open("", ALL)))[-1].finish]

    assert on_server(Server(), go) == ["length", "stop"]


def test_cut_append_and_closing_early() -> None:
    """What was yielded stays; the connection is given up; the next request has the whole text."""
    server = Server()

    async def go(engine: CompletionSessions) -> str:
        session = engine.open("P:", ALL)
        await read(session, 3)
        assert session.text == STORY[: 3 * TOKEN]
        session.cut(5)
        session.append("<x>")
        with pytest.raises(ValueError, match="no place 9 in a text of 8 characters"):
            session.cut(9)
        await read(session, 1)
        for _ in range(50):
            await asyncio.sleep(0.01)
            if not server.open:
                break
        assert server.open == 0
        return server.requests[1].body["prompt"]

    assert on_server(server, go) == "P:" + STORY[:5] + "<x>"


FAULTS: dict[str, Reply] = {
    "closes at once": close_at_once,
    "drops the stream": after(5),
    "drops within an event": after(5, text_event("never seen")[:-9]),
    "drops within a character": after(3, b'data: {"choices": [{"text": "\xc3'),
    "says nothing": after(0, hang=True),
    "stops saying anything": after(4, hang=True),
    "only keeps the line open": after(2, *[b": ping\n\n"] * 3, hang=True),
    "is busy": status(503, "busy"),
    "limits": status(429, "slow down", "Retry-After: 1\r\n"),
    "fails": status(500, '{"error": {"message": "CUDA"}}'),
    "fails in the stream": after(4, event({"error": {"message": "out of memory"}})),
    "writes no JSON": after(4, event("<html>")),
    "writes another JSON": after(4, event([1, 2])),
    "writes no text": after(4, event({"choices": [{"text": 7}]})),
    "writes another page": status(200, "<html>hello</html>"),
    "writes an endless line": after(4, b"data: ", *[b"x" * 65536] * 20),
}


SILENT = {"says nothing", "stops saying anything", "only keeps the line open"}


@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_on_the_way_loses_or_doubles_text(name: str) -> None:
    """Twice in a row, then well: the text is the story, whatever had come by then."""
    server = Server(good, FAULTS[name], FAULTS[name], good)

    async def go(engine: CompletionSessions) -> str:
        session = engine.open("Tell: ", ALL)
        await read(session, 4)
        await read(session)
        assert session.usage.requests == len(server.requests)
        return session.text

    assert on_server(server, go, QUICK if name in SILENT else CALM) == STORY
    assert server.replies == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_stays_is_an_engine_error_and_keeps_the_text(name: str) -> None:
    server = Server(good, otherwise=FAULTS[name])

    async def go(engine: CompletionSessions) -> str:
        session = engine.open("Tell: ", ALL, key="q1")
        await read(session, 4)
        with pytest.raises(EngineError, match=r"q1: http://127.0.0.1:\d+/v1/completions: "):
            await read(session)
        return session.text

    text = on_server(server, go, QUICK if name in SILENT else CALM)
    assert STORY.startswith(text)
    assert len(text) >= 4 * TOKEN
    assert len(server.requests) <= 1 + 5


@pytest.mark.parametrize(
    ("fault", "tries"),
    [(status(503, "busy"), 3), (after(0, hang=True), 3), (status(401, "who are you"), 1)],
)
def test_tries_are_bounded_and_some_errors_are_final(fault: Reply, tries: int) -> None:
    server = Server(otherwise=fault)
    with pytest.raises(EngineError):
        story(server, patience=QUICK)
    assert len(server.requests) == tries


def test_nobody_there() -> None:
    async def go() -> None:
        engine = CompletionSessions("m", url="http://127.0.0.1:9/v1", patience=QUICK)
        with pytest.raises(EngineError, match=r"q3: .*/v1/completions: .*\(3 tries\)"):
            await read(engine.open("", ALL, key="q3"))
        await engine.close()

    asyncio.run(go())


def test_the_token_is_sent_and_never_told() -> None:
    server = Server(otherwise=status(403, "no"))

    async def go(engine: CompletionSessions) -> str:
        with pytest.raises(EngineError) as caught:
            await engine.open("", ALL).ask("?", ALL)
        return f"{caught.value}"

    said = on_server(server, go, token="s3cret")
    assert server.requests[0].headers["authorization"] == "Bearer s3cret"
    assert "HTTP 403 no" in said
    assert "s3cret" not in said


def test_a_reader_may_take_its_time() -> None:
    """The time-out is the server's; while the reader is busy it does not run."""

    async def go(engine: CompletionSessions) -> str:
        session = engine.open("", Sampling(6))
        async for _ in session.write():
            await asyncio.sleep(0.3)
        return session.text

    server = Server()
    assert on_server(server, go, Patience(timeout_s=1.0, retries=0)) == STORY[: 6 * TOKEN]
    assert len(server.requests) == 1


async def ignoring(request: Request) -> AsyncIterator[bytes]:
    """Knows neither max_tokens nor stop nor stream."""
    text = json.dumps({"choices": [{"text": request.rest, "finish_reason": "stop"}]})
    yield head(kind="application/json") + text.encode()


async def endless(request: Request) -> AsyncIterator[bytes]:
    """Never stops."""
    yield head()
    while True:
        yield text_event("and on ")
        await asyncio.sleep(0)


def test_a_server_that_does_not_stream() -> None:
    assert story(Server(otherwise=ignoring)).text == STORY


def test_a_server_that_never_ends_is_cut_off() -> None:
    session = story(Server(otherwise=endless), Sampling(20))
    assert session.text.startswith("and on and on")
    assert len(session.text) <= 20 * 32 + 7


@pytest.mark.parametrize("reply", [good, ignoring])
def test_stop_strings_hold_on_servers_that_do_not_know_them(reply: Reply) -> None:
    """ "3 says" begins in one token and ends in another."""
    session = story(Server(otherwise=reply), Sampling(1000, stop=("3 says",)))
    assert session.text == STORY[: STORY.index("3 says")]


def test_a_stop_string_across_a_dropped_stream() -> None:
    at = STORY.index("2 says")
    server = Server(after(at // TOKEN + 1), otherwise=good)
    session = story(server, Sampling(1000, stop=("2 says",)))
    assert session.text == STORY[: STORY.index("2 says")]
    assert len(server.requests) == 2


def refusing(*features: str, named: bool = True) -> Reply:
    """400 for a request with one of these."""

    async def reply(request: Request) -> AsyncIterator[bytes]:
        met = [feature for feature in features if feature in request.body]
        inner = status(400, f"unknown: {met}" if named else "bad request") if met else good
        async for part in inner(request):
            yield part

    return reply


@pytest.mark.parametrize("named", [True, False])
def test_a_server_that_knows_fewer_options_is_asked_without(named: bool) -> None:
    server = Server(otherwise=refusing("stream_options", "seed", named=named))

    async def go(engine: CompletionSessions) -> list[str]:
        texts = []
        for _ in range(2):
            session = engine.open("", Sampling(5))
            await read(session)
            texts.append(session.text)
        return texts

    assert on_server(server, go) == [STORY[: 5 * TOKEN]] * 2
    assert len(server.requests) == 3  # one to learn it


def test_a_request_that_is_refused_with_or_without_is_told_as_it_was_said_first() -> None:
    """And the options are not given up for it."""
    server = Server(status(400, "prompt too long"), status(400, "no"))

    async def go(engine: CompletionSessions) -> str:
        session = engine.open("", Sampling(5))
        with pytest.raises(EngineError, match="HTTP 400 prompt too long"):
            await read(session)
        await read(session)
        return session.text

    assert on_server(server, go) == STORY[: 5 * TOKEN]
    assert "seed" in server.requests[-1].body


def test_answers_in_one_request_or_in_many() -> None:
    """The text stays as it is; `at` is where the question is put."""

    async def one(request: Request) -> AsyncIterator[bytes]:
        request.body.pop("n", None)
        async for part in good(request):
            yield part

    for reply, requests in ((good, 1), (one, 3), (refusing("n"), 4)):
        server = Server(otherwise=reply)

        async def go(engine: CompletionSessions) -> tuple[list[str], str]:
            session = engine.open("P", Sampling(3))
            session.append(STORY[:20] + "zzz")
            found = await session.ask("", Sampling(2), n=3, at=20)
            return [piece.text for piece in found], session.text

        answers, text = on_server(server, go)
        assert answers == [STORY[20 : 20 + 2 * TOKEN]] * 3
        assert text == STORY[:20] + "zzz"
        assert len(server.requests) == requests


def test_answers_are_counted_and_stopped() -> None:
    async def go(engine: CompletionSessions) -> None:
        session = engine.open("", ALL)
        (answer,) = await session.ask("", Sampling(9, stop=("says",)))
        assert (answer.text, answer.finish) == ("Line 1 ", "stop")
        assert session.usage.side_tokens == 9

    on_server(Server(), go)


@pytest.mark.parametrize(
    "fault", [close_at_once, status(502), status(200, "[]"), status(200, '{"choices": []}')]
)
def test_a_question_is_asked_again_and_then_given_up(fault: Reply) -> None:
    async def go(engine: CompletionSessions) -> None:
        session = engine.open("", ALL, key="q9")
        assert (await session.ask("", Sampling(2)))[0].text == STORY[: 2 * TOKEN]
        assert server.replies == []
        server.otherwise = fault
        with pytest.raises(EngineError, match="q9: "):
            await session.ask("", Sampling(2))

    server = Server(fault, fault)
    on_server(server, go)
    assert len(server.requests) == 6


def test_many_sessions_wait_for_none() -> None:
    """One whose server is silent, forty that are served meanwhile."""
    server = Server(after(1, hang=True))

    async def go(engine: CompletionSessions) -> list[str]:
        silent = asyncio.create_task(read(engine.open("", Sampling(3))))
        while not server.requests:
            await asyncio.sleep(0.001)
        others = [engine.open("", Sampling(3)) for _ in range(40)]
        await asyncio.gather(*map(read, others))
        assert not silent.done()
        silent.cancel()
        return [session.text for session in others]

    assert on_server(server, go, Patience(timeout_s=15)) == [STORY[: 3 * TOKEN]] * 40


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", ""])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(ValueError, match="no http"):
        open_sessions("completions", "m", url=url)
