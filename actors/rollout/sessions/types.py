"""What a session of writing is: a text that grows, on any engine, white box or black box."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from actors.rollout.types import Sampling


class EngineError(Exception):
    """The engine failed (time-out, dropped connection, garbage): never the model's own fault."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text as it was written. Black boxes give text alone.

    `logprobs[i]` is of `token_ids[i]` under the distribution it was drawn from, `entropies[i]` the
    entropy in nats of that distribution (over the engine's top tokens where it gives no more).
    """

    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    entropies: tuple[float, ...] = ()
    finish: str = ""  # "" = goes on | "stop" | "length"
    words: tuple[str, ...] = ()
    """The part of `text` that is of each token, where the engine tells; together they are all."""


@dataclass(slots=True)
class Usage:
    """What a session cost its engine, summed over its requests."""

    requests: int = 0
    prompt_tokens: int = 0
    """Tokens that stood before what was to be written."""
    cached_tokens: int = 0
    """Of these, the ones whose keys and values were kept from before: not computed again."""
    written_tokens: int = 0
    """Tokens of the chain, also those that were cut again."""
    side_tokens: int = 0
    """Tokens written to side questions (`ask`)."""
    first_token_s: list[float] = field(default_factory=list)
    """Seconds from each (re)start of the writing to its first token."""


class Session(Protocol):
    """One text in the making. Belongs to one task of one event loop.

    `text` is all that stands after the prompt: written and appended.
    """

    usage: Usage

    @property
    def text(self) -> str:
        """All after the prompt: what was written and what was appended."""
        ...

    def write(self) -> AsyncIterator[Piece]:
        """Goes on writing from where the text ends, piece by piece, until it is closed.

        The last piece has a `finish`. Closing the iterator stops the writing; what was yielded
        stays. Raises `EngineError`.
        """
        ...

    def cut(self, characters: int) -> None:
        """Forgets `text` after its first `characters`. No `write` may be open."""
        ...

    def append(self, text: str) -> None:
        """Adds `text` at the end, as if written. No `write` may be open."""
        ...

    async def ask(
        self, suffix: str, sampling: Sampling, *, n: int = 1, seed: int = 0, at: int | None = None
    ) -> list[Piece]:
        """`n` continuations of prompt + `text[:at]` + `suffix`; the text itself stays as it is.

        May run while `write` is open. Raises `EngineError`.
        """
        ...

    async def close(self) -> None:
        """Stops what runs and frees what the engine keeps for this text."""
        ...


class SessionEngine(Protocol):
    """Opens sessions; any number may be open at once and none waits for another."""

    has_logprobs: bool

    def open(self, prompt: str, sampling: Sampling, *, key: str = "", seed: int = 0) -> Session:
        """A session after `prompt`; `sampling` is of the chain, and bounds each `write`.

        `key` names the session in messages.
        """
        ...

    async def close(self) -> None:
        """Ends the engine."""
        ...
