from datetime import date

import pytest

from actors.search.index import build_index
from actors.search.postings import ByteCache, Postings
from actors.search.pubmed.translation import Atom
from actors.search.types import Record


def test_cache_drops_what_was_used_longest_ago():
    cache = ByteCache(max_bytes=2 * (400 + 100))  # an entry costs its size and 400 bytes
    for key in "ab":
        cache.get(key, lambda key=key: (key, 100))
    cache.get("a", lambda: pytest.fail("a is held"))
    cache.get("c", lambda: ("c", 100))
    assert cache.bytes == 1000
    cache.get("a", lambda: pytest.fail("a is held"))
    assert cache.get("b", lambda: ("b again", 100)) == "b again"
    assert cache.get("big", lambda: ("big", 10_000)) == "big"
    assert cache.bytes == 1000


def test_dates_are_runs_of_bits_newest_first():
    days = [date(2003, 1, 1), date(2002, 1, 1), date(2002, 1, 1), date(2001, 1, 1), None]
    records = [Record(str(9 - i), "rat", published=day) for i, day in enumerate(days)]
    postings = Postings(build_index(records), 1_000)
    assert postings.published(date.min, date.max) == 0b01111
    assert postings.published(date(2002, 1, 1), date(2002, 1, 1)) == 0b00110
    assert postings.published(date(2001, 1, 2), date(2002, 12, 31)) == 0b00110
    assert postings.published(date(2004, 1, 1), date.max) == 0
    assert postings.published(date(2003, 1, 1), date(2001, 1, 1)) == 0


def test_scores_are_those_of_each_store_field_that_holds_the_word():
    postings = Postings(build_index([Record("2", "rat", "rat"), Record("1", "cat", "rat")]), 10**6)
    ordinals, scores = postings.scores(Atom(("title", "abstract"), ("rat",)))
    assert sorted(ordinals.tolist()) == [0, 0, 1]
    assert (scores > 0).all()
    assert postings.scores(Atom(("title",), ("dog",)))[0].tolist() == []
