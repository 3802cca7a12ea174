"""Batches of model inputs: each input once, like lengths together, by a budget of tokens."""

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
import torch

from actors.expansion.template import ModelInput, Template

Forward = Callable[[dict[str, torch.Tensor]], torch.Tensor]
"""From tensors (B, longest) to outputs (B, width)."""


def pack(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Positions of `lengths` in batches, longest first, whose rows times longest row is at most
    `budget`; a longer row is a batch of its own."""
    batches: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        batch = batches[-1] if batches else None
        if batch is not None and (len(batch) + 1) * lengths[batch[0]] <= budget:
            batch.append(position)
        else:
            batches.append([position])
    return batches


class BatchRunner:
    """Runs `forward` over inputs and keeps the last `keep` outputs, so that equal inputs (orders
    that the window cuts to the same tokens) are computed once."""

    def __init__(
        self, forward: Forward, template: Template, *, device: str, budget: int, keep: int
    ) -> None:
        if budget < 1:
            raise ValueError(f"a batch budget of {budget} tokens")
        self._forward, self._template = forward, template
        self._device, self._budget, self._keep = device, budget, keep
        self._known: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self.computed = 0
        """Inputs that went through the model so far."""

    def run(self, inputs: Sequence[ModelInput]) -> list[np.ndarray]:
        """One output (width,) float32 an input, in their order."""
        keys = [_key(each) for each in inputs]
        new = {key: each for key, each in zip(keys, inputs, strict=True) if key not in self._known}
        for key in keys:
            if key in self._known:
                self._known.move_to_end(key)
        if new:
            self._compute(list(new), list(new.values()))
        found = [self._known[key] for key in keys]
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
        return found

    @torch.inference_mode()
    def _compute(self, keys: list[bytes], inputs: list[ModelInput]) -> None:
        batches = pack([len(each.ids) for each in inputs], self._budget)
        outputs = []
        for batch in batches:
            tensors = self._template.tensors([inputs[i] for i in batch])
            if self._device.startswith("cuda"):
                tensors = {
                    name: tensor.pin_memory().to(self._device, non_blocking=True)
                    for name, tensor in tensors.items()
                }
            outputs.append(self._forward(tensors).float())
        rows = torch.cat(outputs).cpu().numpy()
        for row, position in enumerate(position for batch in batches for position in batch):
            self._known[keys[position]] = rows[row].copy()
        self.computed += len(inputs)


def _key(each: ModelInput) -> bytes:
    data = array("q", (each.split, *each.ids)).tobytes()
    return hashlib.blake2b(data, digest_size=16).digest()
