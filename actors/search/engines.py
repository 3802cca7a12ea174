"""One way to open any local search environment: what the index is decides the engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from actors.search.types import SearchOutcome, SearchRequest

KINDS = ("pubmed", "trials", "bm25", "dense", "hybrid")
MESH_FILE = "mesh.bin"
"""Beside an index: the vocabulary that it was built with, in `Mesh.save`'s form."""


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


def open_engine(folder: Path | str, kind: str = "pubmed", *, shard: int | None = None) -> Engine:
    """The engine `kind` over the index in `folder`.

    Raises FileNotFoundError where there is no index, IndexMismatchError or ValueError where it is
    another kind of index or a damaged one.
    """
    folder = Path(folder)
    if kind == "pubmed":
        from actors.search.engine import PubMedEngine
        from actors.search.index import open_index
        from actors.search.mesh import Mesh

        mesh = folder / MESH_FILE
        return PubMedEngine(
            open_index(folder, shard=shard), Mesh.load(mesh) if mesh.is_file() else None
        )
    if kind == "trials":
        from actors.search.trials.engine import TrialsEngine, open_trials_index

        return TrialsEngine(open_trials_index(folder))
    if kind not in KINDS:
        raise ValueError(f"engine {kind!r} is none of {', '.join(KINDS)}")
    from actors.search.ranking.folder import open_engine as open_passages

    return open_passages(folder, kind)
