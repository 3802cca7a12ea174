"""Sessions on any OpenAI-compatible completion server: a black box that gives text alone."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from actors.rollout.sessions.completion_api import Chunk, CompletionApi, ServerError
from actors.rollout.sessions.completion_session import CompletionSession
from actors.rollout.sessions.types import EngineError
from actors.rollout.types import Sampling

FEATURES = ("stream_options", "seed", "n")
"""What a server may not know: left out once it has refused a request with and taken it without."""
REFUSED = (400, 422)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server is waited for, and how often it is asked again."""

    timeout_s: float = 60.0
    """For a first or further piece of text."""
    retries: int = 3
    """Tries again after failures with nothing new in between."""
    retries_in_all: int = 12
    """Tries again in one writing, however much came in between."""
    backoff_s: float = 0.5
    """Before the first try again; doubled each time, up to `longest_s`, half of it by chance."""
    longest_s: float = 20.0


class CompletionSessions:
    """See `SessionEngine`. `url` is the server's base, such as http://localhost:8000/v1.

    Requests carry the whole text: whether the server keeps prefixes is its affair, and
    `Usage.cached_tokens` what it tells of it (0 where it tells nothing). Where it counts no tokens,
    pieces are counted. `token` is sent as a bearer token. For one event loop. Raises ValueError
    for an address that is none.
    """

    has_logprobs = False

    def __init__(
        self, model: str, *, url: str, token: str | None = None, patience: Patience | None = None
    ) -> None:
        self.model = model
        self.patience = patience or Patience()
        self._api = CompletionApi(url, token=token, timeout_s=self.patience.timeout_s)
        self._without: set[str] = set()

    def open(
        self, prompt: str, sampling: Sampling, *, key: str = "", seed: int = 0
    ) -> CompletionSession:
        """See `SessionEngine`. Nothing is sent before there is something to write."""
        return CompletionSession(self, prompt, sampling, key=key, seed=seed)

    async def close(self) -> None:
        """See `SessionEngine`."""
        await self._api.close()

    async def stream(
        self, prompt: str, sampling: Sampling, seed: int
    ) -> AsyncGenerator[Chunk, None]:
        """One request's chunks; raises `ServerError`."""
        first: ServerError | None = None
        body = self._body(prompt, sampling, seed, 1, streams=True)
        while True:
            try:
                async with aclosing(self._api.stream(body)) as chunks:
                    async for chunk in chunks:
                        self._learn(body, first)
                        yield chunk
                return
            except ServerError as fault:
                first, body = self._lighter(first, fault, body)

    async def whole(self, prompt: str, sampling: Sampling, seed: int, n: int) -> list[Chunk]:
        """One request's choices, `n` or fewer; raises `ServerError`."""
        first: ServerError | None = None
        body = self._body(prompt, sampling, seed, n, streams=False)
        while True:
            try:
                chunks = await self._api.whole(body)
            except ServerError as fault:
                first, body = self._lighter(first, fault, body)
            else:
                self._learn(body, first)
                return chunks

    async def wait(self, fault: ServerError, failures: int, in_all: int, key: str) -> None:
        """Until the next try after so many failures in a row, and in all; raises `EngineError` if
        there is none."""
        patience = self.patience
        over = failures > patience.retries or in_all > max(
            patience.retries, patience.retries_in_all
        )
        if over or not fault.passing:
            tries = f" ({in_all} tries)" if in_all > 1 else ""
            raise EngineError(f"{key or 'a session'}: {fault}{tries}") from fault
        pause = self.patience.backoff_s * 2 ** (failures - 1) * random.uniform(0.5, 1.0)
        await asyncio.sleep(min(max(pause, fault.wait_s), self.patience.longest_s))

    def _lighter(
        self, first: ServerError | None, fault: ServerError, body: dict[str, Any]
    ) -> tuple[ServerError, dict[str, Any]]:
        """The request without what the server may not know, once; else raises what it said."""
        if first is not None:
            raise first if fault.status in REFUSED else fault
        here = [feature for feature in FEATURES if feature in body]
        named = [feature for feature in here if feature in str(fault)]
        if fault.status not in REFUSED or not here:
            raise fault
        without = named or here
        return fault, {name: value for name, value in body.items() if name not in without}

    def _learn(self, body: dict[str, Any], first: ServerError | None) -> None:
        """The server took what it had refused with more features: they are left out from now on."""
        if first is not None:
            self._without.update(set(FEATURES) - set(body))

    def _body(
        self, prompt: str, sampling: Sampling, seed: int, n: int, *, streams: bool
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
        }
        if sampling.top_p != 1.0:
            body["top_p"] = sampling.top_p
        if sampling.top_k:
            body["top_k"] = sampling.top_k
        if sampling.stop:
            body["stop"] = list(sampling.stop[:4])  # OpenAI's bound; all are looked for here too
        if streams:
            body["stream_options"] = {"include_usage": True}
        if n > 1:
            body["n"] = n
        body["seed"] = seed
        return {name: value for name, value in body.items() if name not in self._without}
