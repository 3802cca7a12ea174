"""The rate rule of E-utilities: so many requests a second per client, more with an API key."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

import orjson

from actors.search.emulator.envelope import JSON
from actors.search.http import Response

MAX_CLIENTS = 10_000


class RateLimiter:
    """Counts the requests of each client in the last second; those refused count too, as they do
    at the service. Thread-safe."""

    def __init__(
        self,
        anonymous: int = 3,
        keyed: int = 10,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.anonymous, self.keyed, self._clock = anonymous, keyed, clock
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, deque[float]] = OrderedDict()

    def refusal(self, address: str, key: str = "") -> Response | None:
        """Count one request; the 429 to answer with where it is one too many."""
        client, limit = (f"key {key}", self.keyed) if key else (address, self.anonymous)
        now = self._clock()
        with self._lock:
            recent = self._recent.setdefault(client, deque())
            self._recent.move_to_end(client)
            while recent and now - recent[0] >= 1.0:
                recent.popleft()
            recent.append(now)
            if len(recent) > 10 * limit:
                recent.popleft()
            count = len(recent)
            while len(self._recent) > MAX_CLIENTS:
                self._recent.popitem(last=False)
        if count <= limit:
            return None
        body = {
            "error": "API rate limit exceeded",
            "api-key": key or address,
            "count": str(count),
            "limit": str(limit),
        }
        headers = (
            ("Retry-After", "1"),
            ("X-RateLimit-Limit", str(limit)),
            ("X-RateLimit-Remaining", "0"),
        )
        return Response(429, JSON, orjson.dumps(body), headers)


def invalid_key(key: str) -> Response:
    """The 400 for a key that is not known. It repeats the key, as the service does."""
    body = {"error": "API key invalid", "api-key": key, "type": "api", "status": "unknown"}
    return Response(400, JSON, orjson.dumps(body))
