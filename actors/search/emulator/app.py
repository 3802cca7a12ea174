"""The HTTP application: requests decoded, counted, limited and spoiled, then given to a service."""

import asyncio
import logging
import math
import threading
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl

import orjson
from starlette.concurrency import run_in_threadpool

from actors.search.emulator.envelope import JSON, text
from actors.search.emulator.eutils import PATHS, EUtils
from actors.search.emulator.faults import Fault, Faults, damaged
from actors.search.emulator.limits import RateLimiter, invalid_key
from actors.search.http import Response

MAX_BODY = 5 * 10**6
MAX_FIELDS = 20_000
KEPT_STARTS = 100_000
CONTROL = "/_seekray/requests"
API_V2 = "/api/v2"

_log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Trials(Protocol):
    """ClinicalTrials.gov API v2, path below `/api/v2`, parameters decoded."""

    def get(self, path: str, parameters: Mapping[str, str], /) -> Response:
        """The answer to one GET."""


class CutError(Exception):
    """Raised to close a connection within a body."""


@dataclass(slots=True)
class RequestLog:
    """When requests started, seconds since the epoch, and what became of them."""

    starts: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=KEPT_STARTS))
    statuses: dict[int, int] = field(default_factory=dict)
    total: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, path: str) -> None:
        """Note the start of one request."""
        with self._lock:
            self.total += 1
            self.starts.append((time.time(), path))

    def end(self, status: int) -> None:
        """Note the status of one answer."""
        with self._lock:
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self.starts.clear()
            self.statuses.clear()
            self.total = 0

    def busiest(self, seconds: float = 1.0) -> int:
        """The most starts within any window of so many seconds, its end excluded."""
        with self._lock:
            times = sorted(start for start, _ in self.starts)
        first = most = 0
        for place, start in enumerate(times):
            while start - times[first] >= seconds:
                first += 1
            most = max(most, place - first + 1)
        return most

    def report(self, faults: Faults | None) -> dict[str, Any]:
        """What the control endpoint tells."""
        busiest = self.busiest()
        with self._lock:
            return {
                "total": self.total,
                "busiest_second": busiest,
                "statuses": {str(status): count for status, count in self.statuses.items()},
                "faults": dict(faults.counts) if faults else {},
                "requests": [{"start": start, "path": path} for start, path in self.starts],
            }


class EmulatorApp:
    """An ASGI application over E-utilities, trials or both. Query strings are kept nowhere."""

    def __init__(
        self,
        eutils: EUtils | None = None,
        trials: Trials | None = None,
        *,
        limiter: RateLimiter | None = None,
        api_keys: frozenset[str] | None = None,
        faults: Faults | None = None,
        max_body: int = MAX_BODY,
    ) -> None:
        self.eutils, self.trials = eutils, trials
        self.limiter, self.api_keys, self.faults = limiter, api_keys, faults
        self.max_body = max_body
        self.requests = RequestLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3)."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        path = scope["path"]
        if path == CONTROL:
            await _send(send, self._control(scope["method"]))
            return
        self.requests.start(path)
        struck = self.faults.strike(path) if self.faults else []
        await asyncio.sleep(sum(fault.seconds for fault in struck if fault.kind == "slow"))
        fault = next((f for f in struck if f.kind != "slow"), None)
        answer = _refused(fault) or await self._answer(scope, receive)
        if scope["method"] == "HEAD":
            answer = Response(answer.status, answer.content_type, b"", answer.headers)
        self.requests.end(answer.status)
        if fault and fault.kind == "malformed":
            answer = Response(answer.status, answer.content_type, damaged(answer.body))
        elif fault and fault.kind == "empty":
            answer = Response(answer.status, answer.content_type, b"")
        await _send(send, answer, cut=bool(fault and fault.kind == "cut"))

    def _control(self, method: str) -> Response:
        if method == "DELETE":
            self.requests.clear()
        return Response(200, JSON, orjson.dumps(self.requests.report(self.faults)))

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] not in ("GET", "POST", "HEAD"):
            return text(f"method {scope['method']} is not served\n", 405)
        body = await _body(receive, self.max_body)
        if body is None:
            return text(f"the request body exceeds {self.max_body} bytes\n", 413)
        try:
            pairs = _pairs(scope, body)
        except ValueError as error:
            return text(f"{error}\n", 400)
        return await run_in_threadpool(self._serve, scope, pairs)

    def _serve(self, scope: Scope, pairs: list[tuple[str, str]]) -> Response:
        path = scope["path"]
        found = PATHS.fullmatch(path)
        try:
            if found and self.eutils is not None:
                parameters = _form(pairs)
                refusal = self._refusal(scope, parameters.get("api_key", ""))
                return refusal or self.eutils.answer(found["utility"], parameters)
            if (path == API_V2 or path.startswith(API_V2 + "/")) and self.trials is not None:
                if scope["method"] == "POST":
                    return text("API v2 is read by GET\n", 405)
                refusal = self._refusal(scope, "")
                return refusal or self.trials.get(path[len(API_V2) :], _merged(pairs))
        except Exception as error:
            _log_failure(path, error)
            return text(f"the emulator failed: {type(error).__name__}: {error}\n", 500)
        served = []
        if self.eutils is not None:
            served.append("/entrez/eutils/esearch.fcgi and its like")
        if self.trials is not None:
            served.append(API_V2 + "/studies and its like")
        return text(f"nothing at {path}; there is {', '.join(served) or 'nothing'}\n", 404)

    def _refusal(self, scope: Scope, key: str) -> Response | None:
        if key and self.api_keys is not None and key not in self.api_keys:
            return invalid_key(key)
        if self.limiter is None:
            return None
        client = scope.get("client")
        return self.limiter.refusal(client[0] if client else "unknown", key)


def _log_failure(path: str, error: BaseException) -> None:
    """Path, type and places only: messages of errors may quote the query, or a key."""
    calls = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed: %s at\n%s", path, type(error).__name__, calls)


def _form(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Parameters of E-utilities: each `id` kept, of other names the last value."""
    ids = [value for name, value in pairs if name.lower() == "id"]
    form = {name.lower(): value for name, value in pairs}
    return form | ({"id": "\n".join(ids)} if ids else {})


def _merged(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Parameters of API v2: several values of one name are a list, written with commas."""
    merged: dict[str, str] = {}
    for name, value in pairs:
        merged[name] = f"{merged[name]},{value}" if merged.get(name) else value
    return merged


def _pairs(scope: Scope, body: bytes) -> list[tuple[str, str]]:
    """Name and value of each parameter of the query string and of a posted form."""
    forms = [scope["query_string"].decode(errors="replace")]
    if body:
        kind = next((v for k, v in scope["headers"] if k == b"content-type"), b"")
        if kind and not kind.startswith(b"application/x-www-form-urlencoded"):
            raise ValueError(
                f"a body of type {kind.decode('latin-1')!r} is not read: send "
                "application/x-www-form-urlencoded"
            )
        forms.append(body.decode(errors="replace"))
    return [
        pair
        for form in forms
        for pair in parse_qsl(form, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    ]


async def _body(receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None where it is longer than `limit`; it is then read to its end."""
    parts, length = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        part = message.get("body", b"")
        length += len(part)
        if length <= limit:
            parts.append(part)
        if length > 4 * limit or not message.get("more_body", False):
            break
    return b"".join(parts) if length <= limit else None


def _refused(fault: Fault | None) -> Response | None:
    if fault is None:
        return None
    if fault.kind == "rate_limit":
        body = {"error": "API rate limit exceeded", "count": "11"}
        wait = ("Retry-After", str(math.ceil(fault.seconds)))
        return Response(429, JSON, orjson.dumps(body), (wait,))
    if fault.kind == "server_error":
        return text("an error on purpose\n", fault.status)
    return None


async def _send(send: Send, answer: Response, cut: bool = False) -> None:
    headers = [
        (b"content-type", answer.content_type.encode("latin-1")),
        (b"content-length", str(len(answer.body)).encode()),
        *(
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in answer.headers
        ),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if cut:
        await send(
            {
                "type": "http.response.body",
                "body": answer.body[: len(answer.body) // 2],
                "more_body": True,
            }
        )
        raise CutError
    await send({"type": "http.response.body", "body": answer.body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
