"""Batches of model inputs: each input once, like lengths together, by a budget of tokens."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from actors.expansion.kept_outputs import KeptOutputs, input_key
from actors.expansion.template import ModelInput, Template
from actors.packing import batches_of

Forward = Callable[[dict[str, torch.Tensor]], torch.Tensor]
"""From tensors (B, longest) to outputs (B, width)."""


class BatchRunner:
    """Runs `forward` over inputs and keeps the last `keep` outputs, so that equal inputs (orders
    that the window cuts to the same tokens) are computed once."""

    def __init__(
        self, forward: Forward, template: Template, *, device: str, budget: int, keep: int
    ) -> None:
        if budget < 1:
            raise ValueError(f"a batch budget of {budget} tokens")
        self._forward, self._template = forward, template
        self._device, self._budget = device, budget
        self._kept: KeptOutputs[ModelInput, np.ndarray] = KeptOutputs(keep)

    @property
    def computed(self) -> int:
        """Inputs that went through the model so far."""
        return self._kept.computed

    def run(self, inputs: Sequence[ModelInput]) -> list[np.ndarray]:
        """One output (width,) float32 an input, in their order."""
        keys = [input_key(each.split, each.ids) for each in inputs]
        return self._kept.outputs(keys, inputs, self._compute)

    @torch.inference_mode()
    def _compute(self, inputs: list[ModelInput]) -> list[np.ndarray]:
        batches = batches_of([len(each.ids) for each in inputs], self._budget)
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
        places = [place for batch in batches for place in batch]
        row_of = {place: row for row, place in enumerate(places)}
        return [rows[row_of[place]].copy() for place in range(len(inputs))]
