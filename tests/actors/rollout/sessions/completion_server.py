"""A completion server over a real socket, with faults to order. Its model knows one story."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

STORY = "".join(f"Line {n} says that é and 日本 cost {n * 37} euros.\n" for n in range(1, 9))
TOKEN = 4
"""Characters of a token."""

Reply = Callable[["Request"], AsyncIterator[bytes]]


class Request:
    """What was asked, and the plain answer to it."""

    def __init__(self, body: dict[str, Any], headers: dict[str, str]) -> None:
        self.body, self.headers = body, headers
        prompt = body.get("prompt", "")
        self.rest = next(
            (STORY[at:] for at in range(len(STORY), 0, -1) if prompt.endswith(STORY[:at])), STORY
        )
        self.most = int(body.get("max_tokens", 16))

    @property
    def tokens(self) -> list[str]:
        """What the model goes on with."""
        rest = self.rest[: self.most * TOKEN]
        return [rest[at : at + TOKEN] for at in range(0, len(rest), TOKEN)]

    @property
    def finish(self) -> str:
        """Why it ends there."""
        return "length" if len(self.rest) > self.most * TOKEN else "stop"


def head(status: int = 200, kind: str = "text/event-stream", more: str = "") -> bytes:
    """A response's head; the body ends with the connection."""
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}\r\n"
    ).encode()


def event(data: Any) -> bytes:
    """One event of a stream."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def text_event(text: str, finish: str | None = None) -> bytes:
    """A piece of text."""
    return event({"choices": [{"index": 0, "text": text, "finish_reason": finish}]})


async def good(request: Request) -> AsyncIterator[bytes]:
    """As it should be, with tokens counted."""
    if not request.body.get("stream"):
        n = request.body.get("n", 1)
        text = "".join(request.tokens)
        choices = [{"index": i, "text": text, "finish_reason": request.finish} for i in range(n)]
        count = len(request.tokens) * n
        usage = {"prompt_tokens": 50, "completion_tokens": count}
        yield (
            head(kind="application/json")
            + json.dumps({"choices": choices, "usage": usage}).encode()
        )
        return
    yield head()
    yield b": hello\n\n"
    for token in request.tokens:
        yield text_event(token)
        await asyncio.sleep(0)
    yield text_event("", request.finish)
    if request.body.get("stream_options"):
        details = {"cached_tokens": 32}
        usage = {
            "prompt_tokens": 50,
            "completion_tokens": len(request.tokens),
            "prompt_tokens_details": details,
        }
        yield event({"choices": [], "usage": usage})
    yield event("[DONE]")


def after(tokens: int, *last: bytes, hang: bool = False) -> Reply:
    """A few good tokens, then these bytes, then the end (or silence)."""

    async def reply(request: Request) -> AsyncIterator[bytes]:
        yield head()
        for token in request.tokens[:tokens]:
            yield text_event(token)
        for part in last:
            yield part
        if hang:
            await asyncio.sleep(30)

    return reply


def status(code: int, message: str = "", more: str = "") -> Reply:
    """A refusal."""

    async def reply(request: Request) -> AsyncIterator[bytes]:
        yield head(code, "application/json", more) + message.encode()

    return reply


async def close_at_once(request: Request) -> AsyncIterator[bytes]:
    """Not even a head."""
    yield b""


class Server:
    """Answers with the ordered replies, one a request, then as `otherwise`."""

    def __init__(self, *replies: Reply, otherwise: Reply = good) -> None:
        self.replies, self.otherwise = list(replies), otherwise
        self.requests: list[Request] = []
        self.url = ""
        self.open = 0
        """Connections that are answered now."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        """At `url`, on a free port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = (line.split(": ", 1) for line in lines[1:] if ": " in line)
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers["content-length"]))
            request = Request(json.loads(body), headers)
            self.requests.append(request)
            reply = self.replies.pop(0) if self.replies else self.otherwise
            async for part in reply(request):
                writer.write(part)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            self.open -= 1
            writer.close()
