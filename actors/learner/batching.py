"""Token layout: a prompt once, all its completions after it, rows under a token budget.

A row of two completions `b` and `c` of one prompt `a` (the last token of a completion predicts
nothing and is left out):

    input ids     a0 a1 a2 b0 b1 b2 c0 c1 pad
    positions      0  1  2  3  4  5  3  4   0
    segments       0  0  0  1  1  1  2  2  -1

A token sees what precedes it in its own segment, and the prompt. `a2` predicts both `b0` and `c0`.
Shapes: B rows, L tokens a row, N completion tokens of the micro-batch, T those of all sequences.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from actors.packing import batches_of

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt and the sequences (by index) laid out after it."""

    prompt: Ids
    members: tuple[int, ...]
    length: int


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What one forward takes, and where each completion token's prediction is found."""

    input_ids: Tensor  # (B, L)
    position_ids: Tensor  # (B, L)
    segments: Tensor | None  # (B, L); None: one completion a row, plain causal attention
    source: Tensor  # (N,) index into B * L of the token that predicts
    targets: Tensor  # (N,) token ids
    flat: Tensor  # (N,) index into the T tokens of all sequences, laid end to end

    def attention_mask(self) -> Tensor | None:
        """(B, 1, L, L) bool, True = attend; None = causal."""
        if self.segments is None:
            return None
        query, key = self.segments[:, :, None], self.segments[:, None, :]  # (B, L, 1), (B, 1, L)
        length = self.segments.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
        return (causal & ((key == 0) | (key == query)))[:, None]

    def to(self, device: torch.device) -> "MicroBatch":
        """The same on another device."""
        segments = None if self.segments is None else self.segments.to(device)
        return MicroBatch(
            self.input_ids.to(device), self.position_ids.to(device), segments,
            self.source.to(device), self.targets.to(device), self.flat.to(device),
        )  # fmt: skip


def pack(
    prompts: Sequence[Ids],
    completions: Sequence[Ids],
    groups: Sequence[str],
    budget: int,
    share_prefix: bool,
    only: Iterable[int] | None = None,
) -> list[MicroBatch]:
    """Micro-batches of at most `budget` input tokens each, padding included, longest rows first.

    Args:
        prompts: token ids of each sequence's prompt, at least one.
        completions: token ids of each sequence's completion; an empty one takes no room.
        groups: group key of each; a prompt is shared within its group only.
        budget: tokens; a single sequence above it gets a micro-batch of its own.
        share_prefix: False lays out one completion a row.
        only: indices of the sequences to pack (default: all).

    Raises:
        ValueError: a prompt is empty (its completion's first token would have no source).
    """
    chosen = [i for i in (range(len(prompts)) if only is None else only) if completions[i]]
    if any(not prompts[i] for i in chosen):
        raise ValueError("a prompt has no tokens")
    rows = _rows(prompts, completions, groups, budget, share_prefix, chosen)
    rows.sort(key=lambda row: row.members)
    starts = [0]
    for completion in completions:
        starts.append(starts[-1] + len(completion))
    # Rows come longest first, so the first row of a micro-batch sets its width.
    return [
        _lay_out([rows[place] for place in batch], completions, starts)
        for batch in batches_of([row.length for row in rows], budget)
    ]


def _rows(
    prompts: Sequence[Ids],
    completions: Sequence[Ids],
    groups: Sequence[str],
    budget: int,
    share_prefix: bool,
    chosen: list[int],
) -> list[Row]:
    families: dict[tuple[str, Ids], list[int]] = {}
    for i in chosen:
        families.setdefault((groups[i], prompts[i]), []).append(i)
    rows = []
    for (_, prompt), members in families.items():
        row: list[int] = []
        length = len(prompt)
        for i in members:
            extra = len(completions[i]) - 1
            if row and (not share_prefix or length + extra > budget):
                rows.append(Row(prompt, tuple(row), length))
                row, length = [], len(prompt)
            row.append(i)
            length += extra
        rows.append(Row(prompt, tuple(row), length))
    return rows


def _lay_out(rows: list[Row], completions: Sequence[Ids], starts: list[int]) -> MicroBatch:
    width = rows[0].length
    input_ids = torch.zeros(len(rows), width, dtype=torch.long)
    position_ids = torch.zeros(len(rows), width, dtype=torch.long)
    segments = torch.full((len(rows), width), -1, dtype=torch.long)
    source: list[int] = []
    targets: list[int] = []
    flat: list[int] = []
    for b, row in enumerate(rows):
        ids, positions, parts = (
            list(row.prompt),
            list(range(len(row.prompt))),
            [0] * len(row.prompt),
        )
        for part, i in enumerate(row.members, start=1):
            completion = completions[i]
            begin, inputs = len(ids), len(completion) - 1
            source.append(b * width + len(row.prompt) - 1)
            source.extend(b * width + begin + t for t in range(inputs))
            targets.extend(completion)
            flat.extend(range(starts[i], starts[i + 1]))
            ids.extend(completion[:-1])
            positions.extend(len(row.prompt) + t for t in range(inputs))
            parts.extend([part] * inputs)
        input_ids[b, : len(ids)] = torch.tensor(ids)
        position_ids[b, : len(ids)] = torch.tensor(positions)
        segments[b, : len(ids)] = torch.tensor(parts)
    plain = all(len(row.members) == 1 for row in rows)
    return MicroBatch(
        input_ids,
        torch.arange(width).expand(len(rows), width).contiguous() if plain else position_ids,
        None if plain else segments,
        torch.tensor(source, dtype=torch.long),
        torch.tensor(targets, dtype=torch.long),
        torch.tensor(flat, dtype=torch.long),
    )
