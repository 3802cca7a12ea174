"""A world of any session engine: what a chain needs, put together once."""

from collections.abc import Awaitable, Callable

from actors.rollout.sessions.types import SessionEngine
from actors.rollout.types import Sampling
from pipelines.realm.parts import Limits, Parts
from pipelines.realm.prompt import ReasoningPrompt, reasoning_prompt
from pipelines.realm.reason import Reasoner
from pipelines.realm.types import HopQuestion


class EngineWorld:
    """Chains of one engine with the same parts and limits. `sampling` bounds each session; its
    stop strings are those of the prompt. `close_also` is closed after the engine, e.g. the
    retriever."""

    def __init__(
        self,
        engine: SessionEngine,
        parts: Parts,
        sampling: Sampling,
        limits: Limits | None = None,
        *,
        prompt: Callable[[str], ReasoningPrompt] = reasoning_prompt,
        close_also: Callable[[], Awaitable[None] | None] | None = None,
    ) -> None:
        self.engine, self.parts, self.limits = engine, parts, limits or Limits()
        self._sampling, self._prompt, self._close_also = sampling, prompt, close_also

    def reasoner(self, question: HopQuestion, *, seed: int) -> Reasoner:
        """See `World`."""
        prompt, s = self._prompt(question.text), self._sampling
        stop = tuple(dict.fromkeys((*s.stop, *prompt.stop)))
        sampling = Sampling(s.max_new_tokens, s.temperature, s.top_p, s.top_k, stop)
        session = self.engine.open(prompt.text, sampling, key=question.id, seed=seed)
        return Reasoner(question.id, question.text, session, self.parts, self.limits)

    async def close(self) -> None:
        """Ends the engine, and what is closed with it."""
        await self.engine.close()
        if self._close_also is not None and (waiting := self._close_also()) is not None:
            await waiting
