"""All shards of an index in one process, as one engine."""

from collections.abc import Sequence

from actors.search.corpus import ShardedCorpus
from actors.search.engine import Planner, PubMedEngine, QueryPlan, merge
from actors.search.index import RecordIndex
from actors.search.mesh import Mesh
from actors.search.types import QueryError, Record, SearchOutcome, SearchRequest


class ShardedEngine:
    """Searches `shards` one after another; the answers are those of one index."""

    def __init__(self, shards: Sequence[RecordIndex], mesh: Mesh | None = None) -> None:
        self.shards = list(shards)
        self._engines = [PubMedEngine(shard, mesh) for shard in shards]
        self._planner = Planner(ShardedCorpus(shards), mesh)

    def plan(self, request: SearchRequest) -> QueryPlan | QueryError:
        """The plan of one query, from what all shards know."""
        return self._planner.plan(request)

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError means that the request, not the query, is wrong."""
        plan = self.plan(request)
        if isinstance(plan, QueryError):
            return plan
        return merge(plan, [engine.run(plan) for engine in self._engines])

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""
        return [self.search(request) for request in requests]

    def document_frequency(self, word: str) -> int:
        """Number of records with `word` (or that phrase) in any searchable text field."""
        return sum(engine.document_frequency(word) for engine in self._engines)

    def record(self, id_: str) -> Record:
        """The record of `id_`. KeyError when no shard has it."""
        return self._records([id_])[0]

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id. KeyError names an id that the index lacks."""
        return [(record.title, record.abstract) for record in self._records(ids)]

    def _records(self, ids: Sequence[str]) -> list[Record]:
        found = {
            id_: shard.record(id_)
            for shard in self.shards
            for id_ in shard.ids[list(shard.ordinals(ids))]
        }
        missing = next((id_ for id_ in ids if id_ not in found), None)
        if missing is not None:
            corpus = self.shards[0].manifest.corpus
            raise KeyError(f"no record {missing!r} in the index of {corpus!r}")
        return [found[id_] for id_ in ids]
