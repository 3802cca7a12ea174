"""How Ray Tune behaves in sweeps."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLES = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the sweeps write what they find themselves
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # with it, fit() returns on Ctrl-C as if all were done
    "RAY_AIR_NEW_OUTPUT": "0",
}


@contextmanager
def quiet_tune() -> Iterator[None]:
    """Tune without loggers, tables and interrupt handler of its own within the block."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(_VARIABLES)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
