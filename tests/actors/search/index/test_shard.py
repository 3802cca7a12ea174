"""Answers of an index against a scan over the documents' words."""

import math
import sys
from datetime import date
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.index import Document, Schema, build_documents
from actors.search.index.cache import ByteCache
from actors.search.index.tokens import normal, tokens
from actors.search.lookup import Atom, Near, Statistics
from actors.search.text import words

SCHEMA = Schema("scan", "day", text=("a", "b"), values=("v",), days=("day",))
WORDS = ["x", "xa", "xab", "y", "ya", "z"]

values = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=3)
corpora = st.lists(st.fixed_dictionaries({"a": values, "b": values}), min_size=1, max_size=6)
asked = st.sampled_from([*WORDS, "x*", "xa*", "y*", "q*"])
stores = st.sampled_from([("a",), ("b",), ("a", "b")])


def index_of(corpus):
    documents = [
        Document(str(len(corpus) - i), text, {"v": text["a"]}) for i, text in enumerate(corpus)
    ]
    return build_documents(documents, None, SCHEMA)


def fits(word, asked, until=""):
    if asked.endswith("*"):
        return word.startswith(asked[:-1]) and (not until or word <= until)
    return word == asked


def value_holds(value, groups, slop):
    """Groups of predicates over one value's words."""
    if slop is None:
        return any(
            all(any(test(value[start + i]) for test in group) for i, group in enumerate(groups))
            for start in range(len(value) - len(groups) + 1)
        )
    return any(
        max(places) - min(places) + 1 - len(groups) <= slop
        and all(any(test(value[p]) for test in g) for p, g in zip(places, groups, strict=True))
        for places in permutations(range(len(value)), len(groups))
    )


def scan(corpus, columns, groups, slop):
    return {
        i
        for i, text in enumerate(corpus)
        for column in columns
        for value in text[column]
        if value_holds(value.split(), groups, slop)
    }


@settings(max_examples=70, deadline=None)
@given(corpora, stores, st.lists(asked, min_size=1, max_size=4), st.sampled_from(["", "xa", "ya"]))
def test_words_phrases_and_truncation(corpus, columns, asked, until):
    atom = Atom(columns, tuple(asked), None, until if asked[-1].endswith("*") else "")
    bounds = [""] * (len(asked) - 1) + [atom.until]
    tests = [[lambda w, a=a, u=u: fits(w, a, u)] for a, u in zip(asked, bounds, strict=True)]
    index = index_of(corpus)
    expected = scan(corpus, columns, tests, None)
    assert set(index.find(atom)) == expected
    assert index.count(atom) == len(expected)
    assert index.frequencies(atom) == tuple(len(scan(corpus, (c,), tests, None)) for c in columns)


@settings(max_examples=70, deadline=None)
@given(
    corpora,
    stores,
    st.lists(st.lists(asked, min_size=1, max_size=2), min_size=2, max_size=4),
    st.sampled_from([0, 1, 2, 9, None]),
)
def test_near(corpus, columns, groups, slop):
    tests = [[lambda w, a=a: fits(w, a) for a in group] for group in groups]
    near = Near(columns, tuple(map(tuple, groups)), slop)
    index = index_of(corpus)
    expected = scan(corpus, columns, tests, slop)
    assert set(index.near(near)) == expected
    if all(len(group) == 1 for group in groups):
        assert set(index.find(Atom(columns, tuple(g[0] for g in groups), slop))) == expected


@settings(max_examples=25, deadline=None)
@given(
    corpora, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.booleans(), st.booleans()
)
def test_edges_of_values(corpus, phrase, start, end):
    atom = Atom(("a",), ("",) * start + tuple(phrase) + ("",) * end)

    def fits_in(value):
        at = [i for i in range(len(value)) if value[i : i + len(phrase)] == phrase]
        return any((not start or i == 0) and (not end or i + len(phrase) == len(value)) for i in at)

    expected = {i for i, t in enumerate(corpus) if any(fits_in(v.split()) for v in t["a"])}
    assert set(index_of(corpus).find(atom)) == expected


@settings(max_examples=25, deadline=None)
@given(corpora, st.sampled_from(["x", "x ", "xa", "y ", "", "q"]), st.integers(0, 4))
def test_variations_and_values(corpus, prefix, limit):
    index = index_of(corpus)
    known = {" ".join(v.split()) for text in corpus for v in text["a"]} - {""}
    hits = sorted(k for k in known if k.startswith(prefix) or k == prefix.strip() != prefix)
    assert index.variations(("v",), prefix, limit) == hits[:limit]
    expected = {
        i for i, t in enumerate(corpus) if {" ".join(v.split()) for v in t["a"]} & set(hits)
    }
    if prefix:
        assert set(index.find(Atom(("v",), (prefix + "*",)))) == expected
    both = {w for text in corpus for c in "ab" for v in text[c] for w in v.split()}
    assert index.variations(("a", "b"), "x", 2) == sorted(w for w in both if w[0] == "x")[:2]


@given(st.lists(st.lists(st.text(max_size=12), max_size=3), max_size=4))
def test_batches_are_split_by_the_same_rule_as_queries(rows):
    expected = []
    for row in rows:
        for i, value in enumerate(row or [""]):
            expected += [b"\x00" if i else b"\x01", *(w.encode() for w in words(value))]
    assert tokens(rows) == expected
    flat = [value for row in rows for value in row]
    assert normal(flat) == [" ".join(words(value)).encode() for value in flat]


def test_every_character_is_split_alone():
    characters = [chr(c) for c in range(sys.maxunicode + 1)]
    rows = [[f"a{c}b" for c in characters[i : i + 1000]] for i in range(0, len(characters), 1000)]
    for row in rows[:16] + rows[60:66] + rows[66::90]:
        assert normal(row) == [" ".join(words(value)).encode() for value in row]


def test_scores_are_bm25_by_hand():
    corpus = [
        {"a": ["x x y", "z"], "b": []},
        {"a": ["x y y y y y"], "b": ["x"]},
        {"a": [], "b": []},
    ]
    index = index_of(corpus)
    statistics = index.statistics()
    assert statistics == Statistics(3, {"a": 10, "b": 1})

    def bm25(tf, df, length, mean, k1=1.2, b=0.75):
        return (
            math.log(1 + (3 - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean))
        )

    atom = Atom(("a", "b"), ("x",))
    assert index.frequencies(atom) == (2, 1)
    ordinals, scores = index.scores(atom, (2, 1), statistics)
    assert ordinals.tolist() == [0, 1, 1]
    expected = [bm25(2, 2, 4, 10 / 3), bm25(1, 2, 6, 10 / 3), bm25(1, 1, 1, 1 / 3)]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    _, plain = index.scores(atom, (2, 1), statistics, k1=2.0, b=0.0)
    np.testing.assert_allclose(plain[0], bm25(2, 2, 4, 1, 2.0, 0.0), rtol=1e-6)
    phrase = Atom(("a",), ("y", "y"))
    ordinals, scores = index.scores(phrase, (1,), statistics)
    assert ordinals.tolist() == [1]
    np.testing.assert_allclose(scores, [bm25(4, 1, 6, 10 / 3)], rtol=1e-6)
    ordinals, scores = index.scores(Atom(("a", "b"), ("x*",)), (2, 1), statistics)
    assert (ordinals.tolist(), scores.tolist()) == ([0, 1, 1], [1, 1, 1])
    assert index.scores(Atom(("a",), ("q",)), (0,), statistics)[0].tolist() == []


def test_frequent_words_are_found_as_rare_ones_are():
    bodies = [f"every {'odd' if i % 2 else 'even'} n{i} every" for i in range(3000)]
    documents = [
        Document(str(i), {"a": (body,)}, days={"day": date(2000, 1, 1).toordinal()})
        for i, body in enumerate(bodies)
    ]
    index = build_documents(documents, None, SCHEMA)
    assert index.first(index.everything(), 2) == ["2999", "2998"]
    assert index.count(Atom(("a",), ("every",))) == 3000
    assert index.count(Atom(("a",), ("every", "odd"))) == 1500
    assert index.count(Atom(("a",), ("odd", "every"), slop=1)) == 1500
    assert index.count(Atom(("a",), ("every", "every"), slop=2)) == 3000
    assert index.count(Atom(("a",), ("every", "every"), slop=1)) == 0
    assert index.count(Atom(("a",), ("n*",))) == 3000
    found = index.find(Atom(("a",), ("even", "n10*")))
    assert index.first(found, 3) == ["1098", "1096", "1094"]
    assert len(found) == 1 + 5 + 50  # 10, 100 to 108, 1000 to 1098


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
