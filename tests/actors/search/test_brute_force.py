"""The engine against an evaluation over plain records that shares no code with it.

500 records; one index, three shards that are merged, and the scanning `BruteLookup` of `brute`.
"""

import pickle
import random
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.corpus import ShardedCorpus
from actors.search.engine import Planner, PubMedEngine, merge
from actors.search.index import build_index
from actors.search.types import MeshHeading, Record, SearchRequest
from tests.actors.search.brute import BruteLookup

RNG = random.Random(5)
WORDS = [f"{stem}{end}" for stem in ("word", "term", "note") for end in ("", "s", "ing", "ed")]
HEADINGS = ["Alpha Beta", "Gamma", "Delta Rays", "Epsilon"]
DAYS = [None, *(date(2000, 1, 1) + timedelta(days=d) for d in (0, 1, 30, 400, 401, 900))]


def make(i):
    return Record(
        str(7 * i % 5003 + 1),
        title=" ".join(RNG.choices(WORDS, k=RNG.randint(0, 4))),
        abstract=" ".join(RNG.choices(WORDS, k=RNG.randint(0, 6))),
        published=RNG.choice(DAYS),
        mesh=tuple(MeshHeading(h) for h in RNG.sample(HEADINGS, RNG.randint(0, 2))),
    )


RECORDS = [make(i) for i in range(500)]


def values(record, tag):
    """Word lists of what a tag searches."""
    texts = {"ti": [record.title], "ab": [record.abstract]}
    texts["tiab"] = texts["ti"] + texts["ab"]
    texts[""] = texts["tiab"] + [h.descriptor for h in record.mesh]
    return [text.lower().split() for text in texts[tag]]


def has_phrase(record, words, tag):
    n = len(words)
    return any(
        value[i : i + n] == words for value in values(record, tag) for i in range(len(value))
    )


def has_near(record, first, second, slop, tag):
    return any(
        i != j and abs(i - j) - 1 <= slop
        for value in values(record, tag)
        for i, a in enumerate(value)
        for j, b in enumerate(value)
        if a == first and b == second
    )


tags = st.sampled_from(["", "ti", "ab", "tiab"])
words = st.sampled_from([*WORDS, "missing", "gamma", "beta"])
days = st.sampled_from([d for d in DAYS if d])
leaves = st.one_of(
    st.tuples(st.just("word"), words, tags),
    st.tuples(st.just("word"), words, tags),
    st.tuples(st.just("prefix"), st.sampled_from(["word", "terms", "note"]), tags),
    st.tuples(st.just("phrase"), st.tuples(words, words), tags),
    st.tuples(st.just("near"), st.tuples(words, words), st.integers(0, 4), st.just("tiab")),
    st.tuples(st.just("heading"), st.sampled_from(HEADINGS)),
    st.tuples(st.just("days"), days, days),
    st.tuples(st.just("ids"), st.lists(st.integers(1, 900), min_size=1, max_size=5)),
)
trees = st.recursive(
    leaves,
    lambda inner: st.tuples(
        st.just("group"),
        inner,
        st.lists(st.tuples(st.sampled_from(["AND", "OR", "NOT"]), inner), max_size=4),
    ),
    max_leaves=14,
)


def tagged(text, tag):
    return f"{text}[{tag}]" if tag else text


def write(tree):
    match tree:
        case ("word", word, tag):
            return tagged(word, tag)
        case ("prefix", prefix, tag):
            return tagged(f"{prefix}*", tag)
        case ("phrase", (a, b), tag):
            return tagged(f'"{a} {b}"', tag)
        case ("near", (a, b), slop, tag):
            return f'"{a} {b}"[{tag}:~{slop}]'
        case ("heading", heading):
            return f"{heading}[mh]"
        case ("days", first, last):
            return f"{first:%Y/%m/%d}:{last:%Y/%m/%d}[dp]"
        case ("ids", ids):
            return f"{' '.join(map(str, ids))}[uid]"
        case ("group", first, rest):
            return "(" + write(first) + "".join(f" {op} {write(t)}" for op, t in rest) + ")"


def select(tree):
    """Ids of the records that a tree selects: strictly left to right."""
    match tree:
        case ("word", word, tag):
            return {r.id for r in RECORDS if any(word in v for v in values(r, tag))}
        case ("prefix", prefix, tag):
            return {
                r.id for r in RECORDS for v in values(r, tag) for w in v if w.startswith(prefix)
            }
        case ("phrase", (a, b), tag):
            found = {r.id for r in RECORDS if has_phrase(r, [a, b], tag)}
            return found or select(("word", a, tag)) & select(("word", b, tag))
        case ("near", (a, b), slop, tag):
            return {r.id for r in RECORDS if has_near(r, a, b, slop, tag)}
        case ("heading", heading):
            return {r.id for r in RECORDS if heading in [h.descriptor for h in r.mesh]}
        case ("days", first, last):
            return {r.id for r in RECORDS if r.published and first <= r.published <= last}
        case ("ids", ids):
            return {r.id for r in RECORDS} & {str(i) for i in ids}
        case ("group", first, rest):
            found = select(first)
            for op, right in rest:
                other = select(right)
                found = {"AND": found & other, "OR": found | other, "NOT": found - other}[op]
            return found


@pytest.fixture(scope="module")
def engine():
    return PubMedEngine(build_index(RECORDS))


@pytest.fixture(scope="module")
def brute():
    return PubMedEngine(BruteLookup(RECORDS))


@pytest.fixture(scope="module")
def shards():
    return [PubMedEngine(build_index(RECORDS[i::3])) for i in range(3)]


def request(tree, k, date_to=None, order="recent"):
    return SearchRequest(write(tree), k, date_to, order=order, mapping=False)


@settings(max_examples=250, deadline=None)
@given(trees, st.integers(0, 40), st.sampled_from([None, *DAYS[1:]]))
def test_engine_equals_brute_force(engine, tree, k, date_to):
    by_id = {record.id: record for record in RECORDS}
    expected = [
        i
        for i in select(tree)
        if date_to is None or (by_id[i].published and by_id[i].published <= date_to)
    ]
    expected.sort(key=lambda i: (by_id[i].published or date.min, int(i)), reverse=True)
    outcome = engine.search(request(tree, k, date_to))
    assert (outcome.total, list(outcome.ids)) == (len(expected), expected[:k])
    ranked = engine.search(request(tree, 500, date_to, "relevance"))
    assert sorted(ranked.ids) == sorted(expected)
    assert list(ranked.scores) == sorted(ranked.scores, reverse=True)


@settings(max_examples=80, deadline=None)
@given(trees, st.integers(0, 30), st.sampled_from(["recent", "relevance"]))
def test_shards_that_run_one_plan_equal_one_index(engine, shards, tree, k, order):
    planner = Planner(ShardedCorpus([shard.index for shard in shards]))
    plan = pickle.loads(pickle.dumps(planner.plan(request(tree, k, order=order))))
    whole = engine.search(request(tree, k, order=order))
    merged = merge(plan, [shard.run(plan) for shard in shards])
    assert merged.scores == pytest.approx(whole.scores, rel=1e-5)
    assert (merged.ids, merged.total) == (whole.ids, whole.total) or order == "relevance"
    assert merged.total == whole.total
    assert (merged.translation, merged.warnings) == (whole.translation, whole.warnings)


@settings(max_examples=30, deadline=None)
@given(trees)
def test_scanning_lookup_agrees_in_score_and_order(engine, brute, tree):
    ours = engine.search(request(tree, 20, order="relevance"))
    theirs = brute.search(request(tree, 20, order="relevance"))
    assert ours.total == theirs.total
    if "*" not in write(tree):  # a truncated word has no frequency of its own
        assert ours.scores == pytest.approx(theirs.scores, rel=1e-4, abs=1e-6)
