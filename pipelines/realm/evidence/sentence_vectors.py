"""Vectors of all sentences of a corpus, made when the index is: evidence is then scored at the cost
of embedding the query alone.

    manifest.json   embedder, its fingerprint, counts
    keys.npy        (n,) uint64, sorted: 8 bytes of BLAKE2b over each sentence as it is read
    vectors.npy     (n, dimension) float16 in the keys' order; stays on disk until used
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from actors.search.ranking.passages import Passage as AnyPassage
from pipelines.files import write_whole
from pipelines.realm.evidence.texts import parts
from pipelines.realm.types import Passage

if TYPE_CHECKING:
    from actors.search.dense.embed import Embedder, Progress

MANIFEST = "manifest.json"
_SCHEMA = 1
_AT_ONCE = 2048


class SentenceVectorsError(ValueError):
    """Vectors that cannot be used; the message names the folder and says what to do."""


class SentenceVectors:
    """What `build_sentence_vectors` wrote. For any number of threads."""

    def __init__(self, keys: np.ndarray, vectors: np.ndarray) -> None:
        self._keys, self._vectors = keys, vectors

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, sentence: str) -> np.ndarray | None:
        """The unit vector (dimension,) float32 of a sentence as it is read; None if not held."""
        key = _key(sentence)
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None
        vector = np.asarray(self._vectors[place], dtype=np.float32)
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector

    @classmethod
    def open(cls, folder: str | Path, embedder: "Embedder") -> "SentenceVectors":
        """Raises `SentenceVectorsError` for a folder without, or with another model's, vectors."""
        folder = Path(folder)
        again = "build them again"
        try:
            about = json.loads((folder / MANIFEST).read_text("utf-8"))
            if about["schema"] != _SCHEMA:
                raise ValueError("another version wrote them")
            theirs = (about["embedder"], about["fingerprint"])
            keys = np.load(folder / "keys.npy")
            vectors = np.load(folder / "vectors.npy", mmap_mode="r")
            if vectors.shape != (about["count"], embedder.dimension) and theirs[0] == embedder.name:
                raise ValueError(f"the vectors are {vectors.shape}")
            if keys.shape != (about["count"],):
                raise ValueError(f"the keys are {keys.shape}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SentenceVectorsError(
                f"the sentence vectors in {folder} cannot be used ({error}): {again}"
            ) from error
        ours = (embedder.name, embedder.fingerprint)
        if theirs != ours:
            raise SentenceVectorsError(
                f"the sentence vectors in {folder} are of model {theirs[0]!r} ({theirs[1]}), "
                f"sentences would be compared by {ours[0]!r} ({ours[1]}): name that model, or "
                f"{again}"
            )
        return cls(keys, vectors)


def build_sentence_vectors(
    passages: Iterable[AnyPassage],
    folder: str | Path,
    embedder: "Embedder",
    progress: "Progress | None" = None,
) -> SentenceVectors:
    """Embeds every sentence of `passages` once; a folder that has them all is left as it is.

    The folder is written aside and put in place when it is whole. `progress` is told (sentences
    done, sentences in all).
    """
    folder = Path(folder)
    texts: dict[int, str] = {}
    for passage in passages:
        for part in parts([Passage(passage.id, passage.title, passage.text)]):
            texts.setdefault(_key(part.read), part.read)
    keys = np.array(sorted(texts), dtype=np.uint64)
    try:
        held = SentenceVectors.open(folder, embedder)
        if np.isin(keys, held._keys).all():
            return held
    except SentenceVectorsError:
        pass
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    try:
        aside.mkdir()
        shape = (len(keys), embedder.dimension)
        vectors = np.lib.format.open_memmap(
            aside / "vectors.npy", mode="w+", dtype=np.float16, shape=shape
        )
        for start, rows in _blocks([texts[key] for key in keys.tolist()]):
            vectors[start : start + len(rows)] = embedder.embed_passages(rows).vectors
            if progress is not None:
                progress(start + len(rows), len(keys))
        vectors.flush()
        np.save(aside / "keys.npy", keys)
        about = {
            "schema": _SCHEMA,
            "embedder": embedder.name,
            "fingerprint": embedder.fingerprint,
            "count": len(keys),
            "dimension": embedder.dimension,
        }
        write_whole(aside / MANIFEST, json.dumps(about, indent=1) + "\n")
        if folder.is_dir():
            shutil.rmtree(folder)
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return SentenceVectors.open(folder, embedder)


def _blocks(texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    for start in range(0, len(texts), _AT_ONCE):
        yield start, texts[start : start + _AT_ONCE]


def _key(sentence: str) -> int:
    digest = hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
