"""Queries by a DeepRetrieval model (arXiv 2503.00223), for many chains at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.rollout.types import Engine, GenerationRequest, Sampling
from pipelines.deepretrieval.answer import FormatError, read_answer
from pipelines.deepretrieval.language import LANGUAGES, Language
from pipelines.deepretrieval.prompt import Prompter, PromptError
from pipelines.realm.evidence.batching import Batches
from pipelines.seeds import seed_of


class RewriteError(RuntimeError):
    """The rewriter gave no query: too slow, failed, or not in its format."""


@dataclass(slots=True)
class RewriteCounts:
    """What became of the needs that a rewriter was given."""

    asked: int = 0
    written: int = 0
    malformed: int = 0
    late: int = 0
    failed: int = 0
    tokens: int = 0
    """Written by the model."""


class Rewriter:
    """Asks a rollout engine for queries in the prompt and format that it was trained with.

    Needs that come while a batch is written make the next batch. Greedy by default: the same need
    gives the same query.
    """

    def __init__(
        self,
        engine: Engine,
        prompter: Prompter,
        *,
        max_new_tokens: int = 160,
        temperature: float = 0.0,
        timeout_s: float = 30.0,
        most: int = 16,
        seed: int = 0,
    ) -> None:
        if not timeout_s > 0:
            raise ValueError(f"the rewriter's timeout_s is {timeout_s}, must be above 0 seconds")
        self.counts = RewriteCounts()
        self._engine = engine
        self._prompter = prompter
        self._sampling = Sampling(max_new_tokens, temperature)
        self._timeout_s = timeout_s
        self._seed = seed
        self._batches: Batches[str, str | RewriteError] = Batches(self._write, most=most)

    async def rewrite(self, need: str) -> str:
        """A query for `need`. Raises `RewriteError` after `timeout_s`, for a failing engine, for a
        prompt that is too long and for a completion that is malformed."""
        self.counts.asked += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._batches(need)
        except TimeoutError:
            self.counts.late += 1
            raise RewriteError(f"no query after {self._timeout_s:g} s") from None
        except Exception as error:
            self.counts.failed += 1
            raise RewriteError(f"the rewriter's engine failed: {error}") from error
        if isinstance(found, RewriteError):
            self.counts.malformed += 1
            raise found
        self.counts.written += 1
        return found

    def _write(self, needs: list[str]) -> Sequence[str | RewriteError]:
        results: dict[str, str | RewriteError] = {}
        requests = []
        for need in dict.fromkeys(needs):
            try:
                ids = self._prompter.ids(need, "a rewrite")
            except PromptError as error:
                results[need] = RewriteError(str(error))
                continue
            requests.append(GenerationRequest(need, ids, seed_of(self._seed, "rewrite", need)))
        for need, completion in self._engine.generate(requests, self._sampling) if requests else ():
            self.counts.tokens += len(completion.token_ids)
            answer = read_answer(completion.text, open_think=self._prompter.open_think)
            results[need] = (
                RewriteError(f"malformed: {answer.reason}")
                if isinstance(answer, FormatError)
                else " ".join(answer.query.split())
            )
        return [results.get(need) or RewriteError("the engine gave nothing") for need in needs]


def open_rewriter(
    model: str | Path,
    *,
    kind: str = "transformers",
    search: str = "bm25",
    style: str = "short",
    dtype: str = "float32",
    max_new_tokens: int = 160,
    max_prompt_tokens: int = 500,
    timeout_s: float = 30.0,
    **options: Any,
) -> Rewriter:
    """A rewriter of a trained model's folder (or a hub id), loaded here.

    `kind` is "transformers" or "vllm", `search` names the language of its queries, `style` the
    prompt that it was trained with. Raises `FetchError` for a model that is not there,
    `PromptError` for one without a chat template, ValueError for an unknown `kind` or `search`.
    """
    from transformers import AutoTokenizer

    from actors.rollout.worker import make_engine
    from pipelines.data.sample import resolve_model

    path = str(resolve_model(str(model)))
    prompter = Prompter(
        AutoTokenizer.from_pretrained(path),
        style=style,
        max_tokens=max_prompt_tokens,
        language=language_of(search),
    )
    length = max_prompt_tokens + max_new_tokens
    engine = make_engine(kind, path, dtype=dtype, max_model_len=length, **options)
    return Rewriter(engine, prompter, max_new_tokens=max_new_tokens, timeout_s=timeout_s)


def language_of(search: str) -> Language:
    """The language of queries for an index kind. Raises ValueError for an unknown one."""
    if search not in LANGUAGES:
        raise ValueError(f"no query language {search!r}; there are {', '.join(LANGUAGES)}")
    return LANGUAGES[search]
