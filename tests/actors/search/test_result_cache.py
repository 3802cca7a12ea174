from datetime import date

from actors.search.result_cache import ResultCache
from actors.search.types import InfraFailure, QueryError, SearchRequest, SearchResult

DAY = date(2024, 5, 1)


def asked(query, k=10, **rest):
    return SearchRequest(query, k, today=DAY, **rest)


def test_needless_blanks_make_no_difference_and_lines_do():
    cache = ResultCache("h")
    found = SearchResult(("1",), 1)
    cache.put(asked("  gout   AND diet"), found)
    assert cache.get(asked("gout AND diet")) is found
    assert cache.get(asked("gout\rAND diet")) is None
    assert cache.get(asked("gout AND diet", k=11)) is None
    assert cache.get(asked("gout AND diet", syntax="ovid")) is None
    assert (cache.hits, cache.misses) == (1, 3)


def test_the_place_of_an_error_is_that_of_the_query_as_it_was_written():
    cache = ResultCache("h")
    cache.put(asked("  gout AND ("), QueryError("open bracket", "  gout AND (", 11))
    assert cache.get(asked("gout AND (")) is None
    assert cache.get(asked("  gout AND (")).position == 11


def test_failures_of_ours_are_not_kept():
    cache = ResultCache("h")
    cache.put(asked("gout"), InfraFailure("outage"))
    assert cache.get(asked("gout")) is None


def test_the_oldest_go_where_there_are_too_many_hits_or_too_many_entries():
    cache = ResultCache("h", max_entries=3, max_ids=10)
    for query in "abc":
        cache.put(asked(query), SearchResult(("1", "2", "3"), 3))
    cache.put(asked("c"), SearchResult(("1", "2", "3", "4"), 4))
    assert all(cache.get(asked(query)) for query in "abc")
    cache.put(asked("d"), SearchResult(("1",), 1))
    assert [bool(cache.get(asked(query))) for query in "abcd"] == [False, True, True, True]
    cache.put(asked("e"), SearchResult(("1",) * 9, 9))
    assert [bool(cache.get(asked(query))) for query in "bcde"] == [False, False, True, True]
    cache.put(asked("f"), SearchResult(("1",) * 11, 11))
    assert not any(cache.get(asked(query)) for query in "def")
