"""The app's connection to Ray: starts a small local Ray, or joins a cluster."""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import ray

from cluster.failures import Interrupted, PreflightError

log = logging.getLogger(__name__)

SMALL_HOST_BYTES = 64 * 2**30
SMALL_OBJECT_STORE_BYTES = 2**30

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
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
    process was connected to before is used and left running. While inside, SIGTERM raises
    `Interrupted`. Give the run id as `namespace`: actor names of two runs then never meet.
    Raises `PreflightError` if the cluster cannot be joined.
    """
    if ray.is_initialized():
        with _sigterm_raises():
            yield _describe(started=False)
        return
    if address == "local" and os.environ.get("RAY_ADDRESS"):
        log.info("RAY_ADDRESS is set: joining %s", os.environ["RAY_ADDRESS"])
        address = "auto"
    try:
        if address == "local":
            _start(namespace, num_cpus, quiet)
        else:
            _join(address, namespace, quiet)
        # After ray.init(), which sets handlers of its own.
        with _sigterm_raises():
            yield _describe(started=address == "local")
    finally:
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


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        # A second SIGTERM must not break the clean-up that the first one started.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Interrupted("SIGTERM")

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)
