"""Keys and values of a text that were computed, as a transformers cache object."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class KeptCache:
    """The cache of `ids`, in order. Grows as the model is fed; never shared between two writers."""

    ids: list[int]
    cache: Any = None

    def reuse(self, wanted: Sequence[int]) -> int:
        """Crops to what `wanted` begins with, but its last token; gives how many tokens that is.

        A kind of cache that cannot be cropped (sliding windows that are full, linear attention) is
        dropped instead, unless nothing was to be cropped.
        """
        same = min(_common(self.ids, wanted), len(wanted) - 1)
        surplus = len(self.ids) - same
        if surplus and same and not self._crop(surplus):
            same = 0
        if not same:
            self.cache = None
        self.ids = self.ids[:same]
        return same

    def _crop(self, surplus: int) -> bool:
        from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

        kinds = (DynamicLayer, DynamicSlidingWindowLayer)
        if any(type(layer) not in kinds for layer in getattr(self.cache, "layers", [None])):
            return False
        try:
            self.cache.crop(-surplus)
        except RuntimeError:  # a window that is full
            return False
        return True

    def fork(self) -> "KeptCache":
        """Another one of the same tokens, without a copy of the numbers where that is safe.

        Full attention layers put new tensors in the place of old ones when they grow, so that two
        may have the old ones in common; other kinds are not forked: the new one is empty.
        """
        from transformers.cache_utils import DynamicLayer

        layers = getattr(self.cache, "layers", None)
        if not layers or any(type(layer) is not DynamicLayer for layer in layers):
            return KeptCache([])
        twin = copy.copy(self.cache)
        twin.layers = [copy.copy(layer) for layer in layers]
        return KeptCache(list(self.ids), twin)


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return place
    return min(len(a), len(b))
