"""One way to open any local search environment: what the index is decides the engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from actors.search.types import SearchOutcome, SearchRequest

if TYPE_CHECKING:
    from actors.search.engine import PubMedEngine
    from actors.search.sharded import ShardedEngine

KINDS = ("pubmed", "trials", "bm25", "dense", "hybrid")
MESH_FILE = "mesh.json.gz"
"""Beside an index: the vocabulary that it was built with, as `Mesh.save` writes it."""


class Engine(Protocol):
    """What runs queries."""

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError means that the request, not the query, is wrong."""

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""

    def document_frequency(self, word: str) -> int:
        """Number of documents that hold `word`."""

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id. KeyError names an id that is not there."""


def open_engine(folder: Path | str, kind: str = "pubmed") -> Engine:
    """The engine `kind` over the index in `folder`.

    Raises FileNotFoundError where there is no index, IndexMismatchError or ValueError where it is
    another kind of index or a damaged one.
    """
    folder = Path(folder)
    if kind == "pubmed":
        return open_pubmed(folder)
    if kind == "trials":
        from actors.search.trials.build import open_trials_index
        from actors.search.trials.engine import TrialsEngine

        return TrialsEngine(open_trials_index(folder))
    if kind not in KINDS:
        raise ValueError(f"engine {kind!r} is none of {', '.join(KINDS)}")
    from actors.search.ranking.folder import open_engine as open_passages

    return open_passages(folder, kind)


def open_pubmed(
    folder: Path | str, mesh: Path | str | None = None
) -> "PubMedEngine | ShardedEngine":
    """PubMed over an index of any number of shards.

    `mesh` is NLM's descriptor XML; without it the vocabulary that the index was built with counts.
    """
    from actors.search.engine import PubMedEngine
    from actors.search.index import IndexMismatchError, Manifest, open_index
    from actors.search.mesh import load_mesh

    folder = Path(folder)
    kept = folder / MESH_FILE
    if mesh is None and kept.is_file():
        mesh = kept
    vocabulary = None if mesh is None else load_mesh(mesh)
    manifest = Manifest.load(folder)
    if manifest.schema.name != "pubmed":
        raise IndexMismatchError(
            f"index {folder} holds {manifest.schema.name}, wanted are records of PubMed"
        )
    shards = len(manifest.shards)
    if shards == 1:
        return PubMedEngine(open_index(folder), vocabulary)
    from actors.search.sharded import ShardedEngine

    return ShardedEngine([open_index(folder, shard=n) for n in range(shards)], vocabulary)
