"""Giving memory back to the system on CPU machines."""

import ctypes
import sys


def release_free_memory() -> None:
    """Hands what the C allocator has freed but kept back to the system.

    Steps of ever different shapes leave holes that glibc keeps: without this a worker's memory
    grows for as long as it lives. Does nothing where there is no glibc.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return
