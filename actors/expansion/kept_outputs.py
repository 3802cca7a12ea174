"""Outputs of a model, kept so that equal inputs are computed once."""

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Input = TypeVar("Input")
Output = TypeVar("Output")


def input_key(split: int, ids: Iterable[int]) -> bytes:
    """What tells model inputs apart: their token ids, and where their second part begins."""
    return hashlib.blake2b(array("q", (split, *ids)).tobytes(), digest_size=16).digest()


class KeptOutputs(Generic[Input, Output]):
    """Outputs by key, of which the `keep` used last are held between calls."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._known: OrderedDict[bytes, Output] = OrderedDict()
        self.computed = 0
        """Inputs that were computed so far."""

    def outputs(
        self,
        keys: Sequence[bytes],
        inputs: Sequence[Input],
        compute: Callable[[list[Input]], Sequence[Output]],
    ) -> list[Output]:
        """The output of each input, in their order; `compute` gets those that are new, once."""
        new = {key: each for key, each in zip(keys, inputs, strict=True) if key not in self._known}
        for key in keys:
            if key in self._known:
                self._known.move_to_end(key)
        if new:
            self._known.update(zip(new, compute(list(new.values())), strict=True))
            self.computed += len(new)
        found = [self._known[key] for key in keys]
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
        return found
