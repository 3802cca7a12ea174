"""What ties a dense index to its corpus and its model."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.search.dense.failures import DenseError, DenseMismatchError
from actors.search.index.manifest import differences

SCHEMA = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class DenseManifest:
    """Contents of a saved index. `fingerprint` is the embedder's, `truncated` counts cut texts.

    `source` is where the model was loaded from: a folder, which may lie elsewhere by now, or a hub
    id.
    """

    corpus: str
    corpus_hash: str
    model: str
    fingerprint: str
    source: str = ""
    max_tokens: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    truncated: int = 0
    kind: str = ""  # this and the rest is the index's own to fill in
    dimension: int = 0
    count: int = 0
    metric: str = "inner product"
    vectors: str = ""  # file names inside the folder
    ids: str = ""
    settings: dict[str, int] = dataclasses.field(default_factory=dict)
    files: dict[str, str] = dataclasses.field(default_factory=dict)  # name: SHA-256
    schema: int = SCHEMA

    def to_json(self) -> str:
        """As it is written."""
        return json.dumps(dataclasses.asdict(self), indent=1) + "\n"


def read_manifest(folder: str | Path) -> DenseManifest:
    """The manifest in `folder`. Raises `DenseError` where there is none that can be read."""
    path = Path(folder) / MANIFEST
    try:
        values: Any = json.loads(path.read_text("utf-8"))
        schema = values["schema"]
    except FileNotFoundError as error:
        raise DenseError(f"{folder} is no dense index: it has no {MANIFEST}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DenseError(f"{path} cannot be read ({error}): build the index again") from error
    if schema != SCHEMA:
        raise DenseError(f"{path} has schema {schema}, this version reads {SCHEMA}: build it again")
    try:
        return DenseManifest(**values)
    except TypeError as error:
        raise DenseError(f"{path} is damaged ({error}): build the index again") from error


def verify(folder: str | Path) -> list[str]:
    """What is wrong with the files of the index in `folder`, one line each.

    Raises `DenseError` as `read_manifest` does, and for an index without check sums.
    """
    manifest = read_manifest(folder)
    if not {manifest.vectors, manifest.ids} <= set(manifest.files):
        raise DenseError(f"{Path(folder) / MANIFEST} has no check sums: build the index again")
    return differences(Path(folder), manifest.files)


def check_corpus(manifest: DenseManifest, corpus: str, corpus_hash: str, where: str) -> None:
    """Raises `DenseMismatchError` where the index was built from other passages."""
    if manifest.corpus_hash != corpus_hash:
        raise DenseMismatchError(
            f"the dense index in {where} was built from corpus {manifest.corpus!r} (hash "
            f"{manifest.corpus_hash[:12]}), here is corpus {corpus!r} (hash {corpus_hash[:12]}): "
            "build it again from this corpus, or name the other one"
        )


def check_model(
    manifest: DenseManifest, model: str, fingerprint: str, dimension: int, where: str
) -> None:
    """Raises `DenseMismatchError` where the index holds another model's vectors."""
    theirs = (manifest.model, manifest.fingerprint, manifest.dimension)
    ours = (model, fingerprint, dimension)
    if theirs != ours:
        raise DenseMismatchError(
            f"the dense index in {where} holds vectors of model {_name(*theirs)}, queries would be "
            f"embedded with model {_name(*ours)}: name that model, or build the index again"
        )


def _name(model: str, fingerprint: str, dimension: int) -> str:
    return f"{model!r} ({dimension} dimensions, fingerprint {fingerprint})"
