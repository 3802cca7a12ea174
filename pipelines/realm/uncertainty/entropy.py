"""U_ent: how widely the index spreads over the entities of a step."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from actors.search.types import InfraFailure
from pipelines.realm.types import Passage, Retriever
from pipelines.realm.uncertainty.spans import Entity, mentions

DEPTH = 100
"""Passages that are looked at for an entity."""


@dataclass(frozen=True, slots=True)
class EntropyFound:
    """U_ent of a step; None where it has no entities, or none could be looked up (`failure`)."""

    value: float | None
    searches: int = 0
    cached: int = 0
    failure: str = ""


class EntityEntropy:
    """Entropies of entities over `retriever`, which has to rank by BM25 (scores above 0).

    Give it the index itself, not a prefetching one: its look-ups are none of a chain's. Values of
    the last `keep` entities stay; an entity that two chains ask for at once is looked up once.
    """

    def __init__(self, retriever: Retriever, *, depth: int = DEPTH, keep: int = 100_000) -> None:
        if depth < 2:
            raise ValueError(f"depth of the entity entropy is {depth}, below 2: no entropy in that")
        self._retriever, self._depth, self._keep = retriever, depth, keep
        self._known: OrderedDict[str, float] = OrderedDict()
        self._running: dict[str, asyncio.Task[float | InfraFailure]] = {}

    async def of_step(self, entities: Sequence[Entity]) -> EntropyFound:
        """The mean over the entities that could be looked up."""
        names = {entity.key: entity.text for entity in entities if entity.key}
        if not names:
            return EntropyFound(None)
        known = {key: self._known[key] for key in names if key in self._known}
        for key in known:
            self._known.move_to_end(key)
        new = [key for key in names if key not in known]
        tasks = []
        searches = 0
        for key in new:
            task = self._running.get(key)
            if task is None or task.get_loop() is not asyncio.get_running_loop():
                task = self._running[key] = asyncio.create_task(self._search(key, names[key]))
                searches += 1
            tasks.append(asyncio.shield(task))  # another step may wait for it too
        found = await asyncio.gather(*tasks)
        values = [value for value in found if not isinstance(value, InfraFailure)]
        failures = [value.message for value in found if isinstance(value, InfraFailure)]
        values += known.values()
        return EntropyFound(
            value=sum(values) / len(values) if values else None,
            searches=searches,
            cached=len(names) - searches,
            failure=failures[0] if failures else "",
        )

    async def _search(self, key: str, name: str) -> float | InfraFailure:
        try:
            found = await self._retriever.search(f"What is {name}?", self._depth)
        finally:
            self._running.pop(key, None)
        if isinstance(found, InfraFailure):
            return found
        value = entity_entropy(name, found, self._depth)
        self._known[key] = value
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
        return value


def entity_entropy(name: str, passages: Sequence[Passage], depth: int = DEPTH) -> float:
    """-sum p ln p / ln `depth`, p the scores of the passages that mention `name`, normalised.

    In [0, 1]: 0 for one passage alone, 1 where no passage mentions the name at all.
    """
    scores = [
        passage.score
        for passage in passages
        if passage.score > 0 and mentions(name, f"{passage.title} {passage.text}")
    ]
    total = sum(scores)
    if not total:
        return 1.0
    shares = [score / total for score in scores]
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    return min(1.0, max(0.0, entropy / math.log(depth)))
