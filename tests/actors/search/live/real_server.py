"""A small real HTTP server for tests: scripted answers, faults on the wire, starts on record."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Call:
    """One request as it arrived."""

    at: float
    method: str
    path: str
    query: str
    body: bytes

    @property
    def parameters(self) -> dict[str, str]:
        raw = self.body.decode("ascii") if self.method == "POST" else self.query
        return dict(parse_qsl(raw, keep_blank_values=True, strict_parsing=bool(raw)))


@dataclass
class Reply:
    """What goes back; `fault` is "" or "cut" (half of the body) or "drop" (no byte at all)."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    fault: str = ""


def json_reply(value: object, **options) -> Reply:
    return Reply(json.dumps(value).encode(), **options)


class RealServer:
    """`answer(call)` decides; `calls` holds every request in order of arrival."""

    def __init__(self, answer: Callable[[Call], Reply]) -> None:
        self.answer = answer
        self.calls: list[Call] = []
        self.closed = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_GET(self) -> None:
                at = time.monotonic()
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                call = Call(at, self.command, url.path, url.query, body)
                outer.calls.append(call)
                if outer.closed:
                    self._hang_up()
                    return
                reply = outer.answer(call)
                time.sleep(reply.delay)
                if reply.fault == "drop":
                    self._hang_up()
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if reply.fault == "cut":
                    self.wfile.write(reply.body[: len(reply.body) // 2])
                    self.wfile.flush()
                    self._hang_up()
                    return
                self.wfile.write(reply.body)

            do_POST = do_GET  # noqa: N815

            def _hang_up(self) -> None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *args) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address) -> None:
                pass  # clients that time out are part of the tests

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator["RealServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.closed = True
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def most_in_any_window(starts: list[float], window_s: float = 1.0) -> int:
    """The largest number of starts in any half-open window of `window_s` seconds."""
    starts = sorted(starts)
    return max(
        (sum(first <= other < first + window_s for other in starts) for first in starts), default=0
    )
