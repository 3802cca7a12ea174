"""Seeds of random draws."""

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def seed_of(*parts: object) -> int:
    """A 31-bit seed that depends on all parts: the same run draws the same samples, resumed or
    not, on however many workers."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


def drawn(items: Sequence[T], most: int, seed: int) -> list[T]:
    """At most so many items (0 = all), drawn by `seed`, in their order."""
    if not most or most >= len(items):
        return list(items)
    places = sorted(random.Random(seed).sample(range(len(items)), most))
    return [items[place] for place in places]
