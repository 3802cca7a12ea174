"""What an index holds: its columns by kind, and documents as the builder takes them."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

BATCH = 1000
"""Documents that the builder encodes at a time."""


@dataclass(frozen=True)
class Schema:
    """The columns of an index. `order` is the day column that ordinals follow.

    `text`: words with positions; values never run into each other. `values`: whole values as
    `" ".join(words(value))`. `raw`: whole values in lower case with single blanks. `days`: one day
    a document. `numbers`: one number a document.
    """

    name: str
    order: str
    text: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    version: int = 1

    def __post_init__(self) -> None:
        columns = [*self.text, *self.values, *self.raw, *self.days, *self.numbers]
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise ValueError(f"schema {self.name!r} names the columns {', '.join(twice)} twice")
        if self.order not in self.days:
            raise ValueError(f"schema {self.name!r}: order {self.order!r} is not a day column")

    @property
    def stores(self) -> frozenset[str]:
        """The columns that atoms can ask for."""
        return frozenset((*self.text, *self.values, *self.raw))

    def fingerprint(self) -> str:
        """A short hash of all of the above."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Document:
    """One thing to index. A column that is not given is empty.

    `days` are proleptic Gregorian day numbers (`date.toordinal`), 0 for none. `stored` comes back
    from the index as it went in; the corpus's content hash is made of it.
    """

    id: str
    text: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    days: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    stored: bytes = b""


class Flat(NamedTuple):
    """The values of documents in a row, and how many of them each document has."""

    values: Sequence[str]
    counts: Sequence[int] | np.ndarray


class Coded(Sequence[Sequence[str]]):
    """Rows of values that repeat: `values[number]` for each of `numbers`, `counts[i]` in row i.

    `values` are distinct; columns and batches best share one list, which may grow at its end.
    """

    def __init__(self, values: Sequence[str], numbers: np.ndarray, counts: np.ndarray) -> None:
        self.values = values
        self.numbers = numbers
        self.counts = counts
        self._ends = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        end = int(self._ends[range(1, len(self) + 1)[row]])
        numbers = self.numbers[end - int(self.counts[row]) : end]
        return [self.values[number] for number in numbers.tolist()]


Rows = Sequence[Sequence[str]] | Flat
"""The values of each document of a batch."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents column by column, as many everywhere as `ids`. Columns may be left out.

    Columns of the same values best share one `Rows` object, which is then read once.
    """

    ids: Sequence[str]
    stored: Sequence[bytes]
    text: Mapping[str, Rows]
    values: Mapping[str, Rows]
    days: Mapping[str, Sequence[int]]
    numbers: Mapping[str, Sequence[float]]


def batches(documents: Iterable[Document], schema: Schema, size: int = BATCH) -> Iterator[Batch]:
    """`documents` in batches. ValueError names a document with a column that is not there."""
    iterator = iter(documents)
    while chunk := list(islice(iterator, size)):
        for document in chunk:
            _check(document, schema)
        yield Batch(
            [d.id for d in chunk],
            [d.stored for d in chunk],
            {c: [d.text.get(c, ()) for d in chunk] for c in schema.text},
            {c: [d.values.get(c, ()) for d in chunk] for c in (*schema.values, *schema.raw)},
            {c: [d.days.get(c, 0) for d in chunk] for c in schema.days},
            {c: [d.numbers.get(c, float("nan")) for d in chunk] for c in schema.numbers},
        )


def _check(document: Document, schema: Schema) -> None:
    for kind, known in (
        ("text", schema.text),
        ("values", (*schema.values, *schema.raw)),
        ("days", schema.days),
        ("numbers", schema.numbers),
    ):
        unknown = [name for name in getattr(document, kind) if name not in known]
        if unknown:
            raise ValueError(
                f"document {document.id!r}: {kind} columns {unknown} are not in schema "
                f"{schema.name!r}"
            )
