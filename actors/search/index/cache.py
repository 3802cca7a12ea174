"""A bounded cache that threads share."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

_OVERHEAD_BYTES = 400  # key, tuple and cache entry


class ByteCache:
    """Least recently used values up to a number of bytes. Safe to share between threads."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, compute: Callable[[], tuple[Any, int]]) -> Any:
        """The value of `key`, computed (with its size in bytes) when it is not held."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return entry[0]
        value, size = compute()
        size += _OVERHEAD_BYTES
        with self._lock:
            if key not in self._entries and size <= self.max_bytes:
                self._entries[key] = value, size
                self.bytes += size
            while self.bytes > self.max_bytes:
                self.bytes -= self._entries.popitem(last=False)[1][1]
        return value
