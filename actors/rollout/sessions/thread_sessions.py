"""What the engines that compute in this process have in common."""

import itertools
from collections.abc import Callable

from actors.rollout.sessions.engine_thread import EngineThread
from actors.rollout.sessions.jobs import Worker
from actors.rollout.sessions.token_line import Tokens
from actors.rollout.sessions.token_session import TokenSession
from actors.rollout.types import Sampling

SIDE_ROOM = 128
"""Tokens of the context that writing leaves for questions about the text."""


class ThreadSessions:
    """See `SessionEngine`. `context` is the most tokens of a prompt and all behind it, `make`
    makes the worker for a model that ends its texts with these ids."""

    has_logprobs = True

    def __init__(
        self,
        model: str,
        make: Callable[[frozenset[int]], Worker],
        *,
        name: str,
        context: int,
        side_room: int = SIDE_ROOM,
        run_ahead: int = 0,
    ) -> None:
        if context < 2:
            raise ValueError(f"max_model_len {context}: there must be room for two tokens")
        self.tokens = Tokens(model)
        self.max_model_len = context
        self.keep_prefix = True
        """Whether sessions opened from now on use what is cached; off only to measure its worth."""
        self._side_room = min(side_room, context // 4)
        self._run_ahead = run_ahead
        self._numbers = itertools.count()
        self._thread = EngineThread(lambda: make(self.tokens.end_ids), name)

    def open(
        self, prompt: str, sampling: Sampling, *, key: str = "", seed: int = 0
    ) -> TokenSession:
        """See `SessionEngine`. Raises ValueError for a prompt that is empty or too long."""
        ids = self.tokens.prompt_ids(prompt)
        most = self.max_model_len - self._side_room - 1
        if not 0 < len(ids) <= most:
            raise ValueError(
                f"the prompt of {key or 'a session'!r} has {len(ids)} tokens: at least 1 and at "
                f"most {most} (max_model_len {self.max_model_len} less room for questions)"
            )
        return TokenSession(
            self._thread,
            self.tokens,
            ids,
            sampling,
            number=next(self._numbers),
            seed=seed,
            context=self.max_model_len,
            side_room=self._side_room,
            run_ahead=self._run_ahead,
            keep_prefix=self.keep_prefix,
        )

    async def close(self) -> None:
        """See `SessionEngine`. What still runs fails."""
        await self._thread.close()
