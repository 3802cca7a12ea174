"""The second pass over one column: streams of documents become postings of terms.

Documents are gathered in their final order block by block, so memory is bounded by the block and
the vocabulary; within a block a sort of (term, position) pairs inverts.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actors.search.index import postings
from actors.search.index.terms import packed

BLOCK_TOKENS = 8_000_000
_MAX_TOKENS = 2**32 - 2


@dataclass(frozen=True, slots=True)
class Rows:
    """The documents of a shard in final order: which part each is in, and where in it."""

    parts: np.ndarray  # (documents,) uint32
    rows: np.ndarray  # (documents,) uint32


Column = tuple[list[bytes], np.ndarray, np.ndarray]
"""As `Part.column` gives it."""


def inverted(
    name: str, columns: Sequence[Column], order: Rows, text: bool, scratch: Path
) -> dict[str, np.ndarray]:
    """The arrays of a column's file, from that column of every part. `scratch` is for big ones.

    ValueError when a shard has too many words for 32-bit positions.
    """
    terms, ranks = _union([column[0] for column in columns])
    lengths = np.zeros(len(order.rows), dtype=np.uint32)
    for number, (_, _, part_lengths) in enumerate(columns):
        mine = order.parts == number
        lengths[mine] = part_lengths[order.rows[mine]]
    starts = np.zeros(len(lengths) + 1, dtype=np.uint64)
    np.cumsum(lengths, out=starts[1:])
    total = int(starts[-1])
    if total > _MAX_TOKENS:
        raise ValueError(
            f"column {name!r} of one shard has {total} words, {_MAX_TOKENS} fit: use more shards"
        )
    blocks = _Blocks(len(terms), text, scratch)
    for first, last, stream in _gathered(columns, ranks, order, lengths, starts):
        counts = lengths[first:last]
        if text and last == len(lengths):  # one more mark, after the last document's last value
            stream = np.append(stream, np.uint32(0))
            counts = np.append(counts[:-1], counts[-1] + np.uint32(1))
        blocks.add(stream, int(starts[first]), first, counts)
    return blocks.arrays(terms, starts, len(lengths), total + 1)


def _union(vocabularies: Sequence[list[bytes]]) -> tuple[list[bytes], list[np.ndarray]]:
    """All terms, sorted, and for each vocabulary its terms' ranks among all."""
    if len(vocabularies) == 1:
        return vocabularies[0], [np.arange(len(vocabularies[0]), dtype=np.uint32)]
    gathered = [term for vocabulary in vocabularies for term in vocabulary]
    gathered.sort()
    terms = list(dict.fromkeys(gathered))
    rank = dict(zip(terms, range(len(terms)), strict=True))
    return terms, [
        np.fromiter(map(rank.__getitem__, vocabulary), np.uint32, len(vocabulary))
        for vocabulary in vocabularies
    ]


def _gathered(
    columns: Sequence[Column],
    ranks: Sequence[np.ndarray],
    order: Rows,
    lengths: np.ndarray,
    starts: np.ndarray,
) -> Iterator[tuple[int, int, np.ndarray]]:
    """(first document, last document + 1, their term ranks), in order and block by block."""
    part_starts = []
    for _, _, part_lengths in columns:
        part_starts.append(np.zeros(len(part_lengths) + 1, dtype=np.int64))
        np.cumsum(part_lengths, out=part_starts[-1][1:])
    first = 0
    while first < len(lengths):
        limit = np.uint64(int(starts[first]) + BLOCK_TOKENS)
        last = max(first + 1, int(np.searchsorted(starts, limit, "right")) - 1)
        stream = np.empty(int(starts[last]) - int(starts[first]), dtype=np.uint32)
        to = (starts[first:last] - starts[first]).astype(np.int64)
        block_parts = order.parts[first:last]
        for number in np.unique(block_parts).tolist():
            mine = np.flatnonzero(block_parts == number)
            count = lengths[first:last][mine].astype(np.int64)
            begin = np.cumsum(count) - count
            steps = np.arange(int(count.sum()))
            source = part_starts[number][order.rows[first:last][mine]]
            found = columns[number][1][np.repeat(source - begin, count) + steps]
            if len(columns) > 1:
                found = ranks[number][found]
                stream[np.repeat(to[mine] - begin, count) + steps] = found
            else:
                stream = found
        yield first, last, stream
        first = last


class _Blocks:
    """Inverted blocks, kept until all are there and then laid end to end term by term."""

    def __init__(self, terms: int, text: bool, scratch: Path) -> None:
        self._terms = terms
        self._text = text
        self._scratch = Path(tempfile.mkdtemp(dir=scratch))
        self._files = 0
        self._blocks: list[dict[str, np.ndarray]] = []

    def add(self, stream: np.ndarray, base: int, document: int, lengths: np.ndarray) -> None:
        """A block of documents from `document` on; it starts at position `base`."""
        key = stream.astype(np.uint64) << np.uint64(32)
        key |= np.arange(len(stream), dtype=np.uint64)
        key.sort()
        term = (key >> np.uint64(32)).astype(np.uint32)
        place = key.astype(np.uint32)
        owner = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)[place]
        changes = np.empty(len(term), dtype=bool)
        changes[:1] = True
        np.not_equal(term[1:], term[:-1], out=changes[1:])
        changes[1:] |= owner[1:] != owner[:-1]
        if not self._text:
            changes &= term != 0  # the empty value
        first_of = np.flatnonzero(changes)
        documents = owner[first_of] + np.uint32(document)
        block: dict[str, np.ndarray] = {}
        block["docs.counts"] = np.bincount(term[first_of], minlength=self._terms)
        block["docs"] = documents
        if self._text:
            block["positions.counts"] = np.bincount(term, minlength=self._terms)
            block["positions"] = place + np.uint32(base)
            times = np.diff(first_of, append=len(term))
            block["times"] = np.minimum(times, 255).astype(np.uint8)
        self._blocks.append({k: self._put(v) for k, v in block.items()})

    def arrays(
        self, terms: list[bytes], starts: np.ndarray, documents: int, positions: int
    ) -> dict[str, np.ndarray]:
        """Everything of the column's file; terms of no document are dropped."""
        docs_counts, docs = self._joined("docs.counts", "docs")
        kept = np.flatnonzero(docs_counts > 0)
        if self._text:
            kept = np.union1d(kept, [0])
        if len(kept) < len(terms):
            terms = [terms[rank] for rank in kept.tolist()]
        out = {
            **packed(terms),
            **postings.packed("docs", docs_counts[kept], docs, documents),
        }
        if self._text:
            counts, places = self._joined("positions.counts", "positions")
            out |= postings.packed("positions", counts[kept], places, positions)
            out["times"] = self._joined("docs.counts", "times")[1]
            out["times.starts"] = np.concatenate(
                [np.zeros(1, np.uint64), np.cumsum(docs_counts[kept], dtype=np.uint64)]
            )
            out["starts"] = starts.astype(np.uint32)
            marks = np.concatenate([np.zeros(1, np.int64), np.diff(starts).astype(np.int64)])
            out["lengths"] = (marks[1:] - self._marks(places, counts, starts)).astype(np.uint32)
        return out

    def _marks(self, places: np.ndarray, counts: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Number of value marks of each document."""
        at = np.searchsorted(places[: int(counts[0])], starts.astype(np.uint32))
        return np.diff(at)

    def _joined(self, counts: str, values: str) -> tuple[np.ndarray, np.ndarray]:
        if len(self._blocks) == 1:
            return self._blocks[0][counts], self._blocks[0][values]
        total = np.zeros(self._terms, dtype=np.int64)
        for block in self._blocks:
            total += block[counts]
        size = int(total.sum())
        dtype = self._blocks[0][values].dtype if self._blocks else np.dtype(np.uint32)
        out = self._map(size, dtype)
        cursor = np.cumsum(total) - total
        for block in self._blocks:
            count = block[counts]
            begin = np.cumsum(count) - count
            out[np.repeat(cursor - begin, count) + np.arange(int(count.sum()))] = block[values]
            cursor += count
        return total, out

    def _put(self, array: np.ndarray) -> np.ndarray:
        if array.nbytes < 2**20:
            return array
        out = self._map(len(array), array.dtype)
        out[:] = array
        return out

    def _map(self, size: int, dtype: np.dtype) -> np.ndarray:
        if size * dtype.itemsize < 2**20:
            return np.empty(size, dtype)
        self._files += 1
        return np.memmap(
            self._scratch / f"{self._files}", dtype=dtype, mode="w+", shape=(size,)
        ).view(np.ndarray)
