"""Pieces of text from the tokens of one writing."""

from collections.abc import Sequence

from actors.rollout.sessions.detokenise import Detokeniser
from actors.rollout.sessions.jobs import Token
from actors.rollout.sessions.stops import StopFilter, words_of
from actors.rollout.sessions.token_line import Tokens
from actors.rollout.sessions.types import Piece


class PieceWriter:
    """From tokens to pieces: whole characters, no stop string."""

    def __init__(self, tokens: Tokens, context: Sequence[int], stops: Sequence[str]) -> None:
        self._detokeniser = Detokeniser(tokens, context)
        self._stops = StopFilter(stops)
        self._group: list[Token] = []
        self.untaken: list[Token] = []
        """Tokens that came and are in no text yet."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string was met."""
        return self._stops.found

    def token(self, token: Token) -> list[Piece]:
        """The pieces that this token makes certain."""
        self.untaken.append(token)
        self._group.append(token)
        text = self._detokeniser.push(token.id)
        return [] if text is None else self._passed(text)

    def waiting(self) -> list[Piece]:
        """What may be shown when the tokens end but not the text: no half character."""
        return self._stops.flush()

    def end(self) -> list[Piece]:
        """All that is left."""
        text = self._detokeniser.flush()
        ready = [] if text is None else self._passed(text)
        return ready + self._stops.flush()

    def shortened(self, piece: Piece) -> bool:
        """Whether a stop string took some of the piece's text: its tokens are not its text."""
        return piece is self._stops.shortened

    def taken(self, piece: Piece) -> None:
        """The piece is in the text."""
        del self.untaken[: len(piece.token_ids)]

    def _passed(self, text: str) -> list[Piece]:
        group, self._group = self._group, []
        return self._stops.feed(_piece(group, text))


def _piece(tokens: Sequence[Token], text: str) -> Piece:
    return Piece(
        text,
        tuple(token.id for token in tokens),
        tuple(token.logprob for token in tokens),
        tuple(token.entropy for token in tokens),
        words=words_of(text, len(tokens)),
    )
