"""One HTTP service behind one pacer: requests go out encoded, come back whole, or fail by name."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx

from actors.search.live.cache import AnswerCache, cache_key
from actors.search.live.errors import QueryRefusedError, ServiceError, TransientError
from actors.search.live.pacing import Pacer
from actors.search.live.retry import RetryPolicy, retry, retry_after_seconds
from actors.search.live.secret import ApiKey, scrub

T = TypeVar("T")
Parameters = Sequence[tuple[str, str]]
Parse = Callable[[int, bytes], T]

MAX_BODY_BYTES = 512 * 2**20
_HEAD_STARTS, _HEAD_ENDS = "send_request_headers.started", "send_request_headers."


class _NoSlotError(Exception):
    """No start was free in the time left."""


class _HideKey(logging.Filter):
    """Scrubs what httpx logs: request lines, with whatever a caller put into a URL."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = scrub(record.getMessage(), None), ()
        return True


for _name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_HideKey())


class Service:
    """Calls to `base_url`, at most `concurrency` in flight; safe for threads.

    `name` is what errors call it. `timeout_s` bounds each connect, read and write of an attempt,
    the policy's deadline all attempts together. `identity` (tool, email) and `key` go with each
    request but never into the cache. Answers are cached if `cache` is given and `parse` likes them.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        pacer: Pacer,
        policy: RetryPolicy | None = None,
        cache: AnswerCache | None = None,
        timeout_s: float = 30.0,
        concurrency: int = 8,
        identity: Parameters = (),
        key: ApiKey | None = None,
    ) -> None:
        url = httpx.URL(base_url)
        if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query:
            raise ValueError(
                f"base_url {scrub(base_url, key)!r} of {name} is not a plain http(s) URL: give "
                f"scheme, host and path, without user, password or query"
            )
        self.name, self.base_url = name, base_url.rstrip("/")
        self.pacer, self.policy, self.cache = pacer, policy or RetryPolicy(), cache
        self.concurrency = concurrency
        self._identity, self._key = tuple(identity), key
        self._in_flight = threading.BoundedSemaphore(concurrency)
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout_s, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=concurrency),
            headers={"User-Agent": "seekray (httpx)"},
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close connections and cache."""
        self._client.close()
        if self.cache is not None:
            self.cache.close()

    def scrub(self, text: str) -> str:
        """`text` without the API key."""
        return scrub(text, self._key)

    def call(
        self,
        method: str,
        endpoint: str,
        parameters: Parameters,
        parse: Parse[T],
        *,
        keep: bool = True,
    ) -> T:
        """What `parse(status, body)` makes of the answer; `keep` lets a good answer be cached.

        `parse` raises TransientError for a body that is worth another try. Raises QueryRefusedError
        or ServiceError, whose messages name the service and hold no key.
        """
        key = cache_key(self.base_url, endpoint, parameters)
        known = self.cache.get(key) if keep and self.cache is not None else None
        if self.cache is not None and known is not None:
            try:
                return parse(200, known)
            except (TransientError, QueryRefusedError, ServiceError):
                self.cache.drop(key)
        try:
            answer, status, body = retry(
                lambda left_s: self._attempt(method, endpoint, parameters, parse, left_s),
                self.policy,
            )
        except ServiceError as error:
            message = self.scrub(f"{self.name} ({self.base_url}/{endpoint}): {error}")
            raise ServiceError(message) from None
        except QueryRefusedError as error:
            raise QueryRefusedError(self.scrub(error.message), error.position) from None
        if keep and self.cache is not None and status == 200:
            self.cache.put(key, body)
        return answer

    def _attempt(
        self, method: str, endpoint: str, parameters: Parameters, parse: Parse[T], left_s: float
    ) -> tuple[T, int, bytes]:
        deadline = time.monotonic() + left_s
        if not self._in_flight.acquire(timeout=left_s):
            raise TransientError(f"{self.concurrency} other requests were in the way")
        try:
            reached = self._exchange(method, endpoint, parameters, deadline)
        finally:
            self._in_flight.release()
        if isinstance(reached, TransientError):
            raise reached
        status, headers, body = reached
        wait_s = retry_after_seconds(headers.get("Retry-After"))
        if wait_s:
            self.pacer.hold(min(wait_s, self.policy.deadline_s))
        if status in (408, 425, 429) or status >= 500:
            raise TransientError(f"HTTP {status}", wait_s)
        if 300 <= status < 400:
            raise ServiceError(f"HTTP {status}: the service has moved; set its new base URL")
        try:
            return parse(status, body), status, body
        except TransientError as error:
            error.retry_after_s = error.retry_after_s or wait_s
            raise

    def _exchange(
        self, method: str, endpoint: str, parameters: Parameters, deadline: float
    ) -> tuple[int, httpx.Headers, bytes] | TransientError:
        """Status, headers and whole body. No exception of httpx leaves: they hold the request."""
        paced = False

        def trace(event: str, _info: dict[str, Any]) -> None:
            nonlocal paced
            if event.endswith(_HEAD_STARTS):
                if not self.pacer.acquire(max(0.0, deadline - time.monotonic())):
                    raise _NoSlotError
                paced = True
            elif _HEAD_ENDS in event:
                self.pacer.release()

        try:
            request = self._request(method, endpoint, parameters)
            request.extensions = {**request.extensions, "trace": trace}
            response = self._client.send(request, stream=True)
            try:
                body = _read(response, deadline)
            finally:
                response.close()
        except _NoSlotError:
            return TransientError("no request could start in the time left")
        except httpx.TimeoutException as error:
            return TransientError(f"time-out ({type(error).__name__})")
        except httpx.HTTPError as error:
            return TransientError(self.scrub(f"{type(error).__name__}: {error}"))
        if isinstance(body, TransientError):
            return body
        if not paced:
            raise RuntimeError("a request went out unpaced: httpcore's trace events have changed")
        return response.status_code, response.headers, body

    def _request(self, method: str, endpoint: str, parameters: Parameters) -> httpx.Request:
        pairs = [*parameters, *self._identity]
        if self._key is not None:
            pairs.append(("api_key", self._key.reveal()))
        encoded = urlencode(pairs)  # UTF-8; every reserved character is escaped
        url = f"{self.base_url}/{endpoint}"
        if method == "POST":
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            return self._client.build_request("POST", url, content=encoded, headers=form)
        return self._client.build_request("GET", f"{url}?{encoded}" if encoded else url)


def _read(response: httpx.Response, deadline: float) -> bytes | TransientError:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            return TransientError("time-out (the answer trickled)")
        if size > MAX_BODY_BYTES:
            return TransientError(f"an answer above {MAX_BODY_BYTES} bytes")
    return b"".join(parts)
