"""How likely a causal language model finds the question, given the chunks.

Query likelihood as in Sachan et al. (2022), "Improving Passage Retrieval with Zero-Shot Question
Generation", with the geometric mean of the tokens' probabilities as utility.
"""

import math
from collections.abc import Sequence
from typing import Any

from actors.expansion.checks import check, fingerprint, rounded
from actors.expansion.encoder import GPU_BUDGET, loading, pick_device
from actors.expansion.joining import ChunkTokens
from actors.expansion.kept_outputs import KeptOutputs, input_key
from actors.expansion.types import OrderScore, QueryOrders, RerankerError
from actors.rollout.worker import make_engine

BEFORE = "Passage:\n"
AFTER = "\nPlease write a question based on this passage.\nQuestion:"
CPU_BUDGET = 8192

Ids = tuple[int, ...]


class LikelihoodReranker:
    """exp(mean log-probability of the question's tokens after the chunks), by a rollout engine.

    `engine` is "transformers" (computes what orders begin with alike once) or "vllm"; `window` the
    most tokens of chunks, instruction and question together: what is over it is cut from the end of
    the chunks. `engine_options` go to the engine.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str = "likelihood",
        engine: str = "transformers",
        window: int = 2048,
        device: str | None = None,
        dtype: str = "float32",
        batch_tokens: int | None = None,
        engine_options: dict[str, Any] | None = None,
        keep: int = 100_000,
    ) -> None:
        from transformers import AutoConfig, AutoTokenizer

        self.name, self.window = name, window
        device = pick_device(device)
        options: dict[str, Any] = {"dtype": dtype, "max_model_len": window}
        if engine == "transformers":
            budget = batch_tokens or (GPU_BUDGET if device.startswith("cuda") else CPU_BUDGET)
            options |= {"device": device, "logprob_tokens": budget}
        with loading(name, model):
            config = AutoConfig.from_pretrained(model)
            self._tokenizer = AutoTokenizer.from_pretrained(model)
            _check_window(name, window, config)
            self.engine = make_engine(engine, model, **options | (engine_options or {}))
        self._chunks = ChunkTokens(self._tokenizer)
        self._before = (*_specials(self._tokenizer), *self._ids(BEFORE))
        self._after = self._ids(AFTER)
        self._room = window - len(self._before) - len(self._after) - (engine == "vllm")
        if self._room < 2:
            raise RerankerError(f"reranker {name}: a window of {window} has no room for a question")
        self._kept: KeptOutputs[tuple[Ids, Ids], float] = KeptOutputs(keep)
        self.fingerprint = fingerprint(
            model, getattr(config, "_commit_hash", None), BEFORE, AFTER, engine, window, dtype
        )

    @property
    def computed(self) -> int:
        """Sequences that went through the model so far."""
        return self._kept.computed

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        """See `Reranker.score`. A query without tokens has no likelihood: ValueError."""
        check(batch)
        asked = [self._requests(each) for each in batch]
        means = iter(self._means([request for each in asked for request, _ in each]))
        scores = []
        for each, requests in zip(batch, asked, strict=True):
            row = []
            for (prompt, question), tokens in requests:
                mean = rounded(next(means), self.name, each.query)
                cut = tokens > len(prompt) + len(question)
                row.append(OrderScore(min(1.0, math.exp(mean)), tokens, cut))
            scores.append(tuple(row))
        return scores

    def _requests(self, asked: QueryOrders) -> list[tuple[tuple[Ids, Ids], int]]:
        """((prompt, question), tokens before cutting) of each order."""
        whole = self._ids(f" {asked.query.strip()}") if asked.query.strip() else ()
        if not whole:
            raise ValueError(f"query {asked.query!r} has no tokens: it has no likelihood")
        question = whole[: self._room - 1]
        room = self._room - len(question)
        used = dict.fromkeys(chunk for order in asked.orders for chunk in order)
        self._chunks.learn([asked.texts[chunk] for chunk in used])
        made = []
        for order in asked.orders:
            kept, total = self._chunks.joined([asked.texts[chunk] for chunk in order], room)
            prompt = (*self._before, *kept, *self._after)
            tokens = len(prompt) - len(kept) + total + len(whole)
            made.append(((prompt, question), tokens))
        self._chunks.forget()
        return made

    def _means(self, requests: Sequence[tuple[Ids, Ids]]) -> list[float]:
        keys = [input_key(len(prompt), (*prompt, *question)) for prompt, question in requests]
        return self._kept.outputs(keys, requests, self._compute)

    def _compute(self, requests: list[tuple[Ids, Ids]]) -> list[float]:
        found = self.engine.batch_logprobs(requests)
        return [math.fsum(values) / len(values) for values in found]

    def _ids(self, text: str) -> Ids:
        made = self._tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)
        return tuple(made["input_ids"])


def _specials(tokenizer: Any) -> Ids:
    """What the tokenizer puts before a text."""
    made = tokenizer("a", return_special_tokens_mask=True)
    mask = made["special_tokens_mask"]
    return tuple(made["input_ids"][: mask.index(0)])


def _check_window(name: str, window: int, config: Any) -> None:
    most = int(getattr(config, "max_position_embeddings", 0) or 0)
    if window < 1 or (most and window > most):
        raise RerankerError(
            f"reranker {name}: a window of {window} tokens, its model reads 1 to {most}"
        )
