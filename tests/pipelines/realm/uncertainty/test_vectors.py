"""Vectors of texts."""

import asyncio

import numpy as np
import pytest

from pipelines.realm.uncertainty.vectors import HashedEncoder, TextVectors


def test_hashed_vectors_are_units_that_tell_texts_apart():
    vectors, cut = HashedEncoder(64).embed_queries(["It is in Oslo", "it is in oslo!", "Rome", "?"])
    assert vectors.shape == (4, 64)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0])
    assert vectors[0] @ vectors[1] == pytest.approx(1)
    assert abs(vectors[0] @ vectors[2]) < 0.5
    assert not cut.any()


def test_a_text_is_embedded_once():
    class Counting(HashedEncoder):
        seen = 0

        def embed_queries(self, texts):
            self.seen += len(texts)
            return super().embed_queries(texts)

    encoder = Counting(16)
    vectors = TextVectors(encoder, keep=2)

    async def embed():
        first = await vectors.embed(["a", "b", "a"])
        return first, await vectors.embed(["b", "c"]), await vectors.embed(["a"])

    first, second, third = asyncio.run(embed())
    assert encoder.seen == 4  # a, b, c, and a again: two are kept
    assert (first[0] == first[2]).all()
    assert (first[1] == second[0]).all()
    assert (first[0] == third[0]).all()
    assert asyncio.run(vectors.embed([])).shape == (0, 16)


def test_a_model_embeds_for_many_at_once(tmp_path):
    from actors.search.dense.embed import Embedder
    from tests.tiny_embedder import write_embedder

    embedder = Embedder(write_embedder(tmp_path / "model"))
    vectors = TextVectors(embedder)

    async def both():
        return await asyncio.gather(vectors.embed(["Oslo", "Rome"]), vectors.embed(["Lyon"]))

    first, second = asyncio.run(both())
    wanted, _ = embedder.embed_queries(["Oslo", "Rome", "Lyon"])
    assert np.vstack([first, second]) == pytest.approx(wanted, abs=1e-5)
