"""One way to open any local search environment: what the index is decides the engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from actors.search.types import SearchOutcome, SearchRequest

if TYPE_CHECKING:
    from actors.search.engine import PubMedEngine
    from actors.search.sharded import ShardedEngine

PASSAGES = ("bm25", "dense", "hybrid")
KINDS = ("pubmed", "trials", *PASSAGES)
PASSAGES_FILE = "passages.json"
"""What an index of passages has where others have a manifest."""
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
    if kind not in KINDS:
        raise ValueError(f"engine {kind!r} is none of {', '.join(KINDS)}")
    if kind == "pubmed":
        return open_pubmed(folder)
    check_kind(folder, "passages" if kind in PASSAGES else kind)
    if kind == "trials":
        from actors.search.trials.build import open_trials_index
        from actors.search.trials.engine import TrialsEngine

        return TrialsEngine(open_trials_index(folder))
    from actors.search.ranking.folder import open_engine as open_passages

    return open_passages(folder, kind)


def open_pubmed(
    folder: Path | str, mesh: Path | str | None = None
) -> "PubMedEngine | ShardedEngine":
    """PubMed over an index of any number of shards.

    `mesh` is NLM's descriptor XML; without it the vocabulary that the index was built with counts.
    """
    from actors.search.engine import PubMedEngine
    from actors.search.index import Manifest, open_index
    from actors.search.mesh import load_mesh

    folder = Path(folder)
    check_kind(folder, "pubmed")
    kept = folder / MESH_FILE
    if mesh is None and kept.is_file():
        mesh = kept
    vocabulary = None if mesh is None else load_mesh(mesh)
    shards = len(Manifest.load(folder).shards)
    if shards == 1:
        return PubMedEngine(open_index(folder), vocabulary)
    from actors.search.sharded import ShardedEngine

    return ShardedEngine([open_index(folder, shard=n) for n in range(shards)], vocabulary)


def check_kind(folder: Path, wanted: str) -> None:
    """IndexMismatchError unless `folder` holds an index of `wanted`: pubmed, trials, passages.

    A folder without an index passes, and what an index of `wanted` lacks is for its reader to say.
    """
    from actors.search.index import IndexMismatchError, Manifest

    if (folder / PASSAGES_FILE).is_file():
        there = "passages"
    elif Manifest.exists(folder):
        there = Manifest.load(folder).schema.name
    else:
        return
    if there != wanted:
        raise IndexMismatchError(
            f"index {folder} holds {there}, wanted is one of {wanted}: search it with "
            f"`seekray search {there} --index {folder}`, or name another index"
        )
