"""What an encoder reads: special tokens round the ids of one text or of a pair, cut to a window."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class ModelInput:
    """Ids with special tokens. `split` is where the second text's tokens begin (their number if
    there is none), `tokens` the length before it was cut."""

    ids: tuple[int, ...]
    split: int
    tokens: int

    @property
    def truncated(self) -> bool:
        """Whether the window cut it."""
        return self.tokens > len(self.ids)


class Template:
    """The special tokens of `tokenizer` round one text, or with `pair` round two, and its window.

    A pair that is too long loses tokens as Hugging Face's `longest_first` takes them: from the end
    of the longer text, until both are equally long.
    """

    def __init__(self, tokenizer: Any, window: int, *, pair: bool) -> None:
        made = tokenizer(
            "a", "b" if pair else None, return_special_tokens_mask=True, return_token_type_ids=True
        )
        runs = _runs(made["special_tokens_mask"])
        expected = [1, 0, 1, 0, 1] if pair else [1, 0, 1]
        found = [value for value, _, _ in runs]
        if found != expected and found != expected[1:] and found != expected[:-1]:
            raise ValueError(f"special tokens in an order this cannot read: {found}")
        specials = [tuple(made["input_ids"][a:b]) for value, a, b in runs if value]
        if found[0] == 0:
            specials.insert(0, ())
        if found[-1] == 0:
            specials.append(())
        self._specials = specials
        self._types = (made["token_type_ids"][0], made["token_type_ids"][-1])
        self._wants_types = "token_type_ids" in tokenizer.model_input_names
        self._pad = tokenizer.pad_token_id or 0
        self._pad_left = tokenizer.padding_side == "left"
        self.window = window
        self.room = window - sum(map(len, specials))
        """Tokens of text that fit."""
        if self.room < 1:
            raise ValueError(f"a window of {window} tokens has no room for text")

    def single(self, ids: Sequence[int], total: int) -> ModelInput:
        """One text of `total` tokens, of which `ids` are at least those that fit."""
        before, after = self._specials
        made = (*before, *ids[: self.room], *after)
        return ModelInput(made, len(made), total + len(before) + len(after))

    def pair(self, first: Sequence[int], second: Sequence[int], total: int) -> ModelInput:
        """Two texts; the second one has `total` tokens, of which `second` are at least those that
        fit."""
        before, between, after = self._specials
        keep_first, keep_second = longest_first(len(first), total, self.room)
        head = (*before, *first[:keep_first], *between)
        specials = len(before) + len(between) + len(after)
        return ModelInput(
            (*head, *second[:keep_second], *after), len(head), len(first) + total + specials
        )

    def tensors(self, inputs: Sequence[ModelInput]) -> dict[str, torch.Tensor]:
        """What the model's forward takes, each (B, longest), padded."""
        longest = max(len(each.ids) for each in inputs)
        rows, mask, types = [], [], []
        for each in inputs:
            length, gap = len(each.ids), longest - len(each.ids)
            kinds = [self._types[0]] * each.split + [self._types[1]] * (length - each.split)
            left, right = (gap, 0) if self._pad_left else (0, gap)
            rows.append([self._pad] * left + [*each.ids] + [self._pad] * right)
            mask.append([0] * left + [1] * length + [0] * right)
            types.append([0] * left + kinds + [0] * right)
        made = {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(mask)}
        if self._wants_types:
            made["token_type_ids"] = torch.tensor(types)
        return made


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Tokens kept of two texts whose lengths are given (`TruncationStrategy::LongestFirst` of
    huggingface/tokenizers)."""
    if first + second <= room:
        return first, second
    short, long = min(first, second), max(first, second)
    long = max(short, room - short) if short <= room else short
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return (short, long) if first <= second else (long, short)


def _runs(mask: Sequence[int]) -> list[tuple[int, int, int]]:
    starts = [i for i in range(len(mask)) if i == 0 or mask[i] != mask[i - 1]]
    return [
        (mask[start], start, end)
        for start, end in zip(starts, [*starts[1:], len(mask)], strict=True)
    ]
