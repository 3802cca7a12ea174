"""Answers written from ordered chunks by a rollout engine, each distinct prompt once."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from actors.model_files import hashed_files
from actors.rollout.types import Completion, Engine, GenerationRequest, Sampling
from pipelines.corag.answer_cache import AnswerCache, Written, answer_key
from pipelines.corag.citations import Citations, citations, without_marks
from pipelines.corag.prompt import Prompter, answer_messages
from pipelines.data.chunks import Chunk
from pipelines.seeds import seed_of

if TYPE_CHECKING:
    from cluster.fleet import Fleet

Progress = Callable[[int, int], None]
"""Told (answers ready, answers asked for) when that changes."""


class Generator(Protocol):
    """What writes: requests in, (key, completion) out as each one finishes."""

    def __call__(
        self, requests: Sequence[GenerationRequest], sampling: Sampling
    ) -> Iterator[tuple[str, Completion]]:
        """As `Engine.generate`."""
        ...


class AnswerError(RuntimeError):
    """The engine did not write what it was asked for. Never an empty answer."""


@dataclass(frozen=True, slots=True)
class AnswerAsk:
    """A question to answer from `chunks`, in their order. `key` names it in the result; `kind` is
    the data set's question type or empty."""

    key: str
    question: str
    chunks: tuple[Chunk, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. `text` has no citation marks and is what ROUGE compares; `marked` is as written.

    `citations` are chunk ids, `citation_kind` is `cited`, `inferred` or `none` (see `Citations`).
    `cut`: the token limit ended it. `cached`: an earlier call or process had generated it.
    `seconds`: from the call of `write` to its completion; 0 if cached.
    """

    text: str
    marked: str
    citations: tuple[str, ...]
    citation_kind: str
    prompt_tokens: int
    tokens: int
    cut: bool
    cached: bool
    seconds: float
    wrong_marks: int = 0


@dataclass(slots=True)
class WriterStats:
    """What a writer did so far; seconds are wall time of the calling process.

    `asked = generated + cached + repeated`; `repeated` prompts were equal to another one of the
    same call.
    """

    asked: int = 0
    generated: int = 0
    cached: int = 0
    repeated: int = 0
    prompt_s: float = 0.0
    generate_s: float = 0.0
    prompt_tokens: int = 0
    """Of generated answers."""
    new_tokens: int = 0


def model_fingerprint(model: str | Path, *settings: object) -> str:
    """16 hex digits over a model folder's weights and tokenizer, or a hub id, and `settings`:
    whatever else changes what it writes (engine, dtype)."""
    digest = hashlib.sha256(repr(settings).encode())
    folder = Path(model)
    if not folder.is_dir():
        digest.update(str(model).encode())
        return digest.hexdigest()[:16]
    patterns = ("*.json", "*.safetensors", "*.bin", "*.jinja", "*.model")
    for name, content in hashed_files(folder, patterns):
        digest.update(name.encode() + content)
    return digest.hexdigest()[:16]


def generator(source: "Fleet | Engine | Generator") -> Generator:
    """`source` as one function: a fleet of `RolloutWorker`s, an engine, or such a function."""
    if hasattr(source, "stream"):
        fleet: Any = source
        return lambda requests, sampling: fleet.stream(
            "generate", requests, sampling, key=lambda request: request.key
        )
    return source.generate if hasattr(source, "generate") else source


class AnswerWriter:
    """Writes answers, greedily by default.

    `model` is the folder or hub id whose tokenizer and chat template make the prompts; `source` is
    what generates with it. `variant` names what else changes its completions (engine and dtype) in
    the cache's key. Raises `PromptError` when the model has no chat template.
    """

    def __init__(
        self,
        model: str | Path,
        source: "Fleet | Engine | Generator",
        *,
        cache: AnswerCache | None = None,
        max_new_tokens: int = 64,
        max_model_len: int = 4096,
        temperature: float = 0.0,
        seed: int = 0,
        variant: str = "",
        tokenizer: Any = None,
    ) -> None:
        if tokenizer is None:
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(str(model))
        self._generate = generator(source)
        self._cache, self._seed = cache, seed
        self.sampling = Sampling(max_new_tokens=max_new_tokens, temperature=temperature)
        self.prompter = Prompter(
            tokenizer, max_model_len=max_model_len, max_new_tokens=max_new_tokens
        )
        self.fingerprint = model_fingerprint(model, variant)
        self.stats = WriterStats()

    def sibling(self, *, max_new_tokens: int) -> "AnswerWriter":
        """A writer of longer or shorter texts with this one's model, engine and cache."""
        other = copy(self)
        other.sampling = replace(self.sampling, max_new_tokens=max_new_tokens)
        other.prompter = Prompter(
            self.prompter.tokenizer,
            max_model_len=self.prompter.max_model_len,
            max_new_tokens=max_new_tokens,
        )
        other.stats = WriterStats()
        return other

    def write(
        self, asks: Sequence[AnswerAsk], progress: Progress | None = None
    ) -> dict[str, Answer]:
        """The answer of every ask, by key; each is cached as soon as it is written.

        Raises `PromptError` for a prompt over the model's window, before anything is generated;
        `AnswerError`, or the fleet's error, when the engine fails.
        """
        if len({ask.key for ask in asks}) != len(asks):
            raise ValueError("two questions have the same key")
        started = time.perf_counter()
        prompts = {
            ask.key: self.prompter.ids(
                answer_messages(ask.question, ask.chunks, ask.kind), f"question {ask.key!r}"
            )
            for ask in asks
        }
        self.stats.asked += len(asks)
        self.stats.prompt_s += time.perf_counter() - started
        waiting: dict[tuple[int, ...], list[AnswerAsk]] = {}
        for ask in asks:
            waiting.setdefault(prompts[ask.key], []).append(ask)
        answers: dict[str, Answer] = {}
        for prompt, text in self._texts(list(waiting)):
            for ask in waiting[prompt]:
                answers[ask.key] = _answer(ask, len(prompt), text)
            if progress is not None:
                progress(len(answers), len(asks))
        self.stats.repeated += len(asks) - len(waiting)
        return {ask.key: answers[ask.key] for ask in asks}

    def complete(
        self, chats: Sequence[Sequence[dict[str, str]]], progress: Progress | None = None
    ) -> list[str]:
        """Completions of any chats, in their order, cached and bounded like answers."""
        prompts = [
            self.prompter.ids(chat, f"chat {number}") for number, chat in enumerate(chats, 1)
        ]
        self.stats.asked += len(prompts)
        distinct = list(dict.fromkeys(prompts))
        self.stats.repeated += len(prompts) - len(distinct)
        texts: dict[tuple[int, ...], str] = {}
        for prompt, text in self._texts(distinct):
            texts[prompt] = text.written.text.strip()
            if progress is not None:
                progress(len(texts), len(distinct))
        return [texts[prompt] for prompt in prompts]

    def _texts(
        self, prompts: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[tuple[int, ...], "_Text"]]:
        """Distinct prompts with what was written, cached ones first, then as they finish."""
        started = time.perf_counter()
        keys = {p: answer_key(self.fingerprint, p, self.sampling, self._seed) for p in prompts}
        kept = {} if self._cache is None else self._cache.get(list(keys.values()))
        for prompt in prompts:
            if (written := kept.get(keys[prompt])) is not None:
                self.stats.cached += 1
                yield prompt, _Text(written, cached=True)
        # Neighbours share their beginning, and so the engine's prefix cache.
        missing = sorted(prompt for prompt in prompts if keys[prompt] not in kept)
        by_key = {keys[prompt].hex(): prompt for prompt in missing}
        requests = [
            GenerationRequest(key, prompt, seed_of(self._seed, key))
            for key, prompt in by_key.items()
        ]
        if not requests:
            return
        for key, completion in self._generate(requests, self.sampling):
            prompt = by_key.pop(key)
            written = Written(
                completion.text, len(completion.token_ids), completion.finish_reason == "length"
            )
            if self._cache is not None:
                self._cache.put(keys[prompt], written)
            self.stats.generated += 1
            self.stats.prompt_tokens += len(prompt)
            self.stats.new_tokens += written.tokens
            yield prompt, _Text(written, cached=False, seconds=time.perf_counter() - started)
        self.stats.generate_s += time.perf_counter() - started
        if by_key:
            raise AnswerError(
                f"the engine ended without an answer for {len(by_key)} of {len(requests)} prompts"
            )


@dataclass(frozen=True, slots=True)
class _Text:
    written: Written
    cached: bool
    seconds: float = field(default=0.0)


def _answer(ask: AnswerAsk, prompt_tokens: int, text: _Text) -> Answer:
    marked = text.written.text.strip()
    found: Citations = citations(marked, ask.chunks)
    return Answer(
        text=without_marks(marked),
        marked=marked,
        citations=found.ids,
        citation_kind=found.kind,
        prompt_tokens=prompt_tokens,
        tokens=text.written.tokens,
        cut=text.written.cut,
        cached=text.cached,
        seconds=text.seconds,
        wrong_marks=found.wrong_marks,
    )
