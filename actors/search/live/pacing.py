"""When the next request may start: a strict sliding window over request starts.

NCBI allows 3 requests a second, 10 with an API key (NBK25497). A start is remembered by the time
its head was written to the socket, so neither a slow connection nor a thread that wakes late can
push two starts closer together than they were allowed to be.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Pacer:
    """Lets at most `limit` requests start in any `window_s` seconds, whatever threads ask.

    `margin_s` lengthens the window against the jitter of the network. With `occupied`, the first
    start waits as if a full window had just been used (by whoever held the pacer before).
    `clock` is monotonic, in seconds.
    """

    def __init__(
        self,
        limit: int,
        window_s: float = 1.0,
        margin_s: float = 0.05,
        *,
        occupied: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if limit < 1 or window_s <= 0 or margin_s < 0:
            raise ValueError(f"no pace: limit {limit}, window {window_s} s, margin {margin_s} s")
        self.limit = limit
        self.window_s = window_s
        self._length = window_s + margin_s
        self._clock, self._sleep = clock, sleep
        self._turn = threading.Lock()  # held from the wait for a start until the start is over
        self._starts: deque[float] = deque(maxlen=limit)
        self._held_until = float("-inf")
        if occupied:
            self._starts.extend([clock()] * limit)

    def hold(self, seconds: float) -> None:
        """Let nothing start for `seconds`: the service asked all of us to wait."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def acquire(self, timeout_s: float) -> bool:
        """Wait for a start; False if none comes within `timeout_s`. True must be released."""
        deadline = self._clock() + timeout_s
        if not self._turn.acquire(timeout=max(0.0, min(timeout_s, threading.TIMEOUT_MAX))):
            return False
        try:
            while True:
                now = self._clock()
                free = self._starts[0] + self._length if len(self._starts) == self.limit else now
                free = max(free, self._held_until)
                if free <= now:
                    return True
                if free > deadline:
                    break
                self._sleep(free - now)
        except BaseException:
            self._turn.release()
            raise
        self._turn.release()
        return False

    def release(self) -> None:
        """The start is over: its time is now."""
        self._starts.append(self._clock())
        self._turn.release()

    @contextmanager
    def start(self, timeout_s: float = float("inf")) -> Iterator[None]:
        """One start, the body of the `with`. TimeoutError if none is free within `timeout_s`."""
        if not self.acquire(timeout_s):
            raise TimeoutError(f"no request could start within {timeout_s:.1f} s")
        try:
            yield
        finally:
            self.release()


_shared: dict[tuple[str, int], Pacer] = {}
_sharing = threading.Lock()


def shared_pacer(service: str, limit: int, *, occupied: bool = False) -> Pacer:
    """The one pacer of this process for `service` (a base URL) at `limit` starts a second."""
    with _sharing:
        if (service, limit) not in _shared:
            _shared[service, limit] = Pacer(limit, occupied=occupied)
        return _shared[service, limit]
