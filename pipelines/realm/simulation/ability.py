"""How good the simulated reasoner is, and its seeded draws."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import TypeVar

T = TypeVar("T")
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Ability:
    """Chances, each in [0, 1]. Every draw hangs on the seed, the question and the hop alone, so
    that two methods meet the same knowledge (common random numbers)."""

    knows: float = 0.45
    """A hop's answer is known without reading."""
    reads: float = 0.95
    """A hop's gold sentence, where it is in the text, is used. Drawn once a hop."""
    misplaced: float = 0.12
    """Confidence is on the wrong side: wrong and sure, or right and unsure."""
    stubborn: float = 0.25
    """A claim that was wrong and sure is kept although the text now says otherwise."""
    distracted: float = 0.05
    """A known hop is lost where what was just retrieved says nothing of it (irrelevant context
    misleads models: arXiv 2302.00093). 0 turns this off."""
    asks_unsure: float = 0.45
    """An unsure hop gets a step that only says what is missing, before it is answered."""
    asks_sure: float = 0.15
    """The same for a sure hop."""
    checks: float = 0.1
    """An answered hop is followed by a step that goes over it again."""
    garbage: float = 0.02
    """A confidence prompt is answered with something that is no number from 0 to 100."""
    answerless: float = 0.0
    """A chain stops without its answer."""
    endless: float = 0.0
    """A chain goes over itself for ever."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(
                    f"the simulated reasoner's {field.name} is {value}; it is a chance, 0 to 1"
                )


def uniform(*key: object) -> float:
    """A draw from (0, 1) that is the same for the same key."""
    text = "\x1f".join(map(str, key)).encode()
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    return (number + 0.5) / 2**64


def normal(*key: object) -> float:
    """A standard normal draw that is the same for the same key."""
    return _NORMAL.inv_cdf(min(max(uniform(*key), 1e-12), 1 - 1e-12))


def choice(options: Sequence[T], *key: object) -> T:
    """One of `options`, the same for the same key."""
    return options[min(int(uniform(*key) * len(options)), len(options) - 1)]
