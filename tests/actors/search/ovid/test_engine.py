"""Ovid searches on a real index: records counted by hand, and against plain Python."""

import random
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.types import MeshHeading, QueryError, Record, SearchRequest

RECORDS = [
    Record("1", "Low birth weight in infants", "Wheezing and asthma.", published=date(2001, 1, 1),
           publication_types=("Randomized Controlled Trial",), languages=("eng",),
           mesh=(MeshHeading("Asthma", major=True, qualifiers=(("drug therapy", True),)),
                 MeshHeading("Humans"))),
    Record("2", "Weight at birth was low", "Tumour of the colon.", published=date(2005, 6, 1),
           languages=("fre",), mesh=(MeshHeading("Asthma"), MeshHeading("Animals"))),
    Record("3", "Behavior of women", "A woman; behaviour; tumors.", published=date(2010, 1, 1),
           authors=("Smith JA",), keywords=("asthma",), languages=("eng",),
           mesh=(MeshHeading("Animals"), MeshHeading("Humans"))),
    Record("4", "Dogs and dogma", "Signs and symptoms of a dog.", authors=("Smith B",),
           publication_types=("Letter",), languages=("eng",), published=date(2012, 1, 1)),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    return PubMedEngine(build_index(RECORDS))


def ids(engine, query):
    outcome = engine.search(SearchRequest(query, 10, syntax="ovid"))
    assert not isinstance(outcome, QueryError), outcome
    return set(outcome.ids)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("birth weight.ti.", "1"),
        ("(birth adj weight).ti.", "1"),
        ("(birth adj1 weight).ti.", "1"),
        ("(birth adj2 weight).ti.", "12"),  # one word between, any order
        ("(low adj3 weight).ti.", "1"),  # in 2, three words are between
        ("(low adj5 (birth or weight)).ti.", "12"),
        ("(low adj2 birth weight).ti.", "1"),
        ("(colon adj3 birth).ti,ab.", ""),  # not across fields
        ("tumo?r$1.ab.", "23"),
        ("wom#n.ti.", "3"),
        ("behavio?r.ti,ab.", "3"),
        ("dog$1.ti.", "4"),
        ("(dog$1 or dogm$).ti.", "4"),
        ("dog$2.ti.", "4"),
        ("asthma.tw.", "1"),
        ("asthma.kf.", "3"),
        ("asthma.mp.", "123"),
        ("Asthma/", "12"),
        ("*Asthma/", "1"),
        ("Asthma/dt", "1"),
        ("dt.fs.", "1"),
        ("asthma.sh. not humans.sh.", "2"),
        ("exp animals/ not humans/", "2"),
        ("(animals not (humans and animals)).sh.", "2"),
        ('"signs and symptoms".ab.', "4"),
        ("smith$.au.", "34"),
        ("smith j$.au.", "3"),
        ("letter.pt.", "4"),
        ("french.la.", "2"),
        ("(2001* or 2005*).dp.", "12"),
        ('1. asthma.mp.\n2. limit 1 to yr="2005 -Current"', "23"),
        ("1. asthma.mp.\n2. limit 1 to english language", "13"),
        ("1. asthma.mp.\n2. limit 1 to (humans and randomized controlled trial)", "1"),
        ("dogs.ti.\nweight.ti.\n1 or 2", "124"),
        ("low.ti. or women.ti. and dogs.ti.", "12"),
        ("low.ti. not weight.ti. and infants.ti.", "2"),  # low NOT (weight AND infants)
        ("2.ui.", "2"),
        ('"women"[ti]\nlow[ti]\n#1 OR #2', "123"),
    ],
)
def test_hits(engine, query, expected):
    assert ids(engine, query) == set(expected)


WORDS = ("ant", "bee", "cat", "dog")
_RANDOM = random.Random(7)
TITLES = [" ".join(_RANDOM.choices(WORDS, k=_RANDOM.randint(0, 6))) for _ in range(200)]
TERM = st.sampled_from(WORDS).map(lambda word: (word, ("word", word)))
GROUP = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True)
NEAR = st.builds(
    lambda a, b, n: (
        f"(({' or '.join(a)}) adj{'' if n is None else n} ({' or '.join(b)}))",
        ("near", a, b, n),
    ),
    GROUP,
    GROUP,
    st.none() | st.integers(1, 4),
)
SEARCH = st.recursive(
    TERM | NEAR,
    lambda inner: st.builds(
        lambda a, b, op: (f"({a[0]} {op} {b[0]})", (op, a[1], b[1])),
        inner,
        inner,
        st.sampled_from(["and", "or", "not"]),
    ),
    max_leaves=6,
)


def holds(meaning, words):
    kind, *rest = meaning
    if kind == "word":
        return rest[0] in words
    if kind == "near":
        first, second, distance = rest
        return any(
            a != b
            and words[a] in first
            and words[b] in second
            and (b - a == 1 if distance is None else abs(b - a) <= distance)
            for a in range(len(words))
            for b in range(len(words))
        )
    left, right = (holds(one, words) for one in rest)
    return {"and": left and right, "or": left or right, "not": left and not right}[kind]


@pytest.fixture(scope="module")
def titles():
    return PubMedEngine(build_index([Record(str(i), t) for i, t in enumerate(TITLES)]))


def found(engine, query):
    return set(engine.search(SearchRequest(query, len(TITLES), syntax="ovid")).ids)


@settings(max_examples=150, deadline=None)
@given(SEARCH)
def test_as_plain_python_reads_it(titles, search):
    text, meaning = search
    expected = {str(i) for i, title in enumerate(TITLES) if holds(meaning, title.split())}
    assert found(titles, f"({text}).ti.") == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(SEARCH, min_size=2, max_size=4))
def test_lines_are_what_they_refer_to(titles, searches):
    lines = [f"{i}. ({text}).ti." for i, (text, _) in enumerate(searches, 1)]
    count = len(searches)
    query = "\n".join([*lines, f"{count + 1}. or/1-{count}", f"{count + 2}. {count + 1} not 1"])
    rows = [[holds(meaning, title.split()) for _, meaning in searches] for title in TITLES]
    assert found(titles, query) == {str(i) for i, row in enumerate(rows) if any(row) and not row[0]}
