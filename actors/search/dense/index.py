"""A FAISS index whose vectors have names that stay right through adding, removing and saving."""

import dataclasses
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import faiss
import numpy as np

from actors.search.dense.factory import IndexSpec, build, exhaustive, reach
from actors.search.dense.failures import DenseError, RemovalError
from actors.search.dense.gpu import MAX_K, GpuCopy
from actors.search.dense.locks import SharedLock
from actors.search.dense.manifest import MANIFEST, DenseManifest, read_manifest
from actors.search.index.manifest import sha256

BATCH = 1024
"""Queries that FAISS sees at a time, which bounds the (queries, k) result arrays."""


class Hits(NamedTuple):
    """The best of one query: score descending, ties by id descending, as trec_eval reads a run."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


class DenseIndex:
    """Named vectors, searched by inner product.

    Every vector has a label that is never used again; `_names[label]` is its id, None once removed.
    Callers from several threads share a CPU index; a GPU copy has one at a time.
    """

    def __init__(
        self, index: Any, names: list[str | None], spec: IndexSpec, gpu: int | None = None
    ):
        self.spec = spec
        self._index = index
        self._names = names
        self._labels = {name: label for label, name in enumerate(names) if name is not None}
        self._lock = SharedLock()
        self._gpu = gpu
        self._copy = None if gpu is None else GpuCopy(index, gpu)
        self._read_only = False

    @classmethod
    def build(
        cls,
        ids: Sequence[str],
        vectors: np.ndarray,
        spec: IndexSpec | None = None,
        gpu: int | None = None,
    ) -> "DenseIndex":
        """Train on `vectors` (n, dimension) and add them all. `gpu` is the device to search on.

        Raises `DenseError` for ids that repeat or vectors of a wrong shape, `TrainingSizeError`.
        """
        spec = spec or IndexSpec()
        vectors = _matrix(vectors)
        index = cls(build(spec, vectors), [], spec)
        index.add(ids, vectors)
        if gpu is not None:
            index._gpu, index._copy = gpu, GpuCopy(index._index, gpu)
        return index

    def __len__(self) -> int:
        return len(self._labels)

    def __contains__(self, id: object) -> bool:
        return id in self._labels

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._index.d)

    def add(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Add named vectors; an ivfpq index keeps the cells and codes it was trained with.

        Raises `DenseError`, and adds nothing, for an id that is there already.
        """
        vectors = self._checked(vectors)
        if len(ids) != len(vectors):
            raise DenseError(f"{len(ids)} ids for {len(vectors)} vectors")
        with self._lock.exclusive():
            self._check_writable()
            known: set[str] = set()
            for id in ids:
                if id in self._labels or id in known:
                    raise DenseError(f"id {id!r} is in the index already, or twice in this call")
                known.add(id)
            first = len(self._names)
            self._index.add_with_ids(vectors, np.arange(first, first + len(ids), dtype=np.int64))
            self._names.extend(ids)
            self._labels.update((id, first + place) for place, id in enumerate(ids))
            self._refresh()

    def remove(self, ids: Sequence[str]) -> None:
        """Forget vectors. Raises `DenseError` for an unknown id, `RemovalError` for an hnsw index.

        An hnsw graph has no removal: build a new one of what is to stay.
        """
        with self._lock.exclusive():
            self._check_writable()
            if self.spec.kind == "hnsw":
                raise RemovalError(
                    "an hnsw index cannot forget vectors: build it again without them, or use "
                    "flat or ivfpq"
                )
            unknown = [id for id in ids if id not in self._labels]
            if unknown:
                raise DenseError(f"id {unknown[0]!r} is not in the index")
            labels = np.array(sorted({self._labels[id] for id in ids}), dtype=np.int64)
            self._index.remove_ids(labels)
            for id in set(ids):
                self._names[self._labels.pop(id)] = None
            self._refresh()

    def search(self, vectors: np.ndarray, k: int) -> list[Hits]:
        """The `k` best of each row of `vectors` (n, dimension); all there are when fewer exist."""
        if k < 0:
            raise ValueError(f"k is {k}, below 0")
        vectors = self._checked(vectors)
        with self._lock.shared() if self._copy is None else self._lock.exclusive():
            k = min(k, len(self))
            if k == 0:
                return [Hits((), ()) for _ in vectors]
            parts = (vectors[start : start + BATCH] for start in range(0, len(vectors), BATCH))
            return [hits for part in parts for hits in self._search(part, k, k + 8)]

    def _search(self, vectors: np.ndarray, k: int, wanted: int) -> list[Hits]:
        """`wanted` are read, so that a tie at place `k` is seen whole; more where it goes on."""
        wanted = min(wanted, len(self))
        scores, labels = self._nearest(vectors, wanted)
        short = np.flatnonzero(labels[:, -1] < 0)
        if len(short):  # FAISS pads: the probed cells, or the walk of the graph, held too few
            scores[short], labels[short] = exhaustive(self._index, vectors[short], wanted)
        found = [self._order(*row, k) for row in zip(scores, labels, strict=True)]
        tied = np.flatnonzero(scores[:, -1] == scores[:, k - 1])
        if wanted < len(self) and len(tied):
            for row, hits in zip(tied, self._search(vectors[tied], k, 2 * wanted), strict=True):
                found[row] = hits
        return found

    def _nearest(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        if self._copy is not None and k <= MAX_K:
            return self._copy.search(vectors, k)
        return self._index.search(vectors, k, params=reach(self.spec, k))

    def _order(self, scores: np.ndarray, labels: np.ndarray, k: int) -> Hits:
        there = labels >= 0
        names = [self._names[label] for label in labels[there].tolist()]
        ranked = sorted(zip(scores[there].tolist(), names, strict=True), reverse=True)[:k]
        return Hits(tuple(name for _, name in ranked), tuple(score for score, _ in ranked))

    def save(self, folder: str | Path, about: DenseManifest) -> DenseManifest:
        """Write to `folder`; the manifest comes last and at once, so a crash leaves the old index.

        `about` names corpus and model; kind, count and files are filled in.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        mark = secrets.token_hex(4)
        with self._lock.shared():
            manifest = dataclasses.replace(
                about,
                kind=self.spec.kind,
                dimension=self.dimension,
                count=len(self),
                vectors=f"vectors-{mark}.faiss",
                ids=f"ids-{mark}.json",
                settings=self.spec.settings(),
            )
            faiss.write_index(self._index, str(folder / manifest.vectors))
            names = json.dumps(self._names, ensure_ascii=False)
        (folder / manifest.ids).write_text(names, "utf-8")
        sums = {name: sha256(folder / name) for name in (manifest.vectors, manifest.ids)}
        manifest = dataclasses.replace(manifest, files=sums)
        temporary = folder / f".{MANIFEST}-{mark}"
        temporary.write_text(manifest.to_json(), "utf-8")
        for path in (folder / manifest.vectors, folder / manifest.ids, temporary):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        os.replace(temporary, folder / MANIFEST)
        keep = {manifest.vectors, manifest.ids}
        for path in [*folder.glob("vectors-*.faiss"), *folder.glob("ids-*.json")]:
            if path.name not in keep:
                path.unlink(missing_ok=True)
        return manifest

    @classmethod
    def open(
        cls, folder: str | Path, *, mmap: bool = False, gpu: int | None = None
    ) -> "DenseIndex":
        """Read what `save` wrote. With `mmap` vectors stay on disk until used, and none can change.

        Raises `DenseError` for a folder that is incomplete or does not agree with itself.
        """
        folder = Path(folder)
        manifest = read_manifest(folder)
        spec = IndexSpec(manifest.kind, **manifest.settings)
        flags = 0
        if mmap:
            flags = faiss.IO_FLAG_MMAP if spec.kind == "ivfpq" else faiss.IO_FLAG_MMAP_IFC
        try:
            index = faiss.read_index(str(folder / manifest.vectors), flags)
            names = json.loads((folder / manifest.ids).read_text("utf-8"))
        except (RuntimeError, OSError, ValueError) as error:
            raise DenseError(f"{folder} is damaged ({error}): build the index again") from error
        there = sum(name is not None for name in names)
        if not index.ntotal == there == manifest.count or index.d != manifest.dimension:
            raise DenseError(
                f"{folder} is damaged: the manifest says {manifest.count} vectors of "
                f"{manifest.dimension}, the files hold {index.ntotal} of {index.d} and {there} "
                "ids: build the index again"
            )
        opened = cls(index, names, spec, gpu)
        opened._read_only = mmap
        return opened

    def _checked(self, vectors: np.ndarray) -> np.ndarray:
        vectors = _matrix(vectors)
        if vectors.shape[1] != self.dimension:
            raise DenseError(
                f"vectors have {vectors.shape[1]} dimensions, the index has {self.dimension}"
            )
        return vectors

    def _check_writable(self) -> None:
        if self._read_only:
            raise DenseError("this index was opened memory-mapped: open it without, to change it")

    def _refresh(self) -> None:
        if self._copy is not None and self._gpu is not None:
            self._copy = GpuCopy(self._index, self._gpu)


def _matrix(vectors: np.ndarray) -> np.ndarray:
    if vectors.ndim != 2:
        raise DenseError(f"vectors have shape {vectors.shape}, wanted (n, dimension)")
    made = np.ascontiguousarray(vectors, dtype=np.float32)
    if not np.isfinite(made).all():
        row = int(np.flatnonzero(~np.isfinite(made).all(axis=1))[0])
        raise DenseError(f"vector {row} is not finite")
    return made
