"""Many may search a CPU index at once; whoever changes it, or uses a GPU, is alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Shared for readers, exclusive for a writer, who is not starved by readers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._waiting = 0
        self._writing = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Held together with other readers."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Held alone."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._writing and not self._readers)
            self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
