"""Windows over a text's tokens, and batches of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pipelines.realm.segment.features import Reading, kind, place
from pipelines.realm.segment.network import Batch


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [first, end) of a reading, and which of its candidates are classified there."""

    reading: Reading
    first: int
    end: int
    candidates: tuple[int, ...]


def deciding_window(reading: Reading, candidate: int, width: int, look_ahead: int) -> Window:
    """The window that a candidate is decided in: `look_ahead` tokens from the candidate's own on,
    fewer at the end of the text, and as many before as `width` leaves."""
    end = min(len(reading), reading.tokens_of[candidate] + look_ahead)
    return Window(reading, max(0, end - width), end, (candidate,))


def training_windows(reading: Reading, width: int, stride: int, shift: int) -> list[Window]:
    """Windows of `width` tokens every `stride`, the first `shift` tokens before the text. Each
    candidate is classified once: in the first window that shows `_LEAST` tokens from it on."""
    windows: list[Window] = []
    taken = 0
    first = -shift
    while taken < len(reading.candidates):
        end = min(len(reading), first + width)
        inside = end if end == len(reading) else end - _LEAST
        upto = taken
        while upto < len(reading.candidates) and reading.tokens_of[upto] < inside:
            upto += 1
        if upto > taken:
            windows.append(Window(reading, max(0, first), end, tuple(range(taken, upto))))
        taken = upto if end < len(reading) else len(reading.candidates)
        first += stride
    return windows


_LEAST = 8


def batch_of(windows: Sequence[Window]) -> Batch:
    """One batch; candidates in the order of the windows."""
    lengths = [each.end - each.first for each in windows]
    made = np.zeros((len(windows), max(lengths), 2), dtype=np.int64)
    rows, columns, places, kinds = [], [], [], []
    for row, each in enumerate(windows):
        made[row, : lengths[row]] = each.reading.array(each.first, each.end)
        for candidate in each.candidates:
            rows.append(row)
            columns.append(each.reading.tokens_of[candidate] - each.first)
            places.append(place(each.reading.candidates[candidate]))
            kinds.append(kind(each.reading.candidates[candidate]))
    return Batch(
        tokens=torch.from_numpy(made[:, :, 0]),
        looks=torch.from_numpy(made[:, :, 1]),
        lengths=torch.tensor(lengths),
        rows=torch.tensor(rows),
        columns=torch.tensor(columns),
        places=torch.tensor(places),
        kinds=torch.tensor(kinds),
    )
