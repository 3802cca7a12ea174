"""The rule of `actors.search.text.words` over whole batches, in bytes.

The rule maps each character on its own, so its table is read off the rule itself. Bytes are UTF-8;
their order is code point order.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from actors.search.text import words

VALUE = b"\x00"
"""The token that stands before every value, also the first."""
DOCUMENT = b"\x01"
"""The token that stands for `VALUE` before the first value of a document."""


def _mapped(character: str) -> str:
    return " ".join(words(f"a{character}b"))[1:-1]


def _byte(code: int) -> int:
    mapped = _mapped(chr(code))
    return ord(mapped) if len(mapped) == 1 else ord(" ")


_ASCII = bytes(_byte(code) if code < 128 else code for code in range(256))
_ASCII_KEEPING_MARKS = VALUE + DOCUMENT + _ASCII[2:]


class _Runs(dict[bytes, bytes]):
    """What each run of non-ASCII characters becomes."""

    def __missing__(self, run: bytes) -> bytes:
        text = run.decode("utf-8", "surrogatepass")
        folded = "".join(map(_mapped, text)).encode()
        if len(self) < 500_000:
            self[run] = folded
        return folded


_runs = _Runs()


def fold(text: str, table: bytes = _ASCII) -> bytes:
    """`text` with its words in their indexed form and blanks between them."""
    data = text.encode("utf-8", "surrogatepass").translate(table)
    if text.isascii():
        return data
    return _folded(data)


def _folded(data: bytes) -> bytes:
    at = np.flatnonzero(np.frombuffer(data, np.int8) < 0)
    gaps = np.flatnonzero(np.diff(at) > 1)
    starts = at[np.append(0, gaps + 1)].tolist()
    ends = (at[np.append(gaps, -1)] + 1).tolist()
    pieces = []
    done = 0
    for start, end in zip(starts, ends, strict=True):
        pieces.append(data[done:start])
        pieces.append(_runs[data[start:end]])
        done = end
    pieces.append(data[done:])
    return b"".join(pieces)


def normal(values: Sequence[str]) -> list[bytes]:
    """The words of each of `values`, joined by blanks."""
    text = "\x00".join(values)
    if text.count("\x00") > len(values) - 1 or "\x01" in text:
        text = "\x00".join(map(_unmarked, values))
    pieces = fold(text, _ASCII_KEEPING_MARKS).split(VALUE) if values else []
    return [b" ".join(piece.split()) for piece in pieces]


def raw(values: Sequence[str]) -> list[bytes]:
    """Each of `values` in lower case with single blanks."""
    return [" ".join(value.lower().split()).encode("utf-8", "replace") for value in values]


def tokens(rows: Sequence[Sequence[str]]) -> list[bytes]:
    """The words of all `rows` (documents) with `DOCUMENT` and `VALUE` marks."""
    if not rows:
        return []
    text = "\x01" + "\x01".join(["\x00".join(values) for values in rows])
    marks = sum([len(values) - 1 for values in rows if values])
    if text.count("\x00") != marks or text.count("\x01") != len(rows):
        return tokens([[_unmarked(value) for value in values] for values in rows])
    data = fold(text, _ASCII_KEEPING_MARKS)
    return data.replace(VALUE, b" \x00 ").replace(DOCUMENT, b" \x01 ").split()


def _unmarked(value: str) -> str:
    return value.replace("\x00", " ").replace("\x01", " ")


def encoded(terms: Iterable[str]) -> tuple[bytes, ...]:
    """Words of a query as the index holds them."""
    return tuple(term.encode("utf-8", "replace") for term in terms)
