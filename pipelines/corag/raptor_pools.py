"""What RAPTOR chooses from for each question: over its candidates, or over a whole corpus.

Trees are built for many questions at once and kept; summaries are written by the model that
answers and stay in its cache, so that a run that was stopped writes none twice.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.corag.methods import MethodError, RaptorPool
from pipelines.corag.raptor import (
    Group,
    RaptorCost,
    RaptorSettings,
    RaptorTree,
    build_raptor,
    build_raptors,
    raptor_candidates,
    raptor_search,
)
from pipelines.corag.raptor_store import kept_raptor, raptor_key
from pipelines.corag.summariser import SUMMARY_TOKENS, Summariser
from pipelines.data.chunks import Candidates
from pipelines.progress import Reporter, SilentReporter

if TYPE_CHECKING:
    from pipelines.corag.answer import AnswerWriter
    from pipelines.data.chunk_index import ChunkIndex
    from pipelines.data.tokens import TokenCounter


class RaptorPools:
    """From a question's candidates to these and the summaries above, nearest first.

    Trees over candidates are built when first asked for (`prepare` builds many at once);
    `use_corpus` takes one tree over all chunks instead. `cost` adds up what all trees took. With
    `as_many` a question gets as many of its nearest nodes as it has candidates, else all of them.
    Raises `MethodError` for a model whose context has no room for summaries.
    """

    def __init__(
        self,
        index: "ChunkIndex",
        writer: "AnswerWriter",
        counter: "TokenCounter",
        *,
        summary_tokens: int = SUMMARY_TOKENS,
        seed: int = 0,
        as_many: bool = False,
        reporter: Reporter | None = None,
    ) -> None:
        self._index, self._counter, self._as_many = index, counter, as_many
        self._reporter = reporter or SilentReporter()
        self._summary_tokens = summary_tokens
        self.summariser = Summariser(writer, summary_tokens)
        room = self.summariser.room
        if room < 2 * summary_tokens:
            raise MethodError(
                f"RAPTOR: the model's context leaves {room} tokens for what is summarised, at "
                f"least {2 * summary_tokens} are needed: raise rollout.context"
            )
        most = RaptorSettings().group_tokens
        self.settings = RaptorSettings(group_tokens=min(most, room), seed=seed)
        self.cost = RaptorCost()
        self._corpus: RaptorTree | None = None
        self._trees: dict[bytes, RaptorTree] = {}

    def __call__(self, candidates: Candidates) -> RaptorPool:
        """Chunks and summaries, nearest to the question first."""
        tree = self._corpus
        if tree is None:
            self.prepare([candidates])
            tree = self._trees[_key(candidates)]
        chunks = raptor_candidates(tree, candidates).chunks
        if self._as_many:
            chunks = chunks[: len(candidates.chunks)]
        costs = [chunk.tokens for chunk in chunks]
        return RaptorPool(chunks, lambda budget: raptor_search(costs, budget))

    def prepare(self, candidates: Sequence[Candidates]) -> None:
        """Builds the missing trees of these questions together: each level is one batch."""
        if self._corpus is not None:
            return
        wanted = {_key(each): each for each in candidates}
        missing = {key: each for key, each in wanted.items() if key not in self._trees}
        trees = build_raptors(
            [(each.chunks, each.vectors) for each in missing.values()],
            self.summariser,
            self._embed,
            self._counter.count,
            self.settings,
        )
        for key, tree in zip(missing, trees, strict=True):
            self._trees[key] = tree
            self._add(tree.cost)

    def use_corpus(self, folder: str | Path) -> None:
        """One tree over all chunks of the index from now on, kept in `folder`."""
        key = raptor_key(
            self._index.fingerprint,
            self.summariser.writer.fingerprint,
            self._summary_tokens,
            self.settings,
        )
        self._corpus = kept_raptor(folder, key, self._over_corpus)
        cost = self._corpus.cost
        self._add(cost)
        self._reporter.say(
            f"RAPTOR: {cost.summaries:,} summaries of {cost.input_tokens:,} tokens in "
            f"{cost.output_tokens:,}"
        )

    def _over_corpus(self) -> RaptorTree:
        chunks = list(self._index.chunks.values())
        self._reporter.say(f"RAPTOR: the model summarises clusters of {len(chunks):,} chunks, once")

        def summarise(groups: Sequence[Group]) -> list[str]:
            with self._reporter.bar("summaries", len(groups)) as bar:
                return self.summariser(groups, lambda done, _: bar.update(done))

        return build_raptor(
            chunks,
            self._index.vectors_of([chunk.id for chunk in chunks]),
            summarise,
            self._embed,
            self._counter.count,
            self.settings,
        )

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        return self._index.embedder.embed_passages(texts).vectors

    def _add(self, cost: RaptorCost) -> None:
        for name in RaptorCost.__dataclass_fields__:
            setattr(self.cost, name, getattr(self.cost, name) + getattr(cost, name))


def _key(candidates: Candidates) -> bytes:
    """A tree is over a set of chunks in their order, whatever the question."""
    return hashlib.sha256("\0".join(chunk.id for chunk in candidates.chunks).encode()).digest()
