"""The history server: result sets that a client keeps under a WebEnv and refers to by number."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept set: the `query` that gives it, or the posted `ids`; `query` then names them too.

    `order` is the order of the search. `ids` is None for searches, which are run again on use.
    """

    query: str
    order: str = "recent"
    ids: tuple[str, ...] | None = None

    @property
    def cost(self) -> int:
        """About how many bytes this holds."""
        return 200 + len(self.query) + sum(64 + len(uid) for uid in self.ids or ())


class HistoryFullError(Exception):
    """One WebEnv asked to hold more than the server keeps altogether."""


class HistoryServer:
    """WebEnvs, thread-safe. The one longest unused goes first when `capacity` bytes are passed;
    all go after `lifetime` seconds without use."""

    def __init__(
        self,
        capacity: int = 256 * 2**20,
        lifetime: float = 8 * 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capacity, self.lifetime, self._clock = capacity, lifetime, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, tuple[Entry, ...]]] = OrderedDict()
        self._used = 0

    def entries(self, webenv: str) -> tuple[Entry, ...]:
        """The sets of `webenv`, the first being query key 1. KeyError if unknown or expired."""
        with self._lock:
            self._expire()
            _, entries = self._kept[webenv]
            self._kept[webenv] = (self._clock(), entries)
            self._kept.move_to_end(webenv)
            return entries

    def add(self, entry: Entry, webenv: str = "") -> tuple[str, int]:
        """Keep `entry`, in a new WebEnv if none is named: (WebEnv, query key).

        KeyError if `webenv` is unknown or expired; `HistoryFullError` past the capacity.
        """
        with self._lock:
            self._expire()
            if webenv:
                _, entries = self._kept[webenv]
            else:
                webenv, entries = f"MCID_{secrets.token_hex(12)}", ()
            if sum(kept.cost for kept in entries) + entry.cost > self.capacity:
                raise HistoryFullError(f"the history server holds at most {self.capacity} bytes")
            entries = (*entries, entry)
            self._kept[webenv] = (self._clock(), entries)
            self._kept.move_to_end(webenv)
            self._used += entry.cost
            while self._used > self.capacity:
                self._drop()
            return webenv, len(entries)

    def __len__(self) -> int:
        return len(self._kept)

    def _expire(self) -> None:
        now = self._clock()
        while self._kept:
            last_used, _ = next(iter(self._kept.values()))
            if now - last_used < self.lifetime:
                return
            self._drop()

    def _drop(self) -> None:
        _, (_, entries) = self._kept.popitem(last=False)
        self._used -= sum(entry.cost for entry in entries)
