"""Tokens of simulated text: pieces of words, and log-probabilities that follow confidence."""

import math
import random
import re
import zlib

from actors.rollout.sessions.types import Piece
from pipelines.realm.simulation.plan import Unit

_TOKEN = re.compile(r"\s*[^\W_]{1,7}|\s*[\W_]", re.DOTALL)
_IDS = 50_000


def split(text: str) -> list[str]:
    """The tokens of `text`: together they are all of it."""
    return _TOKEN.findall(text) if not text or not text[-1].isspace() else _with_tail(text)


def _with_tail(text: str) -> list[str]:
    body = text.rstrip()
    return [*_TOKEN.findall(body), text[len(body) :]]


def token_id(token: str) -> int:
    """A number for a token, always the same."""
    return zlib.crc32(token.encode()) % _IDS


class Scored:
    """The tokens of a unit with their log-probabilities and entropies (nats).

    The tokens of the unit's value are as likely as it is sure, give or take noise; the first of
    them carries most of the doubt. Other tokens are likely, connecting ones a little less so.
    """

    def __init__(self, unit: Unit, key: int) -> None:
        self.tokens = split(unit.text)
        rng = random.Random(key)
        start = unit.text.rfind(unit.value) if unit.value else -1
        end = start + len(unit.value)
        self.starts: list[int] = []
        self.logprobs: list[float] = []
        self.entropies: list[float] = []
        at = 0
        first = True
        for token in self.tokens:
            self.starts.append(at)
            after = at + len(token)
            if start >= 0 and at < end and after > start:
                sure = unit.confidence if first else 1 - (1 - unit.confidence) * 0.3
                first = False
                chance = min(max(sure + rng.gauss(0.0, 0.07), 0.02), 0.995)
                entropy = (1 - chance) * 3.0 + 0.3 * rng.random()
            else:
                chance = 1 - 0.25 * rng.random() ** 3
                entropy = (1 - chance) * 2.0 + 0.1 * rng.random()
            self.logprobs.append(math.log(chance))
            self.entropies.append(entropy)
            at = after

    def piece(self, first: int, last: int, skip: int = 0, finish: str = "") -> Piece:
        """Tokens `first` to `last`; `skip` characters of the first one stand already."""
        tokens = self.tokens[first:last]
        if skip and tokens:
            tokens = [tokens[0][skip:], *tokens[1:]]
        return Piece(
            "".join(tokens),
            tuple(map(token_id, tokens)),
            tuple(self.logprobs[first:last]),
            tuple(self.entropies[first:last]),
            finish,
            words=tuple(tokens),
        )
