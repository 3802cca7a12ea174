"""Regular expressions that the readers of Ovid syntax share."""

from collections import defaultdict
from collections.abc import Iterable


def any_code(codes: Iterable[str]) -> str:
    """A pattern for any of the two-letter `codes`, in either case.

    By first letter, as character classes: the `re` module then skips the branches that cannot
    match, which it does not for a list of words that ignores case.
    """
    seconds: dict[str, list[str]] = defaultdict(list)
    for code in sorted(codes):
        seconds[code[0]] += [code[1], code[1].upper()]
    branches = [f"[{a}{a.upper()}][{''.join(chars)}]" for a, chars in seconds.items()]
    return f"(?-i:{'|'.join(branches)})"
