"""CPU threads of torch."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def torch_threads(wanted: int) -> Iterator[None]:
    """So many threads within the block, 0 for as many as there are. Sums of several threads differ
    in their last digits with their number, and from run to run."""
    import torch

    before = torch.get_num_threads()
    if wanted:
        torch.set_num_threads(wanted)
    try:
        yield
    finally:
        torch.set_num_threads(before)
