"""Stop strings in streamed text: found across pieces, and never shown in part."""

from collections.abc import Sequence
from dataclasses import replace

from actors.rollout.sessions.types import Piece


class StopFilter:
    """Passes pieces on, except those that may be the beginning of a stop string.

    `found` is true once one was met; text from its first character on is dropped.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held: list[Piece] = []
        self.found = False
        self.shortened: Piece | None = None
        """The piece that a stop string took a part of, as it was given."""

    def feed(self, piece: Piece) -> list[Piece]:
        """The pieces that are now certain; the last one is shortened where a stop string began."""
        if not self._stops:
            return [piece]
        if self.found:
            return []
        self._held.append(piece)
        text = "".join(held.text for held in self._held)
        places = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if places:
            self.found = True
            ready, rest = self._release(min(places))
            start = sum(len(each.text) for each in ready)
            if rest and start < min(places):
                self.shortened = _shorten(rest[0], min(places) - start)
                ready.append(self.shortened)
            self._held = []
            return ready
        ready, self._held = self._release(len(text) - _begun(text, self._stops))
        return ready

    def flush(self) -> list[Piece]:
        """The text ends here: what was held back."""
        held, self._held = self._held, []
        return held

    def _release(self, characters: int) -> tuple[list[Piece], list[Piece]]:
        end = 0
        for count, piece in enumerate(self._held):
            end += len(piece.text)
            if end > characters:
                return self._held[:count], self._held[count:]
        return self._held, []


def words_of(text: str, tokens: int) -> tuple[str, ...]:
    """The text as that of the last of so many tokens, which is the one that completed it."""
    return ("",) * (tokens - 1) + (text,) if tokens else ()


def _shorten(piece: Piece, characters: int) -> Piece:
    text = piece.text[:characters]
    return replace(piece, text=text, words=words_of(text, len(piece.token_ids)))


def _begun(text: str, stops: Sequence[str]) -> int:
    longest = 0
    for stop in stops:
        for size in range(min(len(stop) - 1, len(text)), longest, -1):
            if text.endswith(stop[:size]):
                longest = size
                break
    return longest
