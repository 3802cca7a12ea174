"""Metrics of an update, gathered micro-batch by micro-batch."""

from torch import Tensor


class Totals:
    """Means over live tokens, gathered micro-batch by micro-batch."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, float] = {}

    def _put(self, name: str, amount: float, count: float) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + amount
        self._counts[name] = self._counts.get(name, 0.0) + count

    def add(self, name: str, values: Tensor, live: Tensor) -> None:
        """Averages `values` (N,) over the tokens that are `live` (N,)."""
        self._put(name, float(values.detach()[live].sum()), float(live.sum()))

    def sum(self, name: str, value: Tensor) -> None:
        """Adds a part of a loss; `count` closes the whole."""
        self._put(name, float(value.detach()), 0.0)

    def count(self, name: str) -> None:
        """One optimiser step's loss is complete: the metric is the mean over steps."""
        self._put(name, 0.0, 1.0)

    def mean(self, name: str, value: float) -> None:
        """Averages `value` over optimiser steps."""
        self._put(name, value, 1.0)

    def skipped(self, name: str, happened: bool) -> None:
        """Counts how often it happened."""
        self._put(name, float(happened), 0.0)

    def metrics(self) -> dict[str, float]:
        """All metrics by name."""
        return {name: total / (self._counts[name] or 1.0) for name, total in self._sums.items()}
