"""RAPTOR trees of whole corpora on disk, so that each is built once."""

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pipelines.corag.raptor import RaptorCost, RaptorNode, RaptorSettings, RaptorTree
from pipelines.data.chunks import Chunk

_VERSION = 1


class RaptorStoreError(ValueError):
    """A stored tree that cannot be read; the message names the file and says what to do."""


def raptor_key(corpus: str, writer: str, summary_tokens: int, settings: RaptorSettings) -> str:
    """What a tree is kept under: 16 hex digits over the chunk index's fingerprint, that of what
    writes the summaries, and the settings."""
    about = [_VERSION, corpus, writer, summary_tokens, asdict(settings)]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def kept_raptor(folder: str | Path, key: str, build: Callable[[], RaptorTree]) -> RaptorTree:
    """The tree of that key in `folder`; built and kept there when it is missing.

    Raises `RaptorStoreError` for a damaged file.
    """
    path = Path(folder) / f"raptor-{key}.npz"
    if path.exists():
        return load_raptor(path)
    tree = build()
    save_raptor(tree, path)
    return tree


def save_raptor(tree: RaptorTree, path: Path) -> None:
    """Writes the tree to `path` (.npz), whole or not at all."""
    nodes = [
        [asdict(node.chunk), node.level, list(node.children), sorted(node.leaves)]
        for node in tree.nodes
    ]
    text = json.dumps({"nodes": nodes, "cost": asdict(tree.cost)})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("wb") as file:
            np.savez(file, about=np.frombuffer(text.encode(), np.uint8), vectors=tree.vectors)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_raptor(path: Path) -> RaptorTree:
    """The tree at `path`. Raises `RaptorStoreError`."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            about = json.loads(kept["about"].tobytes())
            vectors = kept["vectors"]
        nodes = tuple(
            RaptorNode(Chunk(**chunk), level, tuple(children), frozenset(leaves))
            for chunk, level, children, leaves in about["nodes"]
        )
        if len(nodes) != len(vectors):
            raise ValueError(f"{len(nodes)} nodes, {len(vectors)} vectors")
        return RaptorTree(nodes, vectors, RaptorCost(**about["cost"]))
    except Exception as error:  # numpy and zipfile raise many sorts for a damaged file
        raise RaptorStoreError(
            f"RAPTOR tree {path} cannot be read ({error}): remove it, it is then built again"
        ) from error
