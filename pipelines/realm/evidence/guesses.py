"""What the next query may be, guessed from a step that is still being written.

A step's query is made from its text, so the guess is that the step ends here: it is made whenever
the text so far ends as a sentence or a line does, and once more when the step is complete and only
the decision on it (uncertainty, policy) is waited for.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pipelines.realm.needs import need_of, plain
from pipelines.realm.queries import joined

if TYPE_CHECKING:
    from pipelines.realm.uncertainty.entities import TitleIndex

QueryMaker = Callable[[str, str], str]
"""(question, step) -> query; "" where it makes none."""

_ENDED = re.compile(r"(?:[.!?…。！？][\"'”’)\]]*\s*|\n\s*)$")
_TAIL = 40  # characters that are looked at


def query_makers(titles: "TitleIndex | None" = None) -> tuple[QueryMaker, ...]:
    """The step as it stands, its need, and the question with its need, made exactly as
    `queries.QueryMaker` makes them from a whole step."""

    def need(question: str, step: str) -> str:
        return need_of(step, titles) or plain(step)

    def gap(question: str, step: str) -> str:
        return joined(question, need_of(step, titles))

    return (_as_it_stands, need, gap)


def _as_it_stands(question: str, step: str) -> str:
    return plain(step)


class StepGuesser:
    """The queries that `makers` make of the step so far, each once, where it may end.

    Default: those of `query_makers`. `early` of them are asked while the step is written, all of
    them once it is complete.
    """

    def __init__(self, makers: Sequence[QueryMaker] | None = None, *, early: int = 3) -> None:
        self._makers = query_makers() if makers is None else tuple(makers)
        if not self._makers or early < 0:
            raise ValueError("prefetch: there must be a way of making queries, and early >= 0")
        self._early = early

    def __call__(self, question: str, step: str, complete: bool) -> list[str]:
        """See `prefetch.Guesser`."""
        if not step.strip() or not (complete or _ENDED.search(step[-_TAIL:])):
            return []
        makers = self._makers if complete else self._makers[: self._early]
        made = dict.fromkeys(maker(question, step) for maker in makers)
        return [query for query in made if query]
