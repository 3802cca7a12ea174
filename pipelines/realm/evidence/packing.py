"""CORAG's chunk order under a token budget, for the evidence of one retrieval.

The passages are cut into chunks of whole sentences; the policy tree of `pipelines.corag` picks
which of them are inserted, and in which order, by a reranker that is cheap enough to be asked in
the middle of a chain.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence

from actors.expansion.types import Reranker
from pipelines.corag.driver import run_searches
from pipelines.corag.jobs import SearchFailure, SearchJob
from pipelines.corag.local_scoring import LocalScoring
from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import TreeSettings
from pipelines.data.chunking import MIN_SIZE, chunk_documents
from pipelines.data.chunks import Chunk, Document
from pipelines.data.tokens import TokenCounter
from pipelines.realm.evidence.batching import Batches
from pipelines.realm.evidence.texts import titled
from pipelines.realm.types import Passage

LEAST_BUDGET = 4 * MIN_SIZE
_RERANKER = "evidence"
Packed = tuple[str, tuple[str, ...]]


class CoragPacker:
    """Packs passages into at most `budget` tokens of `counter`'s tokenizer.

    Chunks have up to `chunk_tokens` tokens, at most half the budget; a chunk's title counts too. A
    passage of which no chunk fits is left out. Chains that ask at the same time are searched side
    by side, so that the reranker's batches are full. `seconds` is what the searches took in all.
    """

    def __init__(
        self,
        reranker: Reranker,
        counter: TokenCounter,
        *,
        budget: int = 160,
        chunk_tokens: int = 48,
        settings: TreeSettings | None = None,
        keep: int = 5_000,
    ) -> None:
        if budget < LEAST_BUDGET:
            raise ValueError(
                f"evidence budget is {budget} tokens: CORAG packing needs {LEAST_BUDGET} or more"
            )
        if chunk_tokens < MIN_SIZE:
            raise ValueError(f"chunk_tokens is {chunk_tokens}, must be at least {MIN_SIZE}")
        self.budget = budget
        self.seconds = 0.0
        self._size = min(chunk_tokens, budget // 2)
        self._settings = settings or TreeSettings(wave=4, pick="reward")
        self._counter, self._keep = counter, keep
        self._scoring = LocalScoring({_RERANKER: lambda: reranker})
        self._chunks: OrderedDict[tuple[str, str, str], tuple[Chunk, ...]] = OrderedDict()
        self._batches: Batches[tuple[str, tuple[Passage, ...]], Packed] = Batches(self.pack_many)

    async def pack(self, query: str, passages: Sequence[Passage]) -> Packed:
        """(chunks of the best order, one a line; ids of the passages they are of, each once).

        Raises `RerankerError` where the reranker cannot score them.
        """
        if not passages:
            return "", ()
        return await self._batches((query, tuple(passages)))

    def pack_many(self, asked: Sequence[tuple[str, tuple[Passage, ...]]]) -> list[Packed]:
        """`pack` for many; blocking, for one thread at a time."""
        started = time.perf_counter()
        candidates = [
            [chunk for passage in passages for chunk in self._cut(passage)] for _, passages in asked
        ]
        jobs = [
            SearchJob(
                place,
                query,
                chunks,
                _RERANKER,
                tree_search([chunk.tokens for chunk in chunks], self.budget, self._settings),
            )
            for place, ((query, _), chunks) in enumerate(zip(asked, candidates, strict=True))
        ]
        found: list[Packed] = [("", ())] * len(asked)
        failures: list[SearchFailure] = []
        for outcome in run_searches(
            jobs, self._scoring, concurrency=len(jobs), on_failure=failures.append
        ):
            place = outcome.key
            assert isinstance(place, int)
            chosen = [candidates[place][at] for at in outcome.selection.order]
            ids = tuple(dict.fromkeys(chunk.document for chunk in chosen))
            found[place] = "\n".join(chunk.text for chunk in chosen), ids
        if failures:
            raise failures[0].error
        self.seconds += time.perf_counter() - started
        return found

    def _cut(self, passage: Passage) -> tuple[Chunk, ...]:
        key = (passage.id, passage.title, passage.text)
        known = self._chunks.get(key)
        if known is not None:
            self._chunks.move_to_end(key)
            return known
        document = Document(passage.id, (passage.text,))
        made = []
        for chunk in chunk_documents([document], self._counter, size=self._size):
            text = titled(passage.title, chunk.text)
            cost = self._counter.count(f"{text}\n")
            made.append(Chunk(chunk.id, text, cost, passage.id, passage.title))
        self._chunks[key] = tuple(made)
        while len(self._chunks) > self._keep:
            self._chunks.popitem(last=False)
        return self._chunks.get(key, tuple(made))
