"""What is stored of documents, compressed sixteen at a time."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from isal import isal_zlib

STORED_IN_BLOCK = 16
_LEVEL = 1  # as small as zlib's level 1, in a quarter of its time


def blocked(pieces: Sequence[bytes]) -> bytes:
    """The number of `pieces`, their lengths (uint32) and they themselves, in zlib's format."""
    lengths = np.array([len(piece) for piece in pieces], dtype="<u4").tobytes()
    return isal_zlib.compress(bytes([len(pieces)]) + lengths + b"".join(pieces), _LEVEL)


def unblocked(block: bytes) -> list[bytes]:
    """The pieces of a compressed block."""
    data = isal_zlib.decompress(block)
    start = 1 + 4 * data[0]
    ends = np.cumsum(np.frombuffer(data, "<u4", data[0], 1)) + start
    return [data[a:b] for a, b in pairwise([start, *ends.tolist()])]
