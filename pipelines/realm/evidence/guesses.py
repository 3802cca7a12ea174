"""What the next query may be, guessed from a step that is still being written.

A step's query is made from its text, so the guess is that the step ends here: it is made whenever
the text so far ends as a sentence or a line does, and once more when the step is complete and only
the decision on it (uncertainty, policy) is waited for.
"""

import re
from collections.abc import Callable, Sequence

QueryMaker = Callable[[str, str], str]
"""(question, step) -> query; "" where it makes none."""

_ENDED = re.compile(r"(?:[.!?…。！？][\"'”’)\]]*\s*|\n\s*)$")
_TAIL = 40  # characters that are looked at


def step_as_is(question: str, step: str) -> str:
    """The step without the white space around it."""
    return step.strip()


class StepGuesser:
    """The queries that `makers` make of the step so far, each once, where it may end.

    `early` of them are asked while the step is written, all of them once it is complete.
    """

    def __init__(self, makers: Sequence[QueryMaker] = (step_as_is,), *, early: int = 1) -> None:
        if not makers or early < 0:
            raise ValueError("prefetch: there must be a way of making queries, and early >= 0")
        self._makers, self._early = tuple(makers), early

    def __call__(self, question: str, step: str, complete: bool) -> list[str]:
        """See `prefetch.Guesser`."""
        if not step.strip() or not (complete or _ENDED.search(step[-_TAIL:])):
            return []
        makers = self._makers if complete else self._makers[: self._early]
        made = dict.fromkeys(maker(question, step) for maker in makers)
        return [query for query in made if query]
