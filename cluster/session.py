"""The app's connection to Ray: starts a small local Ray, or joins a cluster."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import ray

from cluster.failures import Interrupted, PreflightError

log = logging.getLogger(__name__)

PROBE_S = 10.0
SMALL_HOST_BYTES = 64 * 2**30
SMALL_OBJECT_STORE_BYTES = 2**30

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_enable_metrics_collection": "0",
}


@dataclass(frozen=True)
class Session:
    """What the app runs on. `started` is True if this process started that Ray."""

    address: str
    started: bool
    cpus: float
    gpus: float
    nodes: int


@contextmanager
def session(
    address: str = "local",
    namespace: str | None = None,
    num_cpus: int | None = None,
    quiet: bool = True,
) -> Iterator[Session]:
    """Connects to Ray, and disconnects on exit whatever happens.

    `local` starts Ray on this machine (with `num_cpus`, default all), `auto` or an address joins a
    cluster. Inside a Ray job (`RAY_ADDRESS` is set) `local` joins the job's cluster. A Ray that the
    process was connected to before is used and left running. SIGTERM raises `Interrupted` out of
    it; code inside may see the plain `KeyboardInterrupt` that it is a kind of. Give the run id as
    `namespace`: actor names of two runs then never meet.
    Raises `PreflightError` if the cluster cannot be joined.
    """
    joined_before = ray.is_initialized()
    if address == "local" and os.environ.get("RAY_ADDRESS"):
        log.info("RAY_ADDRESS is set: joining %s", os.environ["RAY_ADDRESS"])
        address = "auto"
    terminated = threading.Event()
    with _sigterm_restored():
        try:
            if not joined_before and address == "local":
                _start(namespace, num_cpus, quiet)
            elif not joined_before:
                _join(address, namespace, quiet)
            _raise_on_sigterm(terminated)  # after ray.init(), which sets a handler of its own
            yield _describe(started=address == "local" and not joined_before)
        except KeyboardInterrupt as error:
            # Inside ray.get() and ray.wait() Ray turns whatever a handler raises into this.
            if terminated.is_set() and not isinstance(error, Interrupted):
                raise Interrupted("SIGTERM") from error
            raise
        finally:
            if not joined_before:
                ray.shutdown()


def _start(namespace: str | None, num_cpus: int | None, quiet: bool) -> None:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    ray.init(
        address="local",
        namespace=namespace,
        num_cpus=num_cpus,
        include_dashboard=False,
        object_store_memory=_object_store_bytes(),
        logging_level=logging.ERROR if quiet else logging.INFO,
        log_to_driver=not quiet,
    )


def _join(address: str, namespace: str | None, quiet: bool) -> None:
    _probe(os.environ.get("RAY_ADDRESS", "") if address == "auto" else address)
    try:
        ray.init(
            address=address,
            namespace=namespace,
            logging_level=logging.ERROR if quiet else logging.INFO,
            log_to_driver=not quiet,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        # Ray compares its own and Python's version when it joins: RuntimeError says both.
        raise PreflightError([f"cannot join the Ray cluster at {address}: {error}"]) from error


def _probe(address: str) -> None:
    """Ray itself tries an address where nobody listens for a minute and more."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=PROBE_S).close()
    except OSError as error:
        raise PreflightError([f"no Ray cluster answers at {address}: {error}"]) from error


def _object_store_bytes() -> int | None:
    """Bounded on a laptop; Ray's own choice (30 % of memory) on a large host."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return SMALL_OBJECT_STORE_BYTES if memory < SMALL_HOST_BYTES else None


def _describe(started: bool) -> Session:
    had = ray.cluster_resources()
    return Session(
        address=ray.get_runtime_context().gcs_address,
        started=started,
        cpus=had.get("CPU", 0.0),
        gpus=had.get("GPU", 0.0),
        nodes=sum(node["Alive"] for node in ray.nodes()),
    )


def _raise_on_sigterm(terminated: threading.Event) -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        # A second SIGTERM must not break the clean-up that the first one started.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        terminated.set()
        raise Interrupted("SIGTERM")

    if threading.current_thread() is threading.main_thread():  # Python allows it only there
        signal.signal(signal.SIGTERM, interrupt)


@contextmanager
def _sigterm_restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)
