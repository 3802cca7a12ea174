"""What ties a chunk index to its chunks, its tokenizer and its embedder."""

import dataclasses
import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from actors.search.dense.factory import IndexSpec
from pipelines.data.tokens import TokenCounter

SCHEMA = 1
MANIFEST = "chunks.json"


class ChunkIndexError(ValueError):
    """A chunk index that cannot be opened or used; the message names it and says what to do."""


class ChunkIndexMismatchError(ChunkIndexError):
    """The index belongs to another tokenizer, embedder or chunking; both are named."""


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """How chunks and queries are embedded; `model` is `minilm`, a folder or a hub id."""

    model: str = "minilm"
    batch_size: int = 64
    device: str | None = None
    max_tokens: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class ChunkManifest:
    """Contents of a chunk index.

    `tokens` sums the chunks' costs; `size` and `overlap` are what they were cut to, in tokens of
    `tokenizer`; `truncated` counts chunks that were longer than the embedder's window.
    """

    name: str
    chunks: int
    chunks_hash: str
    documents: int
    tokens: int
    size: int
    overlap: int
    tokenizer: str
    tokenizer_fingerprint: str
    embedder: EmbedderOptions
    embedder_name: str
    embedder_fingerprint: str
    dimension: int
    truncated: int
    spec: IndexSpec
    files: dict[str, str] = field(default_factory=dict)  # name: SHA-256
    schema: int = SCHEMA

    @property
    def fingerprint(self) -> str:
        """16 hex digits over all that retrieval depends on."""
        parts = (self.chunks_hash, self.tokenizer_fingerprint, self.embedder_fingerprint)
        text = json.dumps([*parts, asdict(self.spec)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), indent=1) + "\n"


def read_chunk_manifest(folder: str | Path) -> ChunkManifest:
    """The manifest in `folder`. Raises `ChunkIndexError` where there is none that can be read."""
    path = Path(folder) / MANIFEST
    try:
        values: Any = json.loads(path.read_text("utf-8"))
        schema = values["schema"]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ChunkIndexError(
            f"{folder} is no chunk index: it has no {MANIFEST}; `seekray corag index` makes one"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ChunkIndexError(f"{path} cannot be read ({error}): build the index again") from error
    if schema != SCHEMA:
        raise ChunkIndexError(
            f"{path} has schema {schema}, this version reads {SCHEMA}: build the index again"
        )
    try:
        values["embedder"] = EmbedderOptions(**values["embedder"])
        values["spec"] = IndexSpec(**values["spec"])
        return ChunkManifest(**values)
    except (TypeError, KeyError, ValueError) as error:
        raise ChunkIndexError(f"{path} is damaged ({error}): build the index again") from error


def check_counter(manifest: ChunkManifest, counter: TokenCounter, where: str | Path) -> None:
    """Raises `ChunkIndexMismatchError` where budgets would be counted by another tokenizer."""
    if counter.fingerprint != manifest.tokenizer_fingerprint:
        raise ChunkIndexMismatchError(
            f"the chunks in {where} are counted in tokens of {manifest.tokenizer!r} (fingerprint "
            f"{manifest.tokenizer_fingerprint}), the budget would be in those of {counter.name!r} "
            f"({counter.fingerprint}): use that model, or build the index again for this one"
        )


def check_embedder(manifest: ChunkManifest, name: str, fingerprint: str, where: str | Path) -> None:
    """Raises `ChunkIndexMismatchError` where queries would be embedded by another model.

    The name may differ (a folder that was moved), the fingerprint not.
    """
    if fingerprint != manifest.embedder_fingerprint:
        raise ChunkIndexMismatchError(
            f"the vectors in {where} are of {manifest.embedder_name!r} (fingerprint "
            f"{manifest.embedder_fingerprint}), queries would be embedded with {name!r} "
            f"({fingerprint}): name that model, or build the index again"
        )


def check_chunking(manifest: ChunkManifest, size: int, overlap: int, where: str | Path) -> None:
    """Raises `ChunkIndexMismatchError` where the chunks were cut to another size or overlap."""
    if (manifest.size, manifest.overlap) != (size, overlap):
        raise ChunkIndexMismatchError(
            f"the chunks in {where} were cut to {manifest.size} tokens with an overlap of "
            f"{manifest.overlap}, wanted were {size} and {overlap}: name another index, or build "
            "it again"
        )


def located(options: EmbedderOptions) -> EmbedderOptions:
    """The options with a local folder as an absolute path, which other processes find."""
    folder = Path(options.model).expanduser()
    if options.model != "minilm" and folder.is_dir():
        return dataclasses.replace(options, model=str(folder.absolute()))
    return options
