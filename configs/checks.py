"""Checks of single values; each gives the problems found, as `section.name: why`."""

from collections.abc import Iterable


def one_of(section: str, name: str, value: str, allowed: Iterable[str]) -> list[str]:
    """A problem unless `value` is one of `allowed`."""
    if value in (allowed := tuple(allowed)):
        return []
    return [f"{section}.{name}: {value!r} is not one of {', '.join(allowed)}"]


def above(section: str, name: str, value: float, bound: float) -> list[str]:
    """A problem unless `value` is above `bound`; not a number is never above."""
    return [] if value > bound else [f"{section}.{name}: {value} is not above {bound}"]


def at_least(section: str, name: str, value: float, least: float) -> list[str]:
    """A problem unless `value` is `least` or more; not a number is never that."""
    return [] if value >= least else [f"{section}.{name}: {value} is below {least}"]
