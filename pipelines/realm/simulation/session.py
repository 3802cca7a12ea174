"""A session of the simulated reasoner: text that can be cut anywhere and gone on from."""

import asyncio
import time
from bisect import bisect_left, bisect_right
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from actors.rollout.sessions.types import Piece, Usage
from actors.rollout.types import Sampling
from pipelines.realm.simulation.ability import uniform
from pipelines.realm.simulation.belief import State
from pipelines.realm.simulation.facts import flatten
from pipelines.realm.simulation.plan import Planner, Unit
from pipelines.realm.simulation.replies import Replier
from pipelines.realm.simulation.tokens import Scored, split

EVIDENCE_TAGS = ("<retrieved", "<information")
"""Appended text counts as retrieved where it opens one of these (the second is Search-R1's)."""


@dataclass(slots=True)
class _Said:
    """A unit, of which the first `shown` characters stand."""

    unit: Unit
    scored: Scored
    shown: int = 0

    def tokens(self, shown: int) -> int:
        return bisect_left(self.scored.starts, shown)


@dataclass(slots=True)
class _Added:
    """Text from outside. `flat` is empty where it is no evidence."""

    text: str
    flat: str
    shown: int

    def tokens(self, shown: int) -> int:
        return len(split(self.text[:shown]))


def _added(text: str) -> _Added:
    evidence = any(tag in text for tag in EVIDENCE_TAGS)
    return _Added(text, flatten(text) if evidence else "", len(text))


class SimulatedSession:
    """See `actors.rollout.sessions.types.Session`.

    What comes next is a function of the text that stands (and of the seeds): after a cut it writes
    the same again, unless something was appended. Of a unit that was cut and then appended to, the
    sentences that stand count; what it was about to say is thought again, with what was appended.
    """

    def __init__(
        self,
        planner: Planner,
        prompt: str,
        sampling: Sampling,
        *,
        piece_tokens: int,
        pace_s: float,
        has_logprobs: bool,
    ) -> None:
        self.usage = Usage()
        self._planner = planner
        self._replier = Replier(planner)
        self._sampling = sampling
        self._piece_tokens = piece_tokens
        self._pace_s = pace_s
        self._has_logprobs = has_logprobs
        self._prompt_tokens = len(split(prompt))
        self._prompt = _added(prompt)
        self._items: list[_Said | _Added] = []
        self._text = ""
        self._kept = 0
        self._writing = False

    @property
    def text(self) -> str:
        """All after the prompt."""
        return self._text

    async def write(self) -> AsyncGenerator[Piece, None]:
        """Goes on writing; `sampling.max_new_tokens` at most, or up to a stop string."""
        self._must_rest("write")
        self._writing = True
        try:
            standing = self._tokens(len(self._text))
            self._count(standing, min(self._kept, standing))
            started = time.perf_counter()
            first = True
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    if first:
                        self.usage.first_token_s.append(time.perf_counter() - started)
                        first = False
                    yield piece
        finally:
            self._writing = False

    async def _pieces(self) -> AsyncGenerator[Piece, None]:
        left = self._sampling.max_new_tokens
        while True:
            item = self._item()
            if item is None:
                yield Piece("", finish="stop")
                return
            stop = self._stop(item)
            at = bisect_right(item.scored.starts, item.shown) - 1
            final = False
            while not final:
                last = min(at + self._piece_tokens, at + left, item.tokens(stop))
                left -= last - at
                skip = item.shown - item.scored.starts[at]
                piece = item.scored.piece(at, last, skip)
                if item.shown + len(piece.text) > stop:  # a stop string within a token
                    piece = _shortened(piece, stop - item.shown)
                end = item.shown + len(piece.text)
                final = end >= stop
                ends = final and (stop < len(item.unit.text) or item.unit.kind == "conclude")
                finish = "stop" if ends else "length" if left <= 0 else ""
                await asyncio.sleep(self._pace_s * (last - at))
                item.shown = end
                self._text += piece.text
                self._kept = self._tokens(len(self._text))
                self.usage.written_tokens += last - at
                yield self._bare(piece, finish)
                if finish:
                    return
                at = last

    def _item(self) -> _Said | None:
        """The unit to write on: the last one, if it is not all there, or a new one."""
        last = self._items[-1] if self._items else None
        if isinstance(last, _Said) and last.shown < len(last.unit.text):
            return last
        state = self._state(len(self._text))
        if state.concluded:
            return None
        said = self._said(self._planner.next(state), state)
        self._items.append(said)
        return said

    def _said(self, unit: Unit, state: State) -> _Said:
        key = uniform(*self._planner.mind.key, "tokens", state.units, unit.kind, len(state.seen))
        return _Said(unit, Scored(unit, int(key * 2**31)))

    def _stop(self, item: _Said) -> int:
        """Where in the unit the writing must stop."""
        found = [
            at for stop in self._sampling.stop if (at := item.unit.text.find(stop, item.shown)) >= 0
        ]
        return min(found, default=len(item.unit.text))

    def cut(self, characters: int) -> None:
        """Forgets all after the first `characters`."""
        self._must_rest("cut")
        if not 0 <= characters <= len(self._text):
            raise ValueError(
                f"cut at {characters}: the text has {len(self._text)} characters after the prompt"
            )
        self._text = self._text[:characters]
        self._kept = min(self._kept, self._tokens(characters))
        left = characters
        kept: list[_Said | _Added] = []
        for item in self._items:
            if left <= 0:
                break
            if item.shown > left:
                item = _added(item.text[:left]) if isinstance(item, _Added) else item
                item.shown = left
            left -= item.shown
            kept.append(item)
        self._items = kept

    def append(self, text: str) -> None:
        """Adds text from outside."""
        self._must_rest("append")
        if text:
            self._items.append(_added(text))
            self._text += text

    async def ask(
        self, suffix: str, sampling: Sampling, *, n: int = 1, seed: int = 0, at: int | None = None
    ) -> list[Piece]:
        """`n` replies; see `replies.Replier` for what is understood."""
        at = len(self._text) if at is None else at
        state = self._state(at)
        standing = self._tokens(at)
        self._count(standing + len(split(suffix)), min(self._kept, standing))
        replies = []
        for index in range(n):
            unit = self._replier.reply(
                suffix, state, draw=(seed, index), warm=sampling.temperature > 0
            )
            said = self._said(unit, state)
            texts = [unit.text.find(stop) for stop in sampling.stop]
            stop = min((found for found in texts if found >= 0), default=len(unit.text))
            last = min(said.tokens(stop), sampling.max_new_tokens)
            piece = said.scored.piece(0, last)
            finish = "length" if len(piece.text) < stop else "stop"
            self.usage.side_tokens += last
            replies.append(self._bare(_shortened(piece, stop), finish))
        longest = max((len(split(reply.text)) for reply in replies), default=0)
        await asyncio.sleep(self._pace_s * longest)
        return replies

    async def close(self) -> None:
        """Nothing is kept anywhere else."""

    def _must_rest(self, what: str) -> None:
        if self._writing:
            raise RuntimeError(f"{what} while the session is being written: close `write` first")

    def _count(self, standing: int, cached: int) -> None:
        self.usage.requests += 1
        self.usage.prompt_tokens += standing
        self.usage.cached_tokens += cached

    def _bare(self, piece: Piece, finish: str) -> Piece:
        if not self._has_logprobs:
            return Piece(piece.text, finish=finish)
        return replace(piece, finish=finish)

    def _tokens(self, characters: int) -> int:
        """Tokens of the prompt and the first `characters` of the text."""
        count = self._prompt_tokens
        for item in self._items:
            if characters <= 0:
                break
            count += item.tokens(min(item.shown, characters))
            characters -= item.shown
        return count

    def _state(self, characters: int) -> State:
        """What the first `characters` of the text amount to."""
        state = State()
        if self._prompt.flat:
            state.seen.append(self._prompt.flat)
        for item in self._items:
            if characters <= 0:
                break
            shown = min(item.shown, characters)
            characters -= item.shown
            if isinstance(item, _Said):
                self._planner.accept(item.unit, shown, state)
                continue
            flat = item.flat if shown == item.shown else _added(item.text[:shown]).flat
            if flat:
                state.seen.append(flat)
                state.fresh += 1
                state.concluded = False
        return state


def _shortened(piece: Piece, characters: int) -> Piece:
    if characters >= len(piece.text):
        return piece
    return replace(piece, text=piece.text[:characters], words=())
