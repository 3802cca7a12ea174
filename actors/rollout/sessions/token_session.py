"""A session on an engine that computes tokens in this process."""

import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from actors.rollout.sessions.engine_thread import EngineThread
from actors.rollout.sessions.jobs import Ended, Event, Failed, Inbox, Job, Paused, Started, Token
from actors.rollout.sessions.piece_writer import PieceWriter
from actors.rollout.sessions.token_line import TokenLine, Tokens
from actors.rollout.sessions.types import EngineError, Piece, Usage
from actors.rollout.types import Sampling


class TokenSession:
    """See `Session`. Token in, token out: ids that were written are never read anew from text.

    What the engine wrote but nobody read stays behind the text, and comes first when writing goes
    on from the same place. A piece is one token, or the few that make a character. Writing ends
    with "length" where `context` tokens are full, but for `side_room` tokens kept for questions.
    """

    def __init__(
        self,
        engine: EngineThread,
        tokens: Tokens,
        prompt_ids: Sequence[int],
        sampling: Sampling,
        *,
        number: int,
        seed: int = 0,
        context: int,
        side_room: int = 0,
        run_ahead: int = 0,
        keep_prefix: bool = True,
    ) -> None:
        self.usage = Usage()
        self._engine, self._tokens, self._sampling = engine, tokens, sampling
        self._number, self._seed = number, seed
        self._context, self._side_room, self._run_ahead = context, side_room, run_ahead
        self._keep_prefix = keep_prefix
        self._line = TokenLine(tokens, prompt_ids)
        self._unread: list[Event] = []
        self._writing = False
        self._jobs: list[Job] = []

    @property
    def text(self) -> str:
        """See `Session`."""
        return self._line.text

    @property
    def token_ids(self) -> list[int]:
        """Ids of the prompt and the text, as the engine gets them."""
        return self._line.ids

    async def write(self) -> AsyncIterator[Piece]:
        """See `Session`."""
        self._check_idle()
        self._writing = True
        writer = PieceWriter(self._tokens, self._line.ids, self._sampling.stop)
        source = _Source(self, self._unread)
        self._unread = []
        try:
            finish = ""
            while not finish:
                event = await source.next()
                if isinstance(event, Token):
                    ready = writer.token(event)
                    finish = "stop" if writer.stopped else ""
                else:
                    ready = writer.end() if event.finish == "stop" else writer.waiting()
                    finish = event.finish
                for piece in ready:
                    self._take(writer, piece)
                    yield piece
            yield Piece("", finish=finish)
        finally:
            self._writing = False
            left = source.close()
            self._unread = [] if writer.stopped else [*writer.untaken, *left]

    def cut(self, characters: int) -> None:
        """See `Session`. Raises ValueError for a place outside of the text."""
        self._check_idle()
        if characters != len(self._line.text):
            self._line.cut(characters)
            self._unread = []

    def append(self, text: str) -> None:
        """See `Session`."""
        self._check_idle()
        self._line.append(text)
        if text:
            self._unread = []

    async def ask(
        self, suffix: str, sampling: Sampling, *, n: int = 1, seed: int = 0, at: int | None = None
    ) -> list[Piece]:
        """See `Session`; an answer ends early where the context is full."""
        ids = self._line.ids_at(at) + self._tokens.apart(suffix)[0]
        room = self._context - len(ids)
        if room < 1:
            raise EngineError(
                f"no room for an answer: {len(ids)} tokens stand before it, the context has "
                f"{self._context}"
            )
        sampling = replace(sampling, max_new_tokens=min(room, sampling.max_new_tokens))
        writers = [PieceWriter(self._tokens, ids, sampling.stop) for _ in range(n)]
        inbox = Inbox()
        job = Job(
            self._number, ids, sampling, inbox, seed, n, side=True, keep_prefix=self._keep_prefix
        )
        pieces: list[list[Piece]] = [[] for _ in range(n)]
        finishes = [""] * n
        self._begin(job)
        try:
            while not all(finishes):
                copy, event = await inbox.get()
                if isinstance(event, Failed):
                    raise EngineError(event.reason)
                if isinstance(event, Started):
                    self._count(event)
                elif isinstance(event, Token):
                    self.usage.side_tokens += 1
                    pieces[copy] += writers[copy].token(event)
                    if writers[copy].stopped and not finishes[copy]:
                        finishes[copy] = "stop"
                        self._engine.stop(job, copy)
                elif isinstance(event, Ended) and not finishes[copy]:
                    pieces[copy] += writers[copy].end()
                    finishes[copy] = event.finish
        finally:
            self._finish(job, all(finishes))
        return [_joined(each, finish) for each, finish in zip(pieces, finishes, strict=True)]

    async def close(self) -> None:
        """See `Session`. Who reads or asks meanwhile gets an `EngineError`."""
        for job in list(self._jobs):
            self._finish(job, False)
            job.inbox.put(0, Failed("the session was closed"))
        self._unread = []
        self._engine.forget(self._number)

    def _check_idle(self) -> None:
        if self._writing:
            raise RuntimeError("a write is open: close it first")

    def _take(self, writer: "PieceWriter", piece: Piece) -> None:
        """Into the text with it, before anybody sees it."""
        if writer.shortened(piece):
            self._line.append(piece.text)
        else:
            self._line.write(piece.token_ids, piece.text)
        writer.taken(piece)

    def _count(self, started: Started) -> None:
        self.usage.requests += 1
        self.usage.prompt_tokens += started.prompt
        self.usage.cached_tokens += started.cached

    def _begin(self, job: Job) -> None:
        self._engine.start(job)
        self._jobs.append(job)

    def _finish(self, job: Job, over: bool) -> None:
        if job in self._jobs:
            self._jobs.remove(job)
            if not over:
                self._engine.stop(job)


class _Source:
    """The events of one writing: first what nobody read of the last one, then the engine's."""

    def __init__(self, session: "TokenSession", unread: Sequence[Event]) -> None:
        self._session = session
        self._ids = session._line.ids
        room = session._context - session._side_room - len(self._ids)
        self._left = min(session._sampling.max_new_tokens, room)
        self._events = deque(unread)
        self._job: Job | None = None
        self._started = 0.0
        self._told = False  # when its first token came
        self._over = False

    async def next(self) -> Token | Ended:
        """The next token or the end; raises `EngineError`."""
        session = self._session
        if self._events:
            event = self._events.popleft()
            if isinstance(event, Token):
                self._ids.append(event.id)
                self._left -= 1
                return event
            if isinstance(event, Ended):
                return event
        while True:
            if self._left < 1:
                return Ended("length")
            job = self._job or self._start()
            _, event = await job.inbox.get()
            self._account(event)
            if isinstance(event, Failed):
                raise EngineError(event.reason)
            if isinstance(event, Token):
                self._ids.append(event.id)
                self._left -= 1
                return event
            if isinstance(event, Ended):
                return event
            if isinstance(event, Paused):
                session._finish(job, True)
                self._job = None

    def _start(self) -> Job:
        session = self._session
        inbox = Inbox(session._engine.wake, session._run_ahead // 2)
        sampling = replace(session._sampling, max_new_tokens=self._left)
        job = Job(
            session._number,
            list(self._ids),
            sampling,
            inbox,
            session._seed,
            keep_prefix=session._keep_prefix,
        )
        if not self._told:
            self._started = time.perf_counter()
        session._begin(job)
        self._job, self._over = job, False
        return job

    def close(self) -> list[Event]:
        """Stops the engine; gives what it wrote and nobody read."""
        left = list(self._events)
        if self._job is not None:
            drained = self._job.inbox.drain()
            for event in drained:
                self._account(event)
            left += [e for e in drained if isinstance(e, Token) or e == Ended("stop")]
            self._session._finish(self._job, self._over)
        return left

    def _account(self, event: Event) -> None:
        usage = self._session.usage
        if isinstance(event, Started):
            self._session._count(event)
        elif isinstance(event, Token):
            usage.written_tokens += 1
            if not self._told and self._job is not None:
                usage.first_token_s.append((self._job.inbox.first_token or 0.0) - self._started)
                self._told = True
        else:
            self._over = True


def _joined(pieces: Sequence[Piece], finish: str) -> Piece:
    return Piece(
        "".join(piece.text for piece in pieces),
        tuple(each for piece in pieces for each in piece.token_ids),
        tuple(each for piece in pieces for each in piece.logprobs),
        tuple(each for piece in pieces for each in piece.entropies),
        finish,
        tuple(each for piece in pieces for each in piece.words),
    )
