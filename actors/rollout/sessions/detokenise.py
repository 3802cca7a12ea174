"""Text of token ids, token by token, with no character before all of its bytes are there."""

from collections.abc import Sequence
from typing import Protocol

CONTEXT = 8
"""Ids before the first one that decoders look at (a leading space depends on them)."""
MOST_PENDING = 5
"""A character has at most four bytes: what waits longer is no text and is given as it is."""


class Decoder(Protocol):
    """What turns ids into text."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text; bytes that are no character are U+FFFD."""
        ...


class Detokeniser:
    """Feed ids with `push`; the texts it gives, joined, are the decoding of all ids.

    `context` are the ids that stand before; they must end with a whole character.
    """

    def __init__(self, decoder: Decoder, context: Sequence[int] = ()) -> None:
        self._decoder = decoder
        self._shown = list(context)[-CONTEXT:]
        self._pending: list[int] = []

    def push(self, token_id: int) -> str | None:
        """The text that this token completes ("" for a token of none), or None: more is needed."""
        self._pending.append(token_id)
        text = self._text()
        broken = text is None or text.endswith("\ufffd")
        if broken and len(self._pending) < MOST_PENDING:
            return None
        return self._give(text or "")

    def flush(self) -> str | None:
        """The text of what still waits, or None if nothing does."""
        return self._give(self._text() or "") if self._pending else None

    def _text(self) -> str | None:
        before = self._decoder.decode(self._shown)
        whole = self._decoder.decode([*self._shown, *self._pending])
        return whole[len(before) :] if len(whole) >= len(before) else None

    def _give(self, text: str) -> str:
        self._shown = [*self._shown, *self._pending][-CONTEXT:]
        self._pending = []
        return text
