"""Requests to an OpenAI-compatible `/v1/completions` server, and what can go wrong with them."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from actors.rollout.sessions.sse import StreamError, data_events

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
MOST_BYTES = 16 << 20
SHOWN = 200  # characters of a server's message


class ServerError(Exception):
    """The server did not do it; `passing` if another try may go well."""

    def __init__(self, reason: str, *, passing: bool, status: int = 0, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.passing, self.status = passing, status
        self.wait_s = wait_s
        """What the server wants to be left alone for."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of the answer. `prompt`, `cached` and `written` are tokens, None where not told."""

    text: str = ""
    index: int = 0
    finish: str = ""
    prompt: int | None = None
    cached: int | None = None
    written: int | None = None

    @property
    def counts(self) -> bool:
        """Whether it tells tokens, and is no text."""
        return (self.prompt, self.cached, self.written) != (None, None, None)


class CompletionApi:
    """A client of one server, for one event loop.

    Whatever goes wrong (connection, time, status, content) is a `ServerError` that names the
    server but never the token.
    """

    def __init__(self, url: str, *, token: str | None, timeout_s: float) -> None:
        base = httpx.URL(url.rstrip("/"))
        if base.scheme not in ("http", "https") or not base.host:
            raise ValueError(f"{url!r} is no http(s) address of a completion server")
        path = base.path.rstrip("/")
        self._url = base.copy_with(
            path=path if path.endswith("/completions") else f"{path}/completions"
        )
        self._name = str(self._url.copy_with(userinfo=b"", query=None))
        self._timeout_s = timeout_s
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout_s, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )

    async def stream(self, body: Mapping[str, Any]) -> AsyncGenerator[Chunk, None]:
        """Chunks as they are written. Ends without a `finish` only by a `ServerError`.

        The time-out is for something new to come; the reader's own time does not count. A server
        that does not stream gives one chunk.
        """
        clock = _Clock(self._timeout_s)
        with self._faults():
            async with contextlib.AsyncExitStack() as stack:
                request = self._client.stream("POST", self._url, json={**body, "stream": True})
                async with clock.running():
                    response = await stack.enter_async_context(request)
                    if response.status_code != 200:
                        raise self._refused(response, await self._read(response))
                    streams = "event-stream" in response.headers.get("content-type", "")
                    content = b"" if streams else await self._read(response)
                finished = False
                if not streams:
                    for chunk in _chunks(content):
                        finished = finished or bool(chunk.finish)
                        yield chunk
                    if not finished:
                        yield Chunk(finish="stop")
                    return
                events = data_events(response.aiter_bytes())
                while True:
                    async with clock.running():
                        data = await anext(events, None)
                    if data is None and not finished:
                        raise self._fault("the stream broke off")
                    if data is None or data.strip() == "[DONE]":
                        break
                    for chunk in _chunks(data.encode()):
                        finished = finished or bool(chunk.finish)
                        if chunk.text or chunk.finish:
                            clock.rewind()
                        yield chunk
                if not finished:
                    yield Chunk(finish="stop")

    async def whole(self, body: Mapping[str, Any]) -> list[Chunk]:
        """All choices at once."""
        with self._faults():
            async with asyncio.timeout(self._timeout_s):
                async with self._client.stream("POST", self._url, json=dict(body)) as response:
                    content = await self._read(response)
            if response.status_code != 200:
                raise self._refused(response, content)
            return _chunks(content)

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (TimeoutError, httpx.TimeoutException) as error:
            raise self._fault(f"nothing new for {self._timeout_s:g} s") from error
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            raise self._fault(f"{type(error).__name__}: {error}") from error
        except (StreamError, _NoCompletionError) as error:
            raise self._fault(str(error)) from error

    def _fault(self, reason: str) -> ServerError:
        return ServerError(f"{self._name}: {reason}", passing=True)

    def _refused(self, response: httpx.Response, content: bytes) -> ServerError:
        status = response.status_code
        said = " ".join(content.decode(errors="replace").split())[:SHOWN]
        return ServerError(
            f"{self._name}: HTTP {status} {said}".rstrip(),
            passing=status in RETRIED,
            status=status,
            wait_s=_seconds(response.headers.get("retry-after", "")),
        )

    async def _read(self, response: httpx.Response) -> bytes:
        content = b""
        async for part in response.aiter_bytes():
            content += part
            if len(content) > MOST_BYTES:
                raise self._fault(f"an answer of over {MOST_BYTES} bytes")
        return content


class _NoCompletionError(Exception):
    """An answer of another kind than a completion."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no completion in the answer: {what}")


class _Clock:
    """Bounds waits that come one after another to so many seconds in all."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self._left = seconds

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Raises TimeoutError when the time is up."""
        started = time.monotonic()
        async with asyncio.timeout(self._left):
            yield
        self._left = max(0.0, self._left - (time.monotonic() - started))

    def rewind(self) -> None:
        """Gives all the time again."""
        self._left = self._seconds


def _chunks(content: bytes) -> list[Chunk]:
    try:
        answer = json.loads(content)
    except ValueError as error:
        shown = content[:SHOWN].decode(errors="replace")
        raise _NoCompletionError(f"not JSON: {shown!r}") from error
    if not isinstance(answer, dict):
        raise _NoCompletionError(f"a JSON {type(answer).__name__}")
    if "error" in answer and not answer.get("choices"):
        raise _NoCompletionError(f"the server says {str(answer['error'])[:SHOWN]}")
    choices = answer.get("choices")
    if not isinstance(choices, list):
        raise _NoCompletionError("no list of choices")
    counts = _usage(answer.get("usage"))
    chunks = [_choice(choice, place) for place, choice in enumerate(choices)]
    return chunks + ([counts] if counts.counts else [])


def _choice(choice: Any, place: int) -> Chunk:
    text = choice.get("text") if isinstance(choice, dict) else None
    if text is None and isinstance(choice, dict) and choice.get("finish_reason"):
        text = ""
    if not isinstance(text, str):
        raise _NoCompletionError("a choice without text")
    index = choice.get("index", place)
    reason = choice.get("finish_reason") or ""
    finish = "length" if reason == "length" else "stop" if reason else ""
    return Chunk(text, index if isinstance(index, int) else place, finish)


def _seconds(told: str) -> float:
    return float(told) if told.isascii() and told.isdigit() else 0.0


def _usage(told: Any) -> Chunk:
    told = told if isinstance(told, dict) else {}
    details = told.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Chunk(
        prompt=_count(told.get("prompt_tokens")),
        cached=_count(cached),
        written=_count(told.get("completion_tokens")),
    )


def _count(told: Any) -> int | None:
    return told if isinstance(told, int) and told >= 0 else None
