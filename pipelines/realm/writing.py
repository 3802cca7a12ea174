"""A session's writing, cut into steps while it is written."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from actors.rollout.sessions.types import EngineError, Piece, Session
from pipelines.realm.types import Segmenter, Step

_UNKNOWN = float("nan")


@dataclass(slots=True)
class WrittenStep:
    """A step as it was cut from the text; offsets are characters of `session.text`."""

    text: str
    start: int
    end: int
    tokens: int
    logprobs: tuple[float, ...] = ()
    entropies: tuple[float, ...] = ()
    words: tuple[str, ...] = ()

    def step(self, index: int) -> Step:
        """The step alone."""
        return Step(index, self.text, self.tokens, self.logprobs, self.entropies, self.words)


@dataclass(frozen=True, slots=True)
class _Token:
    start: int  # of its text, in characters since the base
    word: str
    logprob: float
    entropy: float


@dataclass(slots=True)
class StepWriter:
    """Reads a session step by step; nothing that was written is lost unless it is cut.

    Pieces are asked for only while a step is looked for: what an engine writes in the meantime
    waits in the engine, so that the text behind a boundary is at most the segmenter's look-ahead
    long. White space alone is no step. Not safe for more than one task.
    """

    session: Session
    segmenter: Segmenter
    count: Callable[[str], int]
    """Tokens of a text, for engines that tell none."""
    max_tokens: int
    piece_s: float
    """The longest wait for a piece."""
    clock: Callable[[], float] = time.perf_counter
    watch: Callable[[str], None] | None = None
    """Told the text of the step in the making, with each piece."""
    over: str = ""
    """Why no more is written: "stop", "length", or "" while it goes on."""
    tokens: int = 0
    """Tokens taken in, those that were cut again too."""
    resumed_at: float | None = None
    """When the first piece after the last `insert` came."""
    _base: int = 0  # of the segmenter's text, in characters of session.text
    _buffer: str = ""
    _start: int = 0  # of the next step, in characters since the base
    _boundaries: deque[int] = field(default_factory=deque)
    _tokens: list[_Token] = field(default_factory=list)
    _stream: AsyncIterator[Piece] | None = None
    _resuming: bool = False
    _barren: bool = False  # the last writing ended at its length without a character

    def __post_init__(self) -> None:
        self._base = len(self.session.text)
        self.segmenter.reset()

    @property
    def ahead(self) -> str:
        """What was taken in since the last insertion, beyond the last step too."""
        return self._buffer

    @property
    def base(self) -> int:
        """Where `ahead` starts in `session.text`."""
        return self._base

    @property
    def exhausted(self) -> bool:
        """No further step will come."""
        return bool(self.over) and not self._buffer[self._start :].strip()

    async def next_step(self) -> WrittenStep | None:
        """The next step, or None when the text is over. Raises `EngineError`."""
        while True:
            while self._boundaries:
                end = self._boundaries.popleft()
                if end > self._start and self._buffer[self._start : end].strip():
                    return self._take(end)
            if self.over:
                return None
            await self._pull()

    async def read_on(self) -> None:
        """Takes in one more piece, if there is one. Raises `EngineError`."""
        if not self.over:
            await self._pull()

    async def pause(self) -> None:
        """Stops the engine's writing; the next step asks for it again."""
        stream, self._stream = self._stream, None
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()

    async def insert(self, at: int, text: str) -> None:
        """Cuts the session's text at `at` (characters) and puts `text` there; writing may go on."""
        await self.pause()
        if at < len(self.session.text):
            self.session.cut(at)
        self.session.append(text)
        self.segmenter.reset()
        self._base, self._buffer, self._start = len(self.session.text), "", 0
        self._boundaries.clear()
        self._tokens.clear()
        self._resuming, self._barren = True, False
        self.over = "length" if self.tokens >= self.max_tokens else ""

    async def cut_ahead(self) -> None:
        """Forgets what was written beyond the last step."""
        await self.pause()
        if self._base + self._start < len(self.session.text):
            self.session.cut(self._base + self._start)
        self._buffer = self._buffer[: self._start]
        self._boundaries.clear()

    def _take(self, end: int) -> WrittenStep:
        text = self._buffer[self._start : end]
        own = 0
        while own < len(self._tokens) and self._tokens[own].start < end:
            own += 1
        tokens, self._tokens = self._tokens[:own], self._tokens[own:]
        step = WrittenStep(
            text,
            self._base + self._start,
            self._base + end,
            len(tokens) or self.count(text),
            tuple(token.logprob for token in tokens),
            tuple(token.entropy for token in tokens),
            tuple(token.word for token in tokens),
        )
        if any(math.isnan(value) for value in step.logprobs):  # ids alone
            step.logprobs = step.entropies = step.words = ()
        self._start = end
        return step

    async def _pull(self) -> None:
        if self._stream is None:
            self._stream = self.session.write()
        try:
            async with asyncio.timeout(self.piece_s):
                piece = await anext(self._stream, None)
        except TimeoutError as error:
            self._stream = None
            raise EngineError(f"the engine wrote nothing for {self.piece_s:g} s") from error
        if piece is None:  # ended without saying so
            piece = Piece("", finish="stop")
        if piece.text or piece.token_ids:
            self._add(piece)
        if self.tokens >= self.max_tokens:
            await self._end("length")
        elif piece.finish == "length" and not self._barren:
            self._barren = not piece.text
            await self.pause()
        elif piece.finish:
            await self._end(piece.finish)

    def _add(self, piece: Piece) -> None:
        self._barren = False
        if self._resuming:
            self.resumed_at, self._resuming = self.clock(), False
        start = len(self._buffer)
        for i, word in enumerate(words_of_tokens(piece)):
            logprob = piece.logprobs[i] if i < len(piece.logprobs) else _UNKNOWN
            entropy = piece.entropies[i] if i < len(piece.entropies) else 0.0
            self._tokens.append(_Token(start, word, logprob, entropy))
            start += len(word)
        self.tokens += len(piece.token_ids) or self.count(piece.text)
        self._buffer += piece.text
        if piece.text:
            self._boundaries.extend(self.segmenter.feed(piece.text))
            if self.watch is not None:
                self.watch(self._buffer[self._start :])

    async def _end(self, why: str) -> None:
        await self.pause()
        self.over = why
        self._boundaries.extend(self.segmenter.finish())
        self._boundaries.append(len(self._buffer))


def words_of_tokens(piece: Piece) -> list[str]:
    """Text of each token of `piece`; together they are its text.

    Where the engine does not tell, equal shares of the text stand for it: right for one token, and
    for more near enough to find the word that a token belongs to.
    """
    count = len(piece.token_ids)
    if len(piece.words) == count:
        return list(piece.words)
    length = len(piece.text)
    return [piece.text[i * length // count : (i + 1) * length // count] for i in range(count)]
