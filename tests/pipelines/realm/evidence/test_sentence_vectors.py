import asyncio
from pathlib import Path

import numpy as np
import pytest

from actors.search.dense.embed import Embedder
from pipelines.realm.evidence.relevance import EmbeddingScorer
from pipelines.realm.evidence.sentence_vectors import (
    SentenceVectors,
    SentenceVectorsError,
    build_sentence_vectors,
)
from pipelines.realm.evidence.texts import parts
from pipelines.realm.types import Passage
from tests.tiny_embedder import write_embedder

SEA = Passage("s", "Sea", "It is deep. It is wet.")
AIR = Passage("a", "Air", "It is thin. It is thin.")


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return Embedder(write_embedder(Path(tmp_path_factory.mktemp("embedder"))))


def test_stored_vectors_are_the_models_and_spare_the_model(embedder: Embedder, tmp_path: Path):
    told: list[tuple[int, int]] = []
    store = build_sentence_vectors(
        [SEA, AIR], tmp_path / "v", embedder, lambda done, total: told.append((done, total))
    )
    assert len(store) == 3  # one comes twice
    assert told == [(3, 3)]
    found = store.get("Sea: It is deep.")
    assert found is not None
    expected = embedder.embed_passages(["Sea: It is deep."]).vectors[0]
    np.testing.assert_allclose(found, expected, atol=2e-3)  # half precision
    assert store.get("Sea: It is dry.") is None
    scorer, live = EmbeddingScorer(embedder, store=store), EmbeddingScorer(embedder)
    cut = parts([SEA, AIR])
    scores = asyncio.run(scorer.scores("deep", [SEA, AIR], cut))
    assert scorer.embedded == 1  # the query alone
    assert scores == pytest.approx(asyncio.run(live.scores("deep", [SEA, AIR], cut)), abs=5e-3)


def test_they_are_made_once_and_anew_for_more(embedder: Embedder, tmp_path: Path):
    told: list[int] = []

    def build(passages: list[Passage]) -> SentenceVectors:
        return build_sentence_vectors(
            passages, tmp_path / "v", embedder, lambda done, total: told.append(total)
        )

    build([SEA, AIR])
    build([SEA])
    assert told == [3]
    assert len(build([SEA, AIR, Passage("n", "New", "It is new.")])) == 4
    assert told == [3, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_build_that_breaks_off_leaves_nothing(embedder: Embedder, tmp_path: Path):
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_sentence_vectors([SEA], tmp_path / "v", embedder, stop)
    assert list(tmp_path.iterdir()) == []


def test_other_or_damaged_vectors_are_refused(embedder: Embedder, tmp_path: Path):
    with pytest.raises(SentenceVectorsError, match="cannot be used"):
        SentenceVectors.open(tmp_path / "none", embedder)
    folder = tmp_path / "v"
    build_sentence_vectors([SEA], folder, embedder)
    other = Embedder(write_embedder(tmp_path / "other", seed=1))
    with pytest.raises(SentenceVectorsError, match="are of model 'embedder"):
        SentenceVectors.open(folder, other)
    np.save(folder / "keys.npy", np.zeros(1, dtype=np.uint64))
    with pytest.raises(SentenceVectorsError, match="the keys are"):
        SentenceVectors.open(folder, embedder)
    (folder / "keys.npy").write_bytes(b"no array")
    with pytest.raises(SentenceVectorsError, match="build them again"):
        SentenceVectors.open(folder, embedder)
