"""RAPTOR for the command line: the language model summarises, the index's embedder embeds."""

from collections.abc import Callable, Sequence

import numpy as np

from pipelines.corag.methods import RaptorPool
from pipelines.corag.raptor import (
    Group,
    RaptorSettings,
    RaptorTree,
    build_raptor,
    raptor_candidates,
    raptor_search,
)
from pipelines.corag.raptor_store import kept_raptor, raptor_key
from pipelines.corag.setup import PROMPT_TOKENS, CoragParts
from pipelines.data.chunks import Candidates, Chunk
from pipelines.progress import Reporter

SYSTEM = "You summarise texts, briefly and exactly."
TASK = "Summarise these texts in a few sentences that keep names and numbers."
GROUP_TOKENS = 2048


def raptor_pools(parts: CoragParts, reporter: Reporter) -> Callable[[Candidates], RaptorPool]:
    """What the method `raptor` works on for each question.

    The tree is over the whole corpus, built once and kept (`run.raptor` = corpus), or over each
    question's candidates. A question gets as many of its nearest nodes as it has candidates.
    """
    if parts.config.run.raptor == "candidates":
        return lambda found: _pool(_tree(parts, found.chunks, found.vectors, None), found)
    key = raptor_key(
        parts.index.fingerprint,
        parts.writer.fingerprint,
        parts.config.model.max_new_tokens,
        _settings(parts),
    )

    def build() -> RaptorTree:
        chunks = tuple(parts.index.chunks.values())
        reporter.say(f"RAPTOR: the model summarises clusters of {len(chunks):,} chunks, once")
        vectors = parts.index.vectors_of([chunk.id for chunk in chunks])
        return _tree(parts, chunks, vectors, reporter)

    tree = kept_raptor(parts.cache, key, build)
    cost = tree.cost
    reporter.say(
        f"RAPTOR: {cost.summaries:,} summaries of {cost.input_tokens:,} tokens in "
        f"{cost.output_tokens:,}"
    )
    return lambda found: _pool(tree, found)


def _pool(tree: RaptorTree, found: Candidates) -> RaptorPool:
    chunks = raptor_candidates(tree, found).chunks[: len(found.chunks)]
    costs = [chunk.tokens for chunk in chunks]
    return RaptorPool(chunks, lambda budget: raptor_search(costs, budget))


def _settings(parts: CoragParts) -> RaptorSettings:
    """Groups that fit the model's context beside the instructions and the summary."""
    prompter = parts.writer.prompter
    room = (
        prompter.max_model_len
        - prompter.max_new_tokens
        - min(PROMPT_TOKENS, prompter.max_model_len // 4)
    )
    return RaptorSettings(group_tokens=max(1, min(GROUP_TOKENS, room)), seed=parts.config.run.seed)


def _tree(
    parts: CoragParts, chunks: Sequence[Chunk], vectors: np.ndarray, reporter: Reporter | None
) -> RaptorTree:
    def summarise(groups: Sequence[Group]) -> Sequence[str]:
        chats = [summary_messages(group) for group in groups]
        if reporter is None:
            return parts.writer.complete(chats)
        with reporter.bar("summaries", len(chats)) as bar:
            return parts.writer.complete(chats, lambda done, _: bar.update(done))

    return build_raptor(
        chunks,
        vectors,
        summarise,
        lambda texts: parts.index.embedder.embed_passages(texts).vectors,
        parts.counter.count,
        _settings(parts),
    )


def summary_messages(texts: Sequence[str]) -> list[dict[str, str]]:
    """The chat that asks for one summary of all `texts`."""
    content = "\n".join(" ".join(text.split()) for text in texts)
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"{content}\n\n{TASK}"},
    ]
