"""What is stored of documents, compressed sixteen at a time."""

import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

STORED_IN_BLOCK = 16
_LEVEL = 1  # of zlib


def blocked(pieces: Sequence[bytes]) -> bytes:
    """A compressed block: the number of pieces, their lengths (uint32), the pieces."""
    lengths = np.array([len(piece) for piece in pieces], dtype="<u4").tobytes()
    return zlib.compress(bytes([len(pieces)]) + lengths + b"".join(pieces), _LEVEL)


def unblocked(block: bytes) -> list[bytes]:
    """The pieces of a compressed block."""
    data = zlib.decompress(block)
    start = 1 + 4 * data[0]
    ends = np.cumsum(np.frombuffer(data, "<u4", data[0], 1)) + start
    return [data[a:b] for a, b in pairwise([start, *ends.tolist()])]
