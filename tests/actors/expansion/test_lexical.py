"""BM25 of concatenations, by hand."""

import math

import pytest

from actors.expansion.catalog import make_reranker
from actors.expansion.lexical import LexicalReranker, WordStatistics
from actors.expansion.types import QueryOrders
from actors.search.ranking.bm25 import Bm25

TEXTS = {"a": "gout gout pain", "b": "zinc pain", "c": "fish"}
QUERY = "gout zinc"


def values(reranker: LexicalReranker, *each: str, query: str = QUERY) -> list[float]:
    asked = QueryOrders(query, TEXTS, tuple(tuple(order) for order in each))
    return [score.value for score in reranker.score([asked])[0]]


def test_utility_by_hand() -> None:
    """k1 1, b 1/2, mean length 4, all words alike. Of (a): tf 2 and 0, length 3, norm
    1/2 + 3/8 = 7/8, (2 / (2 + 7/8)) / 2 = 8/23. Of (a, b): tf 2 and 1, length 5, norm 9/8,
    (16/25 + 8/17) / 2."""
    reranker = LexicalReranker(
        parameters=Bm25(1.0, 0.5), statistics=WordStatistics(average_length=4.0)
    )
    found = values(reranker, "a", "ab", "c")
    assert found == pytest.approx([8 / 23, (16 / 25 + 8 / 17) / 2, 0.0])


def test_rare_words_weigh_more() -> None:
    """Of 3 texts gout is in 1 and zinc in 1, pain in 2: ln(1 + 2.5/1.5) and ln(1 + 1.5/2.5)."""
    statistics = WordStatistics.of(TEXTS.values())
    assert (statistics.documents, statistics.average_length) == (3, 2.0)
    rare, common = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    assert [statistics.idf(word) for word in ("gout", "pain")] == pytest.approx([rare, common])
    reranker = LexicalReranker(parameters=Bm25(1.0, 0.0), statistics=statistics)
    found = values(reranker, "b", query="gout pain")
    assert found == pytest.approx([common / 2 / (rare + common)])


def test_order_makes_no_difference_and_length_does() -> None:
    found = values(LexicalReranker(), "ab", "ba", "abc")
    assert found[0] == found[1] > found[2]


def test_a_word_given_twice_counts_twice_and_stop_words_do_not() -> None:
    reranker = LexicalReranker()
    once, twice, alone = (
        values(reranker, "a", query=query)[0] for query in (QUERY, f"gout the {QUERY}", "gout")
    )
    assert twice == pytest.approx(alone * 2 / 3)
    assert once == pytest.approx(alone / 2)
    assert values(reranker, "a", query="the of") == [0.0]


def test_words_are_counted_and_nothing_is_cut() -> None:
    (score,) = LexicalReranker().score([QueryOrders(QUERY, TEXTS, (("a", "b"),))])[0]
    assert (score.tokens, score.truncated) == (7, False)


def test_statistics_are_part_of_the_fingerprint() -> None:
    plain = make_reranker("bm25")
    other = make_reranker("bm25", statistics=WordStatistics.of(TEXTS.values()))
    assert plain.fingerprint == make_reranker("bm25").fingerprint != other.fingerprint
    assert plain.window == 0
