"""Many ids as requests of a size that a service takes."""

from collections.abc import Iterator, Sequence


def chunks(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """`ids` in order, `size` at a time."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
