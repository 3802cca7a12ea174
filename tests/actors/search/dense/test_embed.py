"""The embedder with a tiny real model."""

import shutil

import numpy as np
import pytest

from actors.search.dense.embed import Embedder, EmbedderError, embed_cached
from tests.tiny_embedder import WINDOW, write_embedder

TEXTS = ["cat", "a much longer text than that", "dog", "", "cat cat", "x"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_embedder(tmp_path_factory.mktemp("embedder") / "tiny")


@pytest.fixture(scope="module")
def embedder(folder):
    return Embedder(folder, batch_size=2, device="cpu")


def test_vectors_are_unit_and_in_the_order_of_the_texts(embedder):
    seen = []
    made = embedder.embed_passages(TEXTS, lambda done, total: seen.append((done, total)))
    assert made.vectors.shape == (6, embedder.dimension) == (6, 24)
    assert made.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(TEXTS, made.vectors, strict=True):
        alone = embedder.embed_passages([text]).vectors[0]
        np.testing.assert_allclose(vector, alone, atol=1e-5)
    assert seen == [(2, 6), (4, 6), (6, 6)]
    assert embedder.embed_passages([]).vectors.shape == (0, 24)


def test_texts_beyond_the_window_are_cut_and_counted(embedder):
    fits, too_long = "a" * (WINDOW - 2), "a" * (WINDOW - 1)  # two marks stand around the text
    assert embedder.embed_passages([fits, too_long, too_long + "b"]).truncated == 2
    vectors, cut = embedder.embed_queries([fits, too_long])
    assert cut.tolist() == [False, True]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)


def test_a_smaller_window_can_be_asked_for(folder):
    small = Embedder(folder, max_tokens=5, device="cpu")
    assert small.embed_passages(["abc", "abcd"]).truncated == 1
    with pytest.raises(EmbedderError, match="max_tokens is 17, the model reads 1 to 16"):
        Embedder(folder, max_tokens=17, device="cpu")


def test_prefixes_stand_before_queries_and_passages(folder, embedder):
    e5 = Embedder(folder, query_prefix="q ", passage_prefix="p ", device="cpu")
    plain = embedder.embed_passages(["q cat", "p cat"]).vectors
    np.testing.assert_allclose(e5.embed_queries(["cat"])[0][0], plain[0], atol=1e-5)
    np.testing.assert_allclose(e5.embed_passages(["cat"]).vectors[0], plain[1], atol=1e-5)
    assert e5.fingerprint != embedder.fingerprint


def test_the_fingerprint_is_of_the_weights_not_of_the_place(folder, embedder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    other = write_embedder(tmp_path / "other", seed=1)
    assert embedder.name == "tiny"
    assert Embedder(copy, device="cpu").fingerprint == embedder.fingerprint
    assert Embedder(other, device="cpu").fingerprint != embedder.fingerprint


def test_a_corpus_is_embedded_once(embedder, tmp_path):
    calls = []

    def embed(corpus_hash):
        return embed_cached(embedder, TEXTS, corpus_hash, tmp_path, lambda *x: calls.append(x))

    first = embed("a")
    assert len(calls) == 3
    again = embed("a")
    assert len(calls) == 3
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert again.truncated == first.truncated == 1
    embed("b")
    assert len(calls) == 6
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:100])
    np.testing.assert_array_equal(embed("a").vectors, first.vectors)
    assert len(calls) == 9


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        Embedder(tmp_path, device="cpu")
