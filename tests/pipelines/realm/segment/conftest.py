from collections.abc import Iterator

import pytest

from pipelines.threads import torch_threads


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of a tiny model would only wait for each other."""
    with torch_threads(1):
        yield
