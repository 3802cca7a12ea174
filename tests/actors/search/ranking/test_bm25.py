"""BM25 against bm25s and against the formula; order; what it refuses."""

import math
from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.ranking.analysis import STOP_WORDS, Analysis, AnalysisError
from actors.search.ranking.bm25 import Bm25, Bm25Engine, best
from actors.search.ranking.passages import contents
from actors.search.ranking.store import PassageStore, write_store
from actors.search.types import QueryError, SearchRequest

PLAIN = Analysis(stemmer="", stop_words=False)


@dataclass(frozen=True)
class Text:
    id: str
    title: str
    text: str


TEXTS = [
    Text("d1", "", "the cat sat on the mat"),
    Text("d2", "Cats", "Cats and dogs are running"),
    Text("d3", "", "the dog ran"),
    Text("d10", "", "the dog ran"),
    Text("d4", "Birds", "a bird is no cat cat cat"),
]


def engine(tmp_path, texts=TEXTS, analysis=PLAIN, **parameters):
    store = write_store(texts, tmp_path / "lexical", analysis, "toy")
    return Bm25Engine(store, Bm25(**parameters))


def ask(engine, query, k=10):
    return engine.search(SearchRequest(query, k))


def test_scores_by_hand(tmp_path):
    result = ask(engine(tmp_path, k1=0.9, b=0.4), "cat")
    lengths = {"d1": 6, "d2": 5, "d3": 3, "d10": 3, "d4": 8}  # d2's text starts with its title
    mean = sum(lengths.values()) / 5
    idf = math.log(1 + (5 - 2 + 0.5) / (2 + 0.5))

    def score(tf, length):
        return idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * length / mean))

    assert result.ids == ("d4", "d1")
    assert result.scores == pytest.approx((score(3, 8), score(1, 6)))
    assert result.total == 2


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.2, 0.75), (2.0, 1.0), (1.5, 0.0)])
def test_scores_are_those_of_bm25s(tmp_path, k1, b):
    bm25s = pytest.importorskip("bm25s", reason="the oracle is not installed")
    draw = np.random.default_rng(0)
    vocabulary = [f"w{number}" for number in range(60)]
    drawn = [draw.choice(vocabulary, draw.geometric(0.05)).tolist() for _ in range(300)]
    texts = [Text(f"d{n}", "", " ".join(words)) for n, words in enumerate(drawn)]
    ours = engine(tmp_path, texts, k1=k1, b=b)
    oracle = bm25s.BM25(method="lucene", k1=k1, b=b)
    oracle.index(drawn, show_progress=False)
    for _ in range(20):
        query = draw.choice(vocabulary, 4).tolist()
        expected = oracle.get_scores(query)
        result = ask(ours, " ".join(query), k=300)
        assert result.total == (expected > 0).sum() == len(result.ids)
        places = [int(id[1:]) for id in result.ids]
        np.testing.assert_allclose(result.scores, expected[places], rtol=1e-4)


def test_a_word_given_twice_counts_twice(tmp_path):
    one = engine(tmp_path)
    assert ask(one, "cat cat").scores == pytest.approx(2 * np.array(ask(one, "cat").scores))


def test_ties_are_by_id_descending_as_strings_and_k_cuts_exactly(tmp_path):
    one = engine(tmp_path)
    assert ask(one, "dog ran").ids[:2] == ("d3", "d10")
    assert ask(one, "dog ran", k=1).ids == ("d3",)
    assert ask(one, "ran", k=0).ids == ()
    assert ask(one, "ran", k=0).total == 2
    assert len(ask(one, "the dog cat bird", k=1000).ids) == 4


@given(scores=st.lists(st.integers(0, 4), min_size=1, max_size=40), k=st.integers(0, 45))
@settings(max_examples=200, deadline=None)
def test_the_first_k_are_those_of_a_full_sort(scores, k):
    ids = [f"d{number}" for number in range(len(scores))]
    pairs = sorted(((float(s), id) for s, id in zip(scores, ids, strict=True)), reverse=True)
    named = np.array(ids, dtype=object)
    found = best(np.arange(len(scores)), np.array(scores, np.float32), named, k)
    assert found == [(id, score) for score, id in pairs[:k]]


def test_stemming_and_stop_words(tmp_path):
    one = engine(tmp_path, analysis=Analysis())
    assert set(ask(one, "the cats").ids) == {"d1", "d2", "d4"}
    assert ask(one, "run").ids == ("d2",)
    assert ask(one, "run").translation == "run"
    assert one.document_frequency("dogs") == 3
    assert one.document_frequency("the") == 0
    assert engine(tmp_path / "x").document_frequency("the") == 3
    assert len(STOP_WORDS) == 33


def test_queries_without_a_word_are_the_queries_fault(tmp_path):
    one = engine(tmp_path, analysis=Analysis())
    for query, words in [
        ("  ", "the query is empty"),
        ("?!", "only stop words"),
        ("the and of", "only stop words"),
        ("a" * 200_001, "200001 characters"),
    ]:
        outcome = ask(one, query)
        assert isinstance(outcome, QueryError)
        assert words in outcome.message
    assert ask(one, "unheardof").ids == ()


def test_requests_that_passages_cannot_answer(tmp_path):
    one = engine(tmp_path)
    for request, words in [
        (SearchRequest("cat", -1), "k is -1"),
        (SearchRequest("cat", 5, date_to=date(2000, 1, 1)), "passages have no dates"),
        (SearchRequest("cat", 5, fields=("title",)), "one text only"),
    ]:
        with pytest.raises(ValueError, match=words):
            one.search(request)
    for parameters, words in [({"k1": -1}, "k1 is -1"), ({"b": 1.5}, "b is 1.5")]:
        with pytest.raises(ValueError, match=words):
            Bm25(**parameters)
    with pytest.raises(AnalysisError, match="stemmer 'klingon' is none of"):
        Analysis(stemmer="klingon")


def test_passages_come_back_as_they_went_in(tmp_path):
    one = engine(tmp_path, [Text("é ß", "T: \udc80", "a\nb\x00c"), *TEXTS])
    assert one.fetch(["d4", "é ß"]) == [
        ("Birds", "a bird is no cat cat cat"),
        ("T: \udc80", "a\nb\x00c"),
    ]
    with pytest.raises(KeyError, match="nobody"):
        one.fetch(["nobody"])


def test_a_title_that_begins_the_text_is_not_doubled():
    assert contents(Text("x", "On wings.", "On wings. A study")) == "On wings. A study"
    assert contents(Text("x", "On wings", "A study")) == "On wings A study"
    assert contents(Text("x", "On wings", "")) == "On wings"


def test_an_analysis_serves_many_threads():
    from concurrent.futures import ThreadPoolExecutor

    analysis = Analysis()
    texts = ["running dogs", "cats ran", "national relational nationalities"] * 200
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(analysis.words, texts)) == [analysis.words(text) for text in texts]


def test_opened_again_it_answers_the_same(tmp_path):
    one = engine(tmp_path, analysis=Analysis())
    again = Bm25Engine(PassageStore(tmp_path / "lexical", Analysis()))
    assert ask(one, "cats and dogs") == ask(again, "cats and dogs")
