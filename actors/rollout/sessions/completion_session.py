"""A text on a completion server: it is sent whole each time, and lives here."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from actors.rollout.sessions.completion_api import Chunk, ServerError
from actors.rollout.sessions.drawing import request_seed
from actors.rollout.sessions.stops import StopFilter
from actors.rollout.sessions.types import Piece, Usage
from actors.rollout.types import Sampling

MOST_CHARACTERS = 32
"""Of a token. A server that writes more than the tokens it was allowed may have is cut off."""


class Server(Protocol):
    """Requests of an engine; see `CompletionSessions`."""

    def stream(self, prompt: str, sampling: Sampling, seed: int) -> AsyncGenerator[Chunk, None]:
        """One request's chunks; raises `ServerError`."""
        ...

    async def whole(self, prompt: str, sampling: Sampling, seed: int, n: int) -> list[Chunk]:
        """One request's choices, `n` or fewer; raises `ServerError`."""
        ...

    async def wait(self, fault: ServerError, failures: int, in_all: int, key: str) -> None:
        """Until the next try after so many failures in a row, and in all; raises `EngineError` if
        there is none."""
        ...


class CompletionSession:
    """See `Session`."""

    def __init__(
        self, engine: Server, prompt: str, sampling: Sampling, *, key: str, seed: int
    ) -> None:
        self.usage = Usage()
        self._engine, self._prompt, self._sampling = engine, prompt, sampling
        self._key, self._seed = key, seed
        self._text = ""
        self._writing = False

    @property
    def text(self) -> str:
        """See `Session`."""
        return self._text

    async def write(self) -> AsyncGenerator[Piece, None]:
        """See `Session`. A request that fails on the way is taken up where the text ends."""
        self._check_idle()
        self._writing = True
        try:
            async with aclosing(self._pieces(self._prompt + self._text)) as pieces:
                async for piece in pieces:
                    self._text += piece.text
                    yield piece
        finally:
            self._writing = False

    def cut(self, characters: int) -> None:
        """See `Session`. Raises ValueError for a place outside of the text."""
        self._check_idle()
        self._text = self._upto(characters)

    def append(self, text: str) -> None:
        """See `Session`."""
        self._check_idle()
        self._text += text

    async def ask(
        self, suffix: str, sampling: Sampling, *, n: int = 1, seed: int = 0, at: int | None = None
    ) -> list[Piece]:
        """See `Session`. Where the server gives fewer than `n`, it is asked for each."""
        prompt = self._prompt + self._upto(at) + suffix
        answers = await self._choices(prompt, sampling, request_seed(seed, 0, 0), n)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        self._choices(prompt, sampling, request_seed(seed, copy, 0), 1)
                    )
                    for copy in range(len(answers), n)
                ]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return (answers + [answer for task in tasks for answer in task.result()])[:n]

    async def close(self) -> None:
        """See `Session`. What streams is ended by closing its iterator."""

    def _check_idle(self) -> None:
        if self._writing:
            raise RuntimeError("a write is open: close it first")

    def _upto(self, characters: int | None) -> str:
        if characters is not None and not 0 <= characters <= len(self._text):
            raise ValueError(f"no place {characters} in a text of {len(self._text)} characters")
        return self._text[:characters]

    async def _pieces(self, prompt: str) -> AsyncGenerator[Piece, None]:
        most = self._sampling.max_new_tokens
        stops = StopFilter(self._sampling.stop)
        come, count, failures, in_all, finish = "", 0, 0, 0, ""
        started: float | None = time.perf_counter()
        while not finish:
            request = _Request(self.usage, count)
            sampling = replace(self._sampling, max_new_tokens=most - count)
            seed = request_seed(self._seed, 0, len(prompt) + len(come))
            try:
                stream = self._engine.stream(prompt + come, sampling, seed)
                async with aclosing(stream) as chunks:
                    async for chunk in chunks:
                        request.tell(chunk)
                        finish = finish or chunk.finish
                        if not chunk.text:
                            continue
                        if started is not None:
                            self.usage.first_token_s.append(time.perf_counter() - started)
                            started = None
                        come, count, failures = come + chunk.text, count + 1, 0
                        for piece in stops.feed(Piece(chunk.text)):
                            yield piece
                        if stops.found:
                            finish = "stop"
                            break
                        if len(come) > MOST_CHARACTERS * most:
                            finish = finish or "length"
                            break
            except ServerError as fault:
                failures, in_all = failures + 1, in_all + 1
                if not finish:
                    await self._engine.wait(fault, failures, in_all, self._key)
                    finish = "length" if count >= most else ""
            finally:
                request.done(count)
        for piece in stops.flush():
            yield piece
        yield Piece("", finish=finish)

    async def _choices(self, prompt: str, sampling: Sampling, seed: int, n: int) -> list[Piece]:
        failures = 0
        while True:
            try:
                chunks = await self._engine.whole(prompt, sampling, seed, n)
                choices = [chunk for chunk in chunks if not chunk.counts]
                if not choices:
                    raise ServerError("an answer without a choice", passing=True)
                break
            except ServerError as fault:
                failures += 1
                await self._engine.wait(fault, failures, failures, self._key)
        self.usage.requests += 1
        told = [chunk for chunk in chunks if chunk.counts]
        self.usage.prompt_tokens += sum(chunk.prompt or 0 for chunk in told)
        self.usage.cached_tokens += sum(chunk.cached or 0 for chunk in told)
        guess = sum(len(choice.text) // 4 + 1 for choice in choices)
        self.usage.side_tokens += next((c.written for c in told if c.written is not None), guess)
        choices.sort(key=lambda choice: choice.index)
        return [_answer(choice, sampling) for choice in choices]


class _Request:
    """What one request cost."""

    def __init__(self, usage: Usage, count: int) -> None:
        self._usage, self._count = usage, count
        self._told = Chunk()

    def tell(self, chunk: Chunk) -> None:
        """Servers may tell more than once; the last word counts."""
        if chunk.counts:
            self._told = chunk

    def done(self, count: int) -> None:
        """`count` pieces have come by now, of this request and those before it."""
        self._usage.requests += 1
        self._usage.prompt_tokens += self._told.prompt or 0
        self._usage.cached_tokens += self._told.cached or 0
        told = self._told.written
        self._usage.written_tokens += count - self._count if told is None else told


def _answer(choice: Chunk, sampling: Sampling) -> Piece:
    stops = StopFilter(sampling.stop)
    text = "".join(piece.text for piece in stops.feed(Piece(choice.text)) + stops.flush())
    return Piece(text, finish="stop" if stops.found else choice.finish or "stop")
