"""Seeds of random draws."""

import hashlib


def seed_of(*parts: object) -> int:
    """A 31-bit seed that depends on all parts: the same run draws the same samples, resumed or
    not, on however many workers."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1
