"""Serving the emulator over a socket: until a signal, or around a test."""

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, TracebackType

import uvicorn

from actors.search.emulator.app import MAX_BODY, CutError, EmulatorApp, Trials
from actors.search.emulator.eutils import EUtils
from actors.search.emulator.faults import Faults
from actors.search.emulator.limits import RateLimiter


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What to serve, and where."""

    eutils: EUtils | None = None
    """Serves `/entrez/eutils/*.fcgi`."""
    trials: Trials | None = None
    """Serves `/api/v2/...`."""
    host: str = "127.0.0.1"
    """Loopback unless told otherwise: there is no authentication."""
    port: int = 0
    """0 = a free one."""
    rate_limit: bool = False
    """Refuse over 3 requests a second of one client, 10 with an API key, as E-utilities do."""
    api_keys: frozenset[str] | None = None
    """Keys that are valid; None = any."""
    faults: Faults | None = None
    max_body: int = MAX_BODY
    """Bytes of a request body."""
    access_log: bool = False

    def app(self) -> EmulatorApp:
        """The ASGI application of this configuration."""
        return EmulatorApp(
            self.eutils,
            self.trials,
            limiter=RateLimiter() if self.rate_limit else None,
            api_keys=self.api_keys,
            faults=self.faults,
            max_body=self.max_body,
        )


class _NoCuts(logging.Filter):
    """Keeps connections that were cut on purpose out of the error log."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], CutError))


def _server(app: EmulatorApp, config: ServerConfig) -> uvicorn.Server:
    logger = logging.getLogger("uvicorn.error")
    if not any(isinstance(kept, _NoCuts) for kept in logger.filters):
        logger.addFilter(_NoCuts())
    return uvicorn.Server(
        uvicorn.Config(
            app,
            access_log=config.access_log,
            log_level="warning",
            lifespan="off",
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket. OSError names the address and what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise OSError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --port or "
            "--host"
        ) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The address of a bound socket as a URL without a path."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(config: ServerConfig, started: Callable[[str], None] = lambda url: None) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests under way.

    `started` is given the URL once the port is bound. OSError where it cannot be.
    """
    listener = _listen(config.host, config.port)
    server = _server(config.app(), config)
    # uvicorn raises the signal anew once it has shut down; this makes that a normal return
    earlier = {number: signal.signal(number, _ignore) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        started(url_of(listener))
        server.run(sockets=[listener])
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        listener.close()


def _ignore(number: int, frame: FrameType | None) -> None:
    """Take a signal and do nothing."""


class Emulator:
    """The emulator in a thread of its own, as a context manager.

    `with Emulator(ServerConfig(eutils=EUtils(library))) as emulator: ...`, clients then being
    pointed at `emulator.eutils_url` or `emulator.trials_url`.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.app = config.app()
        self.url = ""

    @property
    def eutils_url(self) -> str:
        """Base URL of the E-utilities."""
        return self.url + "/entrez/eutils"

    @property
    def trials_url(self) -> str:
        """Base URL of API v2."""
        return self.url + "/api/v2"

    def __enter__(self) -> "Emulator":
        self._listener = _listen(self.config.host, self.config.port)
        self.url = url_of(self._listener)
        self._server = _server(self.app, self.config)
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._listener]},
            name="emulator",
            daemon=True,
        )
        self._thread.start()
        deadline = time.monotonic() + 10
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self._listener.close()
                raise RuntimeError(f"the emulator did not start on {self.url}")
            time.sleep(0.005)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._listener.close()
