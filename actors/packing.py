"""Which sequences go through a model together, by a budget of padded tokens."""

from collections.abc import Sequence


def batches_of(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Positions of `lengths` in batches, longest first (of equals the first), whose rows times
    longest row are at most `budget`; a longer row is a batch of its own."""
    batches: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        batch = batches[-1] if batches else None
        if batch is not None and (len(batch) + 1) * lengths[batch[0]] <= budget:
            batch.append(position)
        else:
            batches.append([position])
    return batches
