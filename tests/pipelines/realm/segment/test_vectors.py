from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from pipelines.realm.segment.features import Vocabulary
from pipelines.realm.segment.opening import SegmenterError
from pipelines.realm.segment.vectors import word_vectors
from tests.tiny_embedder import write_embedder

VOCABULARY = Vocabulary.learn(["ab cd ab. " * 9], 300)


def test_a_subword_is_the_mean_of_its_word_pieces(tmp_path: Path) -> None:
    embedder = write_embedder(tmp_path / "embedder")
    table = load_file(embedder / "model.safetensors")["embeddings.word_embeddings.weight"]
    words = (tmp_path / "embedder-bert" / "vocab.txt").read_text("utf-8").split()
    wide = word_vectors(VOCABULARY, embedder, width=30)
    assert wide.shape == (len(VOCABULARY), 30)
    assert not wide[:, table.shape[1] :].any()  # no more directions than the embedder has

    # A turn and a scale: distances stay in proportion.
    rows = {name: wide[VOCABULARY.ids(name)[-1]] for name in ("a", "b", " ab")}
    a, b, inner_b = (table[words.index(name)] for name in ("a", "b", "##b"))
    before = np.linalg.norm((a + inner_b) / 2 - b) / np.linalg.norm(a - b)
    after = np.linalg.norm(rows[" ab"] - rows["b"]) / np.linalg.norm(rows["a"] - rows["b"])
    assert len(VOCABULARY.ids(" ab")) == 1
    assert after == pytest.approx(before, rel=1e-4)
    # Case is the look's, not the word's.
    assert np.allclose(wide[VOCABULARY.ids("A")[0]], rows["a"])


def test_not_an_embedder(tmp_path: Path) -> None:
    with pytest.raises(SegmenterError, match="name a BERT folder"):
        word_vectors(VOCABULARY, tmp_path, 8)
    embedder = write_embedder(tmp_path / "embedder")
    (embedder / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(SegmenterError, match="cannot be read"):
        word_vectors(VOCABULARY, embedder, 8)
