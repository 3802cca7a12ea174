"""Engines over a collection, built in the cache folder where they are missing."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from actors.search.dense.factory import IndexSpec
from actors.search.ranking.analysis import Analysis
from actors.search.ranking.bm25 import Bm25
from actors.search.ranking.folder import KINDS, build_passages_index, open_engine
from actors.search.ranking.passages import passages_hash
from pipelines.data.cache import cache_folder
from pipelines.data.ir_sets import IRSet
from pipelines.data.minilm import resolve_embedder
from pipelines.ir.failures import IREvaluationError
from pipelines.progress import Reporter, SilentReporter

if TYPE_CHECKING:
    from actors.search.dense.embed import Embedder, Progress
    from actors.search.ranking.folder import Engine


@dataclass(frozen=True)
class EngineOptions:
    """How engines are built; `embedder` is `minilm`, a folder or a hub id."""

    analysis: Analysis = field(default_factory=Analysis)
    bm25: Bm25 = field(default_factory=Bm25)
    embedder: str = "minilm"
    max_tokens: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    device: str | None = None
    batch_size: int = 64
    dense: IndexSpec = field(default_factory=IndexSpec)
    gpu: int | None = None


class EngineMaker:
    """Makes engines of all kinds over one collection after the other; loads a model once."""

    def __init__(
        self,
        options: EngineOptions | None = None,
        cache: str | Path | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        self._options = options or EngineOptions()
        self._cache = cache_folder(cache)
        self._reporter = reporter or SilentReporter()
        self._embedder: Embedder | None = None

    def folder(self, ir_set: IRSet) -> Path:
        """Where the index of this collection, with these words, lies."""
        analysis = self._options.analysis
        key = [passages_hash(ir_set.corpus), analysis.stemmer, analysis.stop_words]
        if self._embedder is not None:
            key.append(self._embedder.fingerprint)
        return self._cache / "passages" / hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]

    def engine(self, ir_set: IRSet, kind: str) -> "Engine":
        """The engine `kind` over the collection's passages. Raises what building does."""
        if kind not in KINDS:
            raise IREvaluationError(f"engine {kind!r} is none of {', '.join(KINDS)}")
        options = self._options
        embedder = None if kind == "bm25" else self._model()
        folder = self.folder(ir_set)
        with self._embedding(ir_set, embedder is not None) as progress:
            manifest = build_passages_index(
                ir_set.corpus,
                folder,
                corpus=ir_set.name,
                analysis=options.analysis,
                embedder=embedder,
                spec=options.dense,
                vectors_cache=self._cache / "embeddings",
                progress=progress,
            )
        return open_engine(
            folder,
            kind,
            corpus_hash=manifest.corpus_hash,
            bm25=options.bm25,
            embedder=embedder,
            index=options.dense.kind,
            gpu=options.gpu,
        )

    def _model(self) -> "Embedder":
        from actors.search.dense.embed import Embedder

        if self._embedder is None:
            options = self._options
            self._embedder = Embedder(
                resolve_embedder(options.embedder, self._cache, self._reporter.say),
                device=options.device,
                batch_size=options.batch_size,
                max_tokens=options.max_tokens,
                query_prefix=options.query_prefix,
                passage_prefix=options.passage_prefix,
            )
        return self._embedder

    @contextmanager
    def _embedding(self, ir_set: IRSet, dense: bool) -> "Iterator[Progress | None]":
        if not dense:
            yield None
            return
        with self._reporter.bar(f"embedding {ir_set.name}", len(ir_set.corpus)) as bar:
            yield lambda done, _: bar.update(done)


def check_engines(kinds: Sequence[str]) -> None:
    """Raises `IREvaluationError` for an unknown engine, or one given twice."""
    for kind in kinds:
        if kind not in KINDS:
            raise IREvaluationError(f"engine {kind!r} is none of {', '.join(KINDS)}")
        if kinds.count(kind) > 1:
            raise IREvaluationError(f"engine {kind!r} is given twice")
