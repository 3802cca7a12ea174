import asyncio
import math
from pathlib import Path

import numpy as np
import pytest

from actors.expansion.lexical import WordStatistics
from actors.search.dense.embed import Embedder
from pipelines.realm.evidence.relevance import EmbeddingScorer, LexicalScorer
from pipelines.realm.evidence.texts import Part, parts
from pipelines.realm.types import Passage
from tests.tiny_embedder import write_embedder


def cut(*texts: str) -> list[Part]:
    return [Part(0, text, "") for text in texts]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return Embedder(write_embedder(Path(tmp_path_factory.mktemp("embedder"))))


def test_lexical_cosine_by_hand():
    # All words weigh 1. Query {cat, dog}; "cat cat" = (2) -> cosine 2 / (2 sqrt 2) = 1 / sqrt 2;
    # "cat dog bird" -> 2 / (sqrt 2 sqrt 3); "bird" -> 0; stop words alone -> 0.
    scorer = LexicalScorer()
    found = asyncio.run(
        scorer.scores("Cat, dog", [], cut("cat CAT", "cat dog bird", "bird", "of the"))
    )
    assert found == pytest.approx([1 / math.sqrt(2), 2 / math.sqrt(6), 0, 0])


def test_rare_words_weigh_more():
    statistics = WordStatistics.of(["gold mine", "coal mine", "salt mine"])
    scorer = LexicalScorer(statistics)
    gold, mine = asyncio.run(scorer.scores("gold mine", [], cut("gold", "mine")))
    # idf(gold) = ln(1 + 2.5/1.5), idf(mine) = ln(1 + 0.5/3.5)
    rare, common = math.log(1 + 2.5 / 1.5), math.log(1 + 0.5 / 3.5)
    assert gold == pytest.approx(rare / math.hypot(rare, common))
    assert mine == pytest.approx(common / math.hypot(rare, common))


def test_cosines_are_the_models_own_whatever_they_are_batched_with(embedder: Embedder):
    texts = ["a b c", "gold", "the sea is deep"]
    scorer = EmbeddingScorer(embedder)

    async def run() -> list[list[float]]:
        queries = enumerate(("x", "gold", "q"))
        asked = [scorer.scores(query, [], cut(*texts[: n + 1])) for n, query in queries]
        return list(await asyncio.gather(*asked))

    found = asyncio.run(run())
    passages = embedder.embed_passages(texts).vectors
    queries = embedder.embed_queries(["x", "gold", "q"])[0]
    for n, row in enumerate(found):
        expected = [float(queries[n] @ passages[i]) for i in range(n + 1)]
        np.testing.assert_allclose(row, expected, atol=1e-5)
    assert found[1][1] == pytest.approx(1.0, abs=1e-5)  # the same text


def test_a_sentence_is_embedded_once(embedder: Embedder):
    scorer = EmbeddingScorer(embedder)
    first = asyncio.run(scorer.scores("q", [], cut("one", "two", "one")))
    assert scorer.embedded == 3  # the query and two sentences
    again = asyncio.run(scorer.scores("q", [], cut("two", "one", "three")))
    assert scorer.embedded == 4
    assert [again[1], again[0]] == first[:2]
    assert asyncio.run(scorer.scores("q", [], [])) == []


def test_no_more_vectors_than_wanted_are_kept(embedder: Embedder):
    scorer = EmbeddingScorer(embedder, keep=2)
    asyncio.run(scorer.scores("q", [], cut("one", "two", "three")))
    assert len(scorer._vectors) == 2
    none = EmbeddingScorer(embedder, keep=0)
    assert len(asyncio.run(none.scores("q", [], cut("one", "two")))) == 2
    with pytest.raises(ValueError, match="below 0"):
        EmbeddingScorer(embedder, keep=-1)


def test_sentences_can_be_embedded_ahead(embedder: Embedder):
    scorer = EmbeddingScorer(embedder)
    passage = Passage("p", "Sea", "It is deep. It is wet.")
    asyncio.run(scorer.warm([passage]))
    before = scorer.embedded
    asyncio.run(scorer.scores("how deep", [passage], parts([passage])))
    assert scorer.embedded == before + 1  # the query alone
    asyncio.run(scorer.warm([]))
