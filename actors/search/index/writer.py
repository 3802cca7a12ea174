"""How documents become the files of a part.

Every distinct value gets a number once, whatever column it is in; prose, whose values hardly
repeat, is split into words at once. Only at the end are numbers turned into words and whole values,
column by column, in numpy.
"""

import hashlib
import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from actors.search.index.arrays import save
from actors.search.index.blocks import STORED_IN_BLOCK, blocked
from actors.search.index.schema import Batch, Coded, Flat, Rows, Schema
from actors.search.index.terms import packed
from actors.search.index.tokens import DOCUMENT, VALUE, normal, raw, tokens

_PROSE = 48
"""Values of more characters than this, on average, are split into words at once."""
_SPLIT = 128  # documents whose words are looked up at a time
_VALUE, _DOCUMENT = 0, 1  # numbers of the marks in streams of words


def _numbers(known: dict[Any, int]) -> defaultdict[Any, int]:
    """Numbers by first appearance, after those that are `known`."""
    return defaultdict(count(len(known)).__next__, known)


class _Values(NamedTuple):
    """A batch of one column: the number of each value, and how many a document has."""

    numbers: np.ndarray
    counts: np.ndarray


class _Words(NamedTuple):
    """A batch of one text column: words and marks as numbers."""

    numbers: np.ndarray


class PartWriter:
    """Takes batches, then writes them all."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._ids: list[str] = []
        self._digests: list[bytes] = []
        self._blocks: list[bytes] = []
        self._pending: list[bytes] = []  # stored bytes that do not fill a block yet
        self._values = _numbers({})
        # By identity, which stays theirs as they are kept: values of `Coded` and their numbers.
        self._tables: dict[int, tuple[Sequence[str], array[int]]] = {}
        self._words = _numbers({VALUE: _VALUE, DOCUMENT: _DOCUMENT})
        self._columns: dict[str, list[_Values | _Words]] = {c: [] for c in schema.stores}
        self._scalars: dict[str, list[np.ndarray]] = {
            c: [] for c in (*schema.days, *schema.numbers)
        }

    def add(self, batch: Batch) -> None:
        """Take `batch`. ValueError for an id that is empty or holds a line feed."""
        schema, size = self._schema, len(batch.ids)
        if bad := [i for i in batch.ids if not i or "\n" in i]:
            raise ValueError(f"document id {bad[0]!r} is empty or holds a line feed")
        self._ids.extend(batch.ids)
        none = Flat((), np.zeros(size, dtype=np.uint32))
        numbered: dict[int, _Values] = {}
        for columns, rows_of in (
            (schema.text, batch.text),
            ((*schema.values, *schema.raw), batch.values),
        ):
            for name in columns:
                rows = rows_of.get(name, none)
                if name in schema.text and _is_prose(rows):
                    self._columns[name].append(_Words(self._split(_nested(rows))))
                    continue
                if id(rows) not in numbered:
                    numbered[id(rows)] = self._number(rows, size)
                self._columns[name].append(numbered[id(rows)])
        for name in schema.days:
            self._scalars[name].append(np.array(batch.days.get(name, [0] * size), np.int32))
        for name in schema.numbers:
            numbers = batch.numbers.get(name, [np.nan] * size)
            self._scalars[name].append(np.array(numbers, np.float64))
        self._digests.extend([hashlib.sha256(stored).digest() for stored in batch.stored])
        self._pending.extend(batch.stored)
        self._compress(len(self._pending) - len(self._pending) % STORED_IN_BLOCK)

    def finish(self, folder: Path, deletions: Iterable[str], source: str) -> None:
        """Write everything into `folder`, `part.json` last."""
        self._compress(len(self._pending))
        words, ranks, of_values = self._vocabulary()
        for name in self._schema.text:
            batches = self._columns.pop(name)
            save(folder / f"{name}.column", _text_column(batches, words, ranks, of_values))
        for columns, rule in ((self._schema.values, normal), (self._schema.raw, raw)):
            for name, arrays in self._value_columns(columns, rule):
                save(folder / f"{name}.column", arrays)
        save(folder / "store", {"store": np.frombuffer(b"".join(self._blocks), np.uint8)})
        arrays = {
            "ids": _lines(self._ids),
            "deletions": _lines(deletions),
            "digests": np.frombuffer(b"".join(self._digests), np.uint8),
            "blocks": np.cumsum([0, *map(len, self._blocks)], dtype=np.uint64),
        }
        for name, pieces in self._scalars.items():
            dtype = np.int32 if name in self._schema.days else np.float64
            arrays[f"scalar.{name}"] = np.concatenate([np.empty(0, dtype), *pieces])
        save(folder / "documents", arrays)
        info = {
            "schema_name": self._schema.name,
            "schema": self._schema.fingerprint(),
            "documents": len(self._ids),
            "source": source,
        }
        (folder / "part.json").write_text(json.dumps(info, indent=2) + "\n", encoding="utf-8")

    def _number(self, rows: Rows, documents: int) -> _Values:
        if isinstance(rows, Coded):
            numbers = self._tables.setdefault(id(rows.values), (rows.values, array("I")))[1]
            numbers.extend(map(self._values.__getitem__, rows.values[len(numbers) :]))
            return _Values(np.frombuffer(numbers, np.uint32)[rows.numbers], rows.counts)
        flat, counts = _flat(rows, documents)
        numbers = array("I")
        numbers.extend(map(self._values.__getitem__, flat))
        return _Values(np.frombuffer(numbers, np.uint32), counts)

    def _split(self, rows: Sequence[Sequence[str]]) -> np.ndarray:
        numbers = array("I")
        for i in range(0, len(rows), _SPLIT):  # few enough for their words to stay in the cache
            numbers.extend(map(self._words.__getitem__, tokens(rows[i : i + _SPLIT])))
        return np.frombuffer(numbers, np.uint32)

    def _compress(self, count: int) -> None:
        for i in range(0, count, STORED_IN_BLOCK):
            self._blocks.append(blocked(self._pending[i : min(count, i + STORED_IN_BLOCK)]))
        del self._pending[:count]

    def _vocabulary(self) -> tuple[list[bytes], np.ndarray, "_Ragged"]:
        """All words in order, the rank of each word's number, the word numbers of each value."""
        used = _used(
            (b for name in self._schema.text for b in self._columns[name]), len(self._values)
        )
        values = list(self._values)
        stream = self._split([[values[i]] for i in used.tolist()])
        of_values = _Ragged.of(stream, used, len(values))
        del self._words[DOCUMENT]
        self._words[b""] = self._words.pop(VALUE)
        ordered = sorted(self._words)
        ranks = np.zeros(len(ordered) + 1, np.uint32)  # a document's mark takes the rank of ""
        ranks[[self._words[word] for word in ordered]] = np.arange(len(ordered), dtype=np.uint32)
        self._words.clear()
        return ordered, ranks, of_values

    def _value_columns(
        self, columns: Sequence[str], rule: Callable[[Sequence[str]], list[bytes]]
    ) -> Iterable[tuple[str, dict[str, np.ndarray]]]:
        """The columns' arrays; the empty value has rank 0 in each."""
        batches = {name: self._columns.pop(name) for name in columns}
        used = _used(chain.from_iterable(batches.values()), len(self._values))
        values = list(self._values)
        written = rule([values[i] for i in used.tolist()])
        ordered = sorted({b"", *written})
        rank = dict(zip(ordered, range(len(ordered)), strict=True))
        ranks = np.zeros(len(values), np.uint32)
        ranks[used] = np.fromiter(map(rank.__getitem__, written), np.uint32, len(written))
        for name, pieces in batches.items():
            numbers = [ranks[piece.numbers] for piece in pieces]
            counts = [piece.counts for piece in pieces if isinstance(piece, _Values)]
            stream = np.concatenate([np.empty(0, np.uint32), *numbers])
            yield name, _column(ordered, stream, np.concatenate([np.empty(0, np.uint32), *counts]))


class _Ragged(NamedTuple):
    """Rows of different length in one array."""

    values: np.ndarray
    starts: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(stream: np.ndarray, used: np.ndarray, size: int) -> "_Ragged":
        """Row `used[i]` is what follows the i-th document mark, with a value mark in its place."""
        stream = stream.copy()
        at = np.flatnonzero(stream == _DOCUMENT)
        stream[at] = _VALUE
        starts, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
        starts[used] = at
        counts[used] = np.diff(at, append=len(stream))
        return _Ragged(stream, starts, counts)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The `rows`, one after the other."""
        counts = self.counts[rows]
        begin = np.cumsum(counts) - counts
        steps = np.arange(int(counts.sum()))
        return self.values[np.repeat(self.starts[rows] - begin, counts) + steps]


def _text_column(
    batches: Sequence[_Values | _Words], words: list[bytes], ranks: np.ndarray, of_values: _Ragged
) -> dict[str, np.ndarray]:
    streams, lengths = [np.empty(0, np.uint32)], [np.empty(0, np.uint32)]
    for batch in batches:
        if isinstance(batch, _Words):
            at = np.flatnonzero(batch.numbers == _DOCUMENT)
            streams.append(ranks[batch.numbers])
            lengths.append(np.diff(at, append=len(batch.numbers)).astype(np.uint32))
            continue
        stream, length = _marked(batch, of_values)
        streams.append(ranks[stream])
        lengths.append(length)
    return _column(words, np.concatenate(streams), np.concatenate(lengths))


def _marked(batch: _Values, of_values: _Ragged) -> tuple[np.ndarray, np.ndarray]:
    """Word numbers of a batch's values, each after its mark; an empty document is one mark."""
    ends = np.cumsum(batch.counts, dtype=np.int64)
    words = np.concatenate([[0], np.cumsum(of_values.counts[batch.numbers])])
    lengths = words[ends] - words[ends - batch.counts]
    stream = of_values.take(batch.numbers)
    empty = np.flatnonzero(batch.counts == 0)
    if len(empty):
        stream = np.insert(stream, words[ends[empty]], _VALUE)
        lengths[empty] = 1
    return stream, lengths.astype(np.uint32)


def _column(terms: list[bytes], stream: np.ndarray, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays of a column's file: only the terms that occur, and the empty one at rank 0."""
    occurs = np.zeros(len(terms), dtype=bool)
    occurs[stream] = True
    occurs[0] = True
    kept = np.flatnonzero(occurs)
    ranks = np.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
    return {
        **packed([terms[i] for i in kept.tolist()]),
        "stream": ranks[stream],
        "lengths": lengths,
    }


def _used(batches: Iterable[_Values | _Words], size: int) -> np.ndarray:
    """The numbers of values that occur in any of `batches`, ascending."""
    occurs = np.zeros(size, dtype=bool)
    for batch in batches:
        if isinstance(batch, _Values):
            occurs[batch.numbers] = True
    return np.flatnonzero(occurs)


def _is_prose(rows: Rows) -> bool:
    if isinstance(rows, Flat | Coded):
        return False
    values = [value for row in rows[:100] for value in row]
    return sum(map(len, values)) > _PROSE * len(values)


def _flat(rows: Rows, documents: int) -> tuple[Iterable[str], np.ndarray]:
    if isinstance(rows, Flat):
        return rows.values, np.asarray(rows.counts, dtype=np.uint32)
    return chain.from_iterable(rows), np.fromiter(map(len, rows), np.uint32, documents)


def _nested(rows: Rows) -> Sequence[Sequence[str]]:
    assert not isinstance(rows, Flat)
    return rows


def _lines(ids: Iterable[str]) -> np.ndarray:
    return np.frombuffer("".join([i + "\n" for i in ids]).encode("utf-8", "replace"), np.uint8)
