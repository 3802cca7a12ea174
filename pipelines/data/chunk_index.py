"""Chunks with their vectors in a folder: built whole or not at all, searched by question.

manifest = build_qa_index(load_qa_set(path), folder, counter=TokenCounter.of("smollm2"))
[found] = ChunkIndex.open(folder).candidates(["Which drug inhibits RET?"], k=60)
"""

import json
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from actors.search.dense.embed import Embedder
from actors.search.dense.factory import IndexSpec
from actors.search.dense.failures import DenseError
from actors.search.dense.index import DenseIndex
from actors.search.dense.manifest import DenseManifest
from actors.search.index.manifest import differences, sha256
from actors.search.index.placing import alone, put_in_place, recover
from pipelines.data.cache import cache_folder
from pipelines.data.chunk_manifest import (
    MANIFEST,
    ChunkIndexError,
    ChunkIndexMismatchError,
    ChunkManifest,
    EmbedderOptions,
    check_chunking,
    check_counter,
    check_embedder,
    located,
    read_chunk_manifest,
)
from pipelines.data.chunk_vectors import ChunkVectors, embed_chunks, load_embedder
from pipelines.data.chunking import chunk_documents
from pipelines.data.chunks import Candidates, Chunk
from pipelines.data.failures import BuildError, CorpusError
from pipelines.data.qa_sets import QASet
from pipelines.data.tokens import TokenCounter
from pipelines.progress import Reporter, SilentReporter

__all__ = [
    "MANIFEST",
    "ChunkIndex",
    "ChunkIndexError",
    "ChunkIndexMismatchError",
    "ChunkManifest",
    "EmbedderOptions",
    "build_chunk_index",
    "build_qa_index",
    "check_chunking",
    "verify_chunk_index",
]

CHUNKS_FILE = "chunks.jsonl"
VECTORS_FILE = "vectors.npy"
DENSE_FOLDER = "dense"
_SPARE = 4  # times k: what a compressed index is asked for before exact similarities decide


def build_qa_index(
    qa_set: QASet,
    folder: str | Path,
    *,
    counter: TokenCounter,
    size: int = 256,
    overlap: int = 0,
    embedder: EmbedderOptions | str = "minilm",
    spec: IndexSpec | None = None,
    workers: int | None = 1,
    address: str = "local",
    cache: str | Path | None = None,
    reporter: Reporter | None = None,
) -> ChunkManifest:
    """Chunk, embed and index the documents of a set. Raises as `build_chunk_index` does, and
    `CorpusError` for documents without text."""
    reporter = reporter or SilentReporter()
    chunks = chunk_documents(qa_set.documents, counter, size=size, overlap=overlap)
    if not chunks:
        raise CorpusError(f"{qa_set.name}: its {len(qa_set.documents)} documents have no text")
    reporter.say(f"{len(qa_set.documents):,} documents are {len(chunks):,} chunks")
    return build_chunk_index(
        chunks,
        folder,
        counter=counter,
        embedder=embedder,
        spec=spec,
        workers=workers,
        address=address,
        size=size,
        overlap=overlap,
        name=qa_set.name,
        cache=cache,
        reporter=reporter,
    )


def build_chunk_index(
    chunks: Sequence[Chunk],
    folder: str | Path,
    *,
    counter: TokenCounter,
    embedder: EmbedderOptions | str = "minilm",
    spec: IndexSpec | None = None,
    workers: int | None = 1,
    address: str = "local",
    size: int = 0,
    overlap: int = 0,
    name: str = "",
    cache: str | Path | None = None,
    reporter: Reporter | None = None,
) -> ChunkManifest:
    """Embed chunks and write them with their index to `folder`, in place of an index there.

    `counter` must be the one that counted them; `size` and `overlap` say what they were cut to
    (size 0: the longest one's). One worker embeds in this process, more are Ray tasks (None: all
    CPUs of Ray). Vectors are kept below the folder `cache` (default: the user's cache) as they are
    made, so that a build that was stopped goes on. Raises `BuildError` for no chunks, ids that come
    twice, chunks counted by another tokenizer, a full disk or something else at `folder`,
    `EmbedderError`, and `DenseError` for settings of `spec` that do not fit the chunks.
    """
    reporter = reporter or SilentReporter()
    folder = Path(folder).expanduser().absolute()
    options = located(EmbedderOptions(embedder) if isinstance(embedder, str) else embedder)
    _check(chunks, counter)
    _check_target(folder)
    made = embed_chunks(
        chunks,
        options,
        cache_folder(cache) / "embeddings",
        reporter,
        workers=workers,
        address=address,
        cache=cache,
    )
    manifest = ChunkManifest(
        name=name or folder.name,
        chunks=len(chunks),
        chunks_hash="",
        documents=len({chunk.document for chunk in chunks}),
        tokens=sum(chunk.tokens for chunk in chunks),
        size=size or max(chunk.tokens for chunk in chunks),
        overlap=overlap,
        tokenizer=counter.name,
        tokenizer_fingerprint=counter.fingerprint,
        embedder=options,
        embedder_name=made.name,
        embedder_fingerprint=made.fingerprint,
        dimension=made.vectors.shape[1],
        truncated=made.truncated,
        spec=spec or IndexSpec(),
    )
    if made.truncated:
        reporter.say(
            f"{made.truncated:,} of {len(chunks):,} chunks are longer than {made.name} reads: "
            "their vectors speak of their beginnings"
        )
    building = folder.parent / f".{folder.name}.build"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with alone(building):
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            manifest = _write(building, chunks, made, manifest)
            put_in_place(building, folder, _check_target)
    except OSError as error:
        raise BuildError(
            f"{error.filename or folder}: {error.strerror or error}: free some space or name "
            "another folder; the vectors that were made are kept"
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return manifest


def _check(chunks: Sequence[Chunk], counter: TokenCounter) -> None:
    if not chunks:
        raise BuildError("a chunk index needs at least one chunk: do the documents have text?")
    seen: set[str] = set()
    for chunk in chunks:
        if chunk.id in seen:
            raise BuildError(f"chunk id {chunk.id!r} comes twice: ids must be unique")
        seen.add(chunk.id)
    for chunk, count in zip(chunks, counter.counts([c.text for c in chunks]), strict=True):
        if chunk.tokens != count:
            raise BuildError(
                f"chunk {chunk.id} says {chunk.tokens} tokens, the tokenizer of {counter.name} "
                f"counts {count}: chunk the documents with that tokenizer"
            )


def _check_target(folder: Path) -> None:
    if folder.exists() and not (folder / MANIFEST).is_file():
        if folder.is_dir() and not any(folder.iterdir()):
            return
        raise BuildError(f"{folder} is there and is no chunk index: name another folder")


def _write(
    folder: Path, chunks: Sequence[Chunk], made: ChunkVectors, manifest: ChunkManifest
) -> ChunkManifest:
    with (folder / CHUNKS_FILE).open("w", encoding="utf-8") as file:
        for chunk in chunks:
            file.write(json.dumps(asdict(chunk), ensure_ascii=False) + "\n")
    np.save(folder / VECTORS_FILE, made.vectors)
    chunks_hash = sha256(folder / CHUNKS_FILE)
    dense = DenseIndex.build([chunk.id for chunk in chunks], made.vectors, manifest.spec)
    dense.save(
        folder / DENSE_FOLDER,
        DenseManifest(
            corpus=manifest.name,
            corpus_hash=chunks_hash,
            model=made.name,
            fingerprint=made.fingerprint,
            source=manifest.embedder.model,
            max_tokens=manifest.embedder.max_tokens,
            query_prefix=manifest.embedder.query_prefix,
            passage_prefix=manifest.embedder.passage_prefix,
            truncated=made.truncated,
        ),
    )
    files = {
        path.relative_to(folder).as_posix(): sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    manifest = replace(manifest, chunks_hash=chunks_hash, files=files)
    (folder / MANIFEST).write_text(manifest.to_json(), "utf-8")
    return manifest


def verify_chunk_index(folder: str | Path) -> list[str]:
    """What is wrong with the files of the index in `folder`, one line each. Raises as `open`."""
    folder = Path(folder).expanduser()
    return differences(folder, read_chunk_manifest(folder).files)


class ChunkIndex:
    """A built index; many threads may ask it. The embedder is loaded when it is first needed."""

    def __init__(
        self,
        folder: Path,
        manifest: ChunkManifest,
        chunks: Mapping[str, Chunk],
        vectors: np.ndarray,
        dense: DenseIndex,
        *,
        device: str | None = None,
        cache: str | Path | None = None,
    ) -> None:
        self.folder, self.manifest = folder, manifest
        self.chunks = chunks
        """Every chunk by its id, in the order of the documents."""
        self._vectors, self._dense = vectors, dense
        self._rows = {id: row for row, id in enumerate(chunks)}
        self._device, self._cache = device, cache
        self._embedding = threading.Lock()

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        counter: TokenCounter | None = None,
        device: str | None = None,
        cache: str | Path | None = None,
    ) -> "ChunkIndex":
        """Read what `build_chunk_index` wrote; vectors stay on disk until they are used.

        With `counter`, the tokenizer that budgets will be counted with, an index of another one is
        refused (`ChunkIndexMismatchError`). `device` is where queries are embedded. Raises
        `ChunkIndexError` for a folder that is no index, is damaged, or does not agree with itself.
        """
        folder = Path(folder).expanduser().absolute()
        recover(folder)
        manifest = read_chunk_manifest(folder)
        if counter is not None:
            check_counter(manifest, counter, folder)
        again = "build the index again"
        try:
            if sha256(folder / CHUNKS_FILE) != manifest.chunks_hash:
                raise ChunkIndexError(
                    f"{folder / CHUNKS_FILE} is not the file that was indexed: {again}"
                )
            lines = (folder / CHUNKS_FILE).read_text("utf-8").split("\n")
            chunks = {c.id: c for line in lines if line for c in (Chunk(**json.loads(line)),)}
            vectors = np.load(folder / VECTORS_FILE, mmap_mode="r", allow_pickle=False)
            dense = DenseIndex.open(folder / DENSE_FOLDER)
        except ChunkIndexError:
            raise
        except (OSError, TypeError, ValueError, DenseError) as error:
            raise ChunkIndexError(f"{folder} is damaged ({error}): {again}") from error
        shape = (manifest.chunks, manifest.dimension)
        if vectors.shape != shape or not len(dense) == len(chunks) == manifest.chunks:
            raise ChunkIndexError(
                f"{folder} is damaged: the manifest says {manifest.chunks} chunks of "
                f"{manifest.dimension} dimensions, the files hold {len(chunks)} chunks, "
                f"{len(dense)} indexed, vectors {vectors.shape}: {again}"
            )
        return cls(folder, manifest, chunks, vectors, dense, device=device, cache=cache)

    @property
    def fingerprint(self) -> str:
        """16 hex digits over all that retrieval depends on."""
        return self.manifest.fingerprint

    @cached_property
    def embedder(self) -> Embedder:
        """What made the vectors. Raises `ChunkIndexMismatchError` where the model has changed,
        `EmbedderError` where it cannot be loaded."""
        options = replace(self.manifest.embedder, device=self._device)
        found = load_embedder(options, self._cache)
        check_embedder(self.manifest, found.name, found.fingerprint, self.folder)
        return found

    def embed(self, queries: Sequence[str]) -> np.ndarray:
        """Unit vectors (queries, dimension) float32, embedded in batches."""
        if not queries:
            return np.empty((0, self.manifest.dimension), dtype=np.float32)
        with self._embedding:
            vectors, _ = self.embedder.embed_queries(queries)
        return vectors

    def vectors_of(self, ids: Sequence[str]) -> np.ndarray:
        """Unit vectors (ids, dimension) float32. KeyError names an unknown id."""
        return np.array(self._vectors[[self._rows[id] for id in ids]], dtype=np.float32).reshape(
            len(ids), self.manifest.dimension
        )

    def candidates(self, queries: Sequence[str], k: int = 60) -> list[Candidates]:
        """The `k` nearest chunks of each query (all, where fewer exist), best first, of equal
        similarity the greater id first, as in a run that trec_eval reads."""
        return self.nearest(queries, self.embed(queries), k)

    def nearest(self, queries: Sequence[str], vectors: np.ndarray, k: int = 60) -> list[Candidates]:
        """`candidates` of queries whose unit vectors (queries, dimension) are given."""
        if k < 1:
            raise ValueError(f"{k} candidates: ask for at least 1")
        if len(vectors) != len(queries):
            raise ValueError(f"{len(vectors)} vectors for {len(queries)} queries")
        if not queries:
            return []
        asked = k * _SPARE if self.manifest.spec.kind == "ivfpq" else k
        found = self._dense.search(vectors, asked)
        return [
            self._ordered(query, vector, hits.ids, k)
            for query, vector, hits in zip(queries, vectors, found, strict=True)
        ]

    def _ordered(
        self, query: str, query_vector: np.ndarray, ids: Sequence[str], k: int
    ) -> Candidates:
        """Exact similarities decide; each is the same number whatever it is computed beside."""
        own = self.vectors_of(ids)
        similarities = (own * query_vector).sum(axis=1)
        order = sorted(range(len(ids)), key=lambda i: (similarities[i], ids[i]), reverse=True)[:k]
        return Candidates(
            query,
            tuple(self.chunks[ids[place]] for place in order),
            similarities[order].astype(np.float32),
            own[order],
            np.asarray(query_vector, dtype=np.float32),
        )
