"""`#n` of a query, replaced by the n-th earlier query, so that a search needs no session."""

import re
from collections.abc import Sequence

from actors.search.live.errors import QueryRefusedError

MAX_CHARACTERS = 200_000
_PIECE = re.compile(r'"[^"]*"|“[^”]*”|(?<![\w#])#(\d+)(?!\w)')


def expand_history(query: str, history: Sequence[str]) -> str:
    """`query` with every `#n` outside quotes replaced by `(history[n - 1])`, itself expanded.

    Raises QueryRefusedError for an entry that does not exist and for a result that grows too long;
    its position is one in `query`, None for what is wrong with an earlier one.
    """
    expanded: list[str] = []

    def replace(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        number = int(found[1])
        if not 1 <= number <= len(expanded):
            said = f"#{number} is not in the history of {len(expanded)}"
            if len(expanded) == len(history):
                raise QueryRefusedError(said, found.start())
            raise QueryRefusedError(f"query {len(expanded) + 1} of the history: {said}")
        return f"({expanded[number - 1]})"

    if not history:
        return query
    for number, text in enumerate([*history, query], 1):
        expanded.append(_PIECE.sub(replace, text))
        if len(expanded[-1]) > MAX_CHARACTERS:
            raise QueryRefusedError(f"history makes query {number} longer than {MAX_CHARACTERS}")
    return expanded[-1]
