"""One folder for an index of passages: words for BM25, vectors for dense search, one manifest.

passages.json   corpus, its hash, how words were made
lexical/        the inverted index, which also keeps the passages
dense-KIND/     vectors: flat, ivfpq or hnsw, each tied to the same corpus hash
"""

import dataclasses
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actors.search.dense.failures import DenseError
from actors.search.engines import PASSAGES, PASSAGES_FILE
from actors.search.index import verify as faults_of
from actors.search.index.placing import alone
from actors.search.ranking.analysis import Analysis
from actors.search.ranking.bm25 import Bm25, Bm25Engine
from actors.search.ranking.failures import PassagesError, PassagesMismatchError
from actors.search.ranking.hybrid import HybridEngine
from actors.search.ranking.passages import Passage, contents, passages_hash
from actors.search.ranking.store import PassageStore, write_store

if TYPE_CHECKING:
    from actors.search.dense.embed import Embedder, Progress
    from actors.search.dense.engine import DenseEngine
    from actors.search.dense.factory import IndexSpec

    Engine = Bm25Engine | DenseEngine | HybridEngine

SCHEMA = 1
MANIFEST = PASSAGES_FILE
KINDS = PASSAGES


@dataclass(frozen=True)
class PassagesManifest:
    """What the whole folder was built from; `lexical_hash` is the lexical index's own."""

    corpus: str
    corpus_hash: str
    count: int
    stemmer: str
    stop_words: bool
    lexical_hash: str
    schema: int = SCHEMA

    @property
    def analysis(self) -> Analysis:
        """How its words were made."""
        return Analysis(self.stemmer, self.stop_words)


def build_passages_index(
    passages: Iterable[Passage],
    folder: str | Path,
    *,
    corpus: str,
    analysis: Analysis | None = None,
    embedder: "Embedder | None" = None,
    spec: "IndexSpec | None" = None,
    vectors_cache: str | Path | None = None,
    progress: "Progress | None" = None,
) -> PassagesManifest:
    """Build what `folder` still lacks: the lexical index and, with an `embedder`, a dense one.

    Vectors are kept in `vectors_cache`, so that another kind of index need not embed again.
    `PassagesError` for ids that are empty or repeat, `PassagesMismatchError` for a folder that
    holds an index of other passages, `DenseError` from the dense index.
    """
    folder, passages = Path(folder), list(passages)
    if folder.exists() and not folder.is_dir():
        raise PassagesError(f"{folder} is a file, not a folder: choose another one")
    analysis = analysis or Analysis()
    _check_ids(passages, corpus)
    digest = passages_hash(passages)
    manifest = _made(folder, corpus, digest, analysis)
    if manifest is None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with alone(folder):  # another process may be at it
            manifest = _made(folder, corpus, digest, analysis)
            if manifest is None:
                manifest = _make(passages, folder, corpus, digest, analysis)
    if embedder is not None and not _has_dense(folder, manifest, embedder, spec):
        with alone(folder):
            if not _has_dense(folder, manifest, embedder, spec):
                _add_dense(folder, manifest, passages, embedder, spec, vectors_cache, progress)
    return manifest


def read_passages_manifest(folder: str | Path) -> PassagesManifest:
    """The manifest in `folder`. Raises `PassagesError` where there is none that can be read."""
    path = Path(folder) / MANIFEST
    try:
        values: Any = json.loads(path.read_text("utf-8"))
        if values["schema"] != SCHEMA:
            raise PassagesError(
                f"{path} has schema {values['schema']}, this version reads {SCHEMA}: build it again"
            )
        return PassagesManifest(**values)
    except FileNotFoundError as error:
        raise PassagesError(f"{folder} is no index of passages: it has no {MANIFEST}") from error
    except (OSError, TypeError, KeyError, json.JSONDecodeError) as error:
        raise PassagesError(f"{path} is damaged ({error}): build the index again") from error


def read_passages(folder: str | Path, most: int | None = None) -> Iterator[tuple[str, str]]:
    """(title, text) of all passages of the index in `folder`, or of the first `most`. Raises
    `PassagesError`."""
    folder = Path(folder)
    return _open_store(folder, read_passages_manifest(folder)).passages(most)


def verify(folder: str | Path) -> list[str]:
    """What is wrong with any part of the index in `folder`, one line a fault; empty when whole.

    Raises `PassagesError` where there is no such index.
    """
    from actors.search.dense import manifest as dense

    folder = Path(folder)
    about = read_passages_manifest(folder)
    faults = []
    try:
        faults += faults_of(folder / "lexical")
        if not faults:
            _open_store(folder, about)
    except (OSError, ValueError) as error:
        faults.append(str(error))
    for vectors in sorted(folder.glob("dense-*")):
        try:
            faults += dense.verify(vectors)
            there = dense.read_manifest(vectors)
            dense.check_corpus(there, about.corpus, about.corpus_hash, str(vectors))
        except DenseError as error:
            faults.append(str(error))
    return faults


def open_engine(
    folder: str | Path,
    kind: str = "bm25",
    *,
    corpus_hash: str | None = None,
    bm25: Bm25 | None = None,
    embedder: "Embedder | None" = None,
    model: str | Path | None = None,
    index: str = "flat",
    mmap: bool = False,
    gpu: int | None = None,
    weights: Sequence[float] | None = None,
) -> "Engine":
    """The engine `kind` (bm25, dense, hybrid) over the passages in `folder`.

    Dense search embeds queries with `embedder`, or loads `model` (a folder or hub id; default:
    where the manifest says it came from) with the settings the passages were embedded with.
    `corpus_hash` is the corpus that is wanted; any other is refused. `weights` are of (bm25, dense)
    in the fusion.
    """
    if kind not in KINDS:
        raise PassagesError(f"engine {kind!r} is none of {', '.join(KINDS)}")
    folder = Path(folder)
    manifest = read_passages_manifest(folder)
    if corpus_hash is not None and corpus_hash != manifest.corpus_hash:
        raise PassagesMismatchError(
            f"the index in {folder} was built from corpus {manifest.corpus!r} (hash "
            f"{manifest.corpus_hash[:12]}), wanted was the corpus with hash {corpus_hash[:12]}: "
            "build it again from that corpus, or name its own index"
        )
    store = _open_store(folder, manifest)
    lexical = Bm25Engine(store, bm25)
    if kind == "bm25":
        return lexical
    dense = _open_dense(folder / f"dense-{index}", manifest, store, embedder, model, mmap, gpu)
    return dense if kind == "dense" else HybridEngine([lexical, dense], weights=weights)


def _check_ids(passages: Sequence[Passage], corpus: str) -> None:
    seen: set[str] = set()
    for passage in passages:
        if passage.id in seen:
            raise PassagesError(f"corpus {corpus!r}: id {passage.id!r} comes twice")
        if not passage.id or "\n" in passage.id:
            raise PassagesError(f"corpus {corpus!r}: id {passage.id!r} is empty or holds a newline")
        seen.add(passage.id)
    if not seen:
        raise PassagesError(f"corpus {corpus!r} has no passages to index")


def _made(folder: Path, corpus: str, digest: str, analysis: Analysis) -> PassagesManifest | None:
    """The manifest of an index of the same passages and words; None where there is no index."""
    if not (folder / MANIFEST).exists():
        return None
    there = read_passages_manifest(folder)
    remedy = "choose another folder, or remove that one"
    if there.corpus_hash != digest:
        raise PassagesMismatchError(
            f"{folder} holds an index of corpus {there.corpus!r} (hash {there.corpus_hash[:12]}), "
            f"this is corpus {corpus!r} (hash {digest[:12]}): {remedy}"
        )
    if there.analysis != analysis:
        raise PassagesMismatchError(
            f"{folder} holds an index with {there.analysis}, wanted is {analysis}: {remedy}"
        )
    return there


def _make(
    passages: Sequence[Passage], folder: Path, corpus: str, digest: str, analysis: Analysis
) -> PassagesManifest:
    lexical = write_store(passages, folder / "lexical", analysis, corpus)
    manifest = PassagesManifest(
        corpus,
        digest,
        len(passages),
        analysis.stemmer,
        analysis.stop_words,
        lexical.content_hash,
    )
    _write(folder, manifest)
    return manifest


def _write(folder: Path, manifest: PassagesManifest) -> None:
    temporary = folder / f".{MANIFEST}-{secrets.token_hex(4)}"
    temporary.write_text(json.dumps(dataclasses.asdict(manifest), indent=1) + "\n", "utf-8")
    os.replace(temporary, folder / MANIFEST)


def _open_store(folder: Path, manifest: PassagesManifest) -> PassageStore:
    try:
        store = PassageStore(folder / "lexical", manifest.analysis)
    except (OSError, ValueError) as error:
        raise PassagesError(f"the lexical index in {folder} cannot be opened: {error}") from error
    if store.content_hash != manifest.lexical_hash or store.lookup.size != manifest.count:
        raise PassagesMismatchError(
            f"{folder / 'lexical'} (hash {store.content_hash[:12]}, {store.lookup.size} passages) "
            f"is not the index that {MANIFEST} names (hash {manifest.lexical_hash[:12]}, "
            f"{manifest.count} passages): build it again"
        )
    return store


def _has_dense(
    folder: Path, manifest: PassagesManifest, embedder: "Embedder", spec: "IndexSpec | None"
) -> bool:
    """Whether these vectors are there. `DenseMismatchError` for those of others in their place."""
    from actors.search.dense import manifest as dense
    from actors.search.dense.factory import IndexSpec

    spec = spec or IndexSpec()
    target = folder / f"dense-{spec.kind}"
    if not (target / dense.MANIFEST).exists():  # a save that was broken off leaves none
        return False
    there = dense.read_manifest(target)
    dense.check_corpus(there, manifest.corpus, manifest.corpus_hash, str(target))
    dense.check_model(there, embedder.name, embedder.fingerprint, embedder.dimension, str(target))
    return there.settings == spec.settings()


def _add_dense(
    folder: Path,
    manifest: PassagesManifest,
    passages: Sequence[Passage],
    embedder: "Embedder",
    spec: "IndexSpec | None",
    cache: str | Path | None,
    progress: "Progress | None",
) -> None:
    from actors.search.dense import manifest as dense
    from actors.search.dense.embed import embed_cached
    from actors.search.dense.factory import IndexSpec
    from actors.search.dense.index import DenseIndex

    spec = spec or IndexSpec()
    texts = [contents(passage) for passage in passages]
    if cache is None:
        made = embedder.embed_passages(texts, progress)
    else:
        made = embed_cached(embedder, texts, manifest.corpus_hash, cache, progress)
    index = DenseIndex.build([passage.id for passage in passages], made.vectors, spec)
    about = dense.DenseManifest(
        corpus=manifest.corpus,
        corpus_hash=manifest.corpus_hash,
        model=embedder.name,
        fingerprint=embedder.fingerprint,
        source=embedder.source,
        max_tokens=embedder.max_tokens,
        query_prefix=embedder.query_prefix,
        passage_prefix=embedder.passage_prefix,
        truncated=made.truncated,
    )
    index.save(folder / f"dense-{spec.kind}", about)


def _open_dense(
    folder: Path,
    manifest: PassagesManifest,
    store: PassageStore,
    embedder: "Embedder | None",
    model: str | Path | None,
    mmap: bool,
    gpu: int | None,
) -> "DenseEngine":
    from actors.search.dense.embed import Embedder
    from actors.search.dense.engine import DenseEngine
    from actors.search.dense.index import DenseIndex
    from actors.search.dense.manifest import check_corpus, check_model, read_manifest

    if not folder.exists():
        raise PassagesError(
            f"{folder} is not there: build the index with an "
            "embedding model (`seekray index build passages --model minilm`)"
        )
    about = read_manifest(folder)
    check_corpus(about, manifest.corpus, manifest.corpus_hash, str(folder))
    embedder = embedder or Embedder(
        model or about.source or about.model,
        name="" if model else about.model,
        max_tokens=about.max_tokens,
        query_prefix=about.query_prefix,
        passage_prefix=about.passage_prefix,
    )
    check_model(about, embedder.name, embedder.fingerprint, embedder.dimension, str(folder))
    return DenseEngine(DenseIndex.open(folder, mmap=mmap, gpu=gpu), embedder, store)
