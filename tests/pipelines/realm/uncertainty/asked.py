"""A session that only answers side questions, and the state of a step in it."""

import asyncio

from actors.rollout.sessions.types import EngineError, Piece, Usage
from pipelines.realm.types import Passage, Step, StepState

QUESTION = "Where was the director of Lux born?"


class AskedSession:
    """Replies `confidence` to a question and `continuations` to none; `EngineError` for None, and
    never for `...`."""

    def __init__(self, confidence="90", continuations=("Oslo", "Oslo", "Oslo"), text="In Oslo."):
        self.usage = Usage()
        self.text = text
        self.asked = []
        self._confidence, self._continuations = confidence, continuations

    async def ask(self, suffix, sampling, *, n=1, seed=0, at=None):
        self.asked.append((suffix, sampling, n, seed, at))
        reply = self._confidence if suffix else self._continuations
        await asyncio.sleep(0)
        if reply is None:
            raise EngineError("the line is dead")
        if reply is ...:
            await asyncio.Event().wait()
        texts = [reply] if suffix else list(reply)
        assert suffix or len(texts) == n
        self.usage.side_tokens += sum(len(text.split()) for text in texts)
        return [Piece(text, finish="stop") for text in texts]


def state_of(session, text=None, history=()):
    """The state after `text`, or after the whole of the session's."""
    text = session.text if text is None else text
    return StepState(
        question=QUESTION,
        steps=(Step(0, text),),
        evidence=(),
        since_last=1,
        uncertainty=None,
        session=session,
        boundary=len(session.text),
        history=tuple(history),
    )


class Spread:
    """An index in which a name is in so many passages, all of one score."""

    def __init__(self, **counts):
        self._counts = counts
        self.failure = None

    async def search(self, query, k):
        await asyncio.sleep(0)
        if self.failure is not None:
            return self.failure
        name = query.removeprefix("What is ").removesuffix("?")
        return tuple(Passage(f"{name}{i}", "", name, 1.0) for i in range(self._counts.get(name, 0)))
