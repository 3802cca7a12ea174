"""A bounded cache that threads share."""

import threading
from collections.abc import Callable
from typing import Any

_OVERHEAD_BYTES = 400  # key, tuple and cache entry


class ByteCache:
    """Values up to a number of bytes, without those not used for longest. Threads may share it.

    Values are of two generations: the older one goes when the younger one fills half of the bytes,
    and what is used of it is young again. A hit so costs one look-up, without a lock. A value of
    more than half of the bytes is not held.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._young: dict[Any, tuple[Any, int]] = {}
        self._old: dict[Any, tuple[Any, int]] = {}
        self._young_bytes = self._old_bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """What is held, in bytes."""
        return self._young_bytes + self._old_bytes

    def held(self, key: Any) -> Any:
        """The value of `key`, None when it is not held."""
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.get(key)
            if entry is None:
                return None
            self._put(key, entry)
        return entry[0]

    def get(self, key: Any, compute: Callable[[], tuple[Any, int]]) -> Any:
        """The value of `key`, computed (with its size in bytes) when it is not held."""
        value = self.held(key)
        if value is None:
            value, size = compute()
            size += _OVERHEAD_BYTES
            if size <= self.max_bytes // 2:
                self._put(key, (value, size))
        return value

    def _put(self, key: Any, entry: tuple[Any, int]) -> None:
        with self._lock:
            if key in self._young:
                return
            former = self._old.pop(key, None)
            if former is not None:
                self._old_bytes -= former[1]
            if self._young_bytes + entry[1] > self.max_bytes // 2:
                self._old, self._old_bytes = self._young, self._young_bytes
                self._young, self._young_bytes = {}, 0
            self._young[key] = entry
            self._young_bytes += entry[1]
