"""No input crashes, hangs or grows without bound; the real queries of others all run."""

import json
import random
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.mesh import Descriptor, Mesh
from actors.search.pubmed.fields import SHORT_TAGS
from actors.search.types import MeshHeading, QueryError, Record, SearchRequest, SearchResult

QUERIES = Path(__file__).parents[5] / "shared" / "data" / "boolean" / "pubmed_boolean_queries.jsonl"
KINDS = {
    "PhraseNotFound", "FieldNotFound", "PhraseIgnored", "QuotedPhraseNotFound", "OutputMessage",
}  # fmt: skip
RECORDS = [
    Record(
        str(i),
        f"Rat {i} and low-dose cat",
        "red cat diabetes mellitus",
        authors=("Smith J",),
        mesh=(MeshHeading("Rats", qualifiers=(("blood", False),)),),
    )
    for i in range(1, 20)
]
MESH = Mesh((Descriptor("Rats", 1, ("B01",), ("Rat",)), Descriptor("Mice", 1, ("B01.1",), ())))
PIECES = [
    *(f"[{tag}]" for tag in SHORT_TAGS.values()),
    *'AND OR NOT and ( ) " “ ” [ ] [ti:~2] [mh:noexp] [x] : & | rat cat red 2010 a* %'.split(),
    *"low-dose * #1 #9 ~3 , / β rats/bl smith j last 5 years 2010/02 spring é ﬁ 𝕏 İ".split(),
    *("diabet*", "\0", "\ud800"),
]


@pytest.fixture(scope="module")
def engine():
    return PubMedEngine(build_index(RECORDS), MESH)


def run(engine, query, seconds=1):
    """The outcome, checked: in time, an answer or an error that points into the query."""
    start = time.process_time()
    outcome = engine.search(SearchRequest(query, 5, history=("rat", "(")))
    assert time.process_time() - start < seconds
    if isinstance(outcome, QueryError):
        assert outcome.query == query
        assert outcome.position is None or 0 <= outcome.position <= len(query)
    else:
        assert len(outcome.ids) == min(5, outcome.total)
        assert {w.split(":")[0] for w in outcome.warnings} <= KINDS
    return outcome


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=20).map(" ".join))
def test_mixed_pieces(engine, query):
    run(engine, query)


def fuzz(engine, count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        if rng.random() < 0.5:
            query = rng.randbytes(rng.randint(0, 60)).decode(
                rng.choice(["latin-1", "utf-16-le"]), "replace"
            )
        else:
            query = rng.choice(["", " "]).join(rng.choices(PIECES, k=rng.randint(1, 25)))
        run(engine, query)


def test_random_bytes(engine):
    fuzz(engine, 2_000, 1)


@pytest.mark.long
def test_fifty_thousand_random_inputs(engine):
    fuzz(engine, 50_000, 2)


LONG = [
    " OR ".join(f"word{i}[tiab]" for i in range(6_000)),
    " ".join(f"word{i}" for i in range(12_000)),
    "low-" * 25_000 + "dose",
    '"' + "red cat " * 12_000 + '"',
    "(" * 50_000 + "rat" + ")" * 50_000,
    "(" * 100_000,
    "rat NOT (" * 10_000 + "cat",
    "rat AND " * 12_000,
    "[ti]" * 25_000,
    '"' * 100_000,
    ":" * 100_000,
    "#1 " * 30_000,
    "1 " * 50_000,
    "a*" * 50_000,
    "2010:" * 20_000 + "2011[dp]",
    "β" * 100_000,
    "rat/" * 25_000 + "[mh]",
    '"red cat"[ti:~2] OR ' * 5_000 + "rat",
]


@pytest.mark.parametrize("query", LONG, ids=lambda query: query[:12])
def test_a_hundred_kilobytes_of_anything(engine, query):
    run(engine, query, seconds=2)  # under 1 s where the processor has nothing else to do


def test_memory_is_bounded(engine):
    for query in (LONG[0], "(" * 30_000 + "rat" + ")" * 30_000):
        tracemalloc.start()
        run(engine, query, seconds=30)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200e6


def test_the_real_queries_of_reviews_run(engine):
    if not QUERIES.exists():
        pytest.skip(f"{QUERIES} is not there")
    rows = [json.loads(line) for line in QUERIES.read_text().splitlines()]
    assert len(rows) == 599
    for row in rows:
        outcome = run(engine, row["query"])
        if isinstance(outcome, QueryError):  # Ovid's numbered lines, read as PubMed's history
            assert row["syntax"].startswith("ovid"), row["id"]
            assert "history" in outcome.message or "blank" in outcome.message


def test_a_real_query_with_every_habit_of_its_kind(engine):
    query = (
        "((“Diabetes Mellitus”[Mesh] OR diabet*[tiab] OR “red cat”[tiab]) AND (rat[tx] OR "
        "[Positron Emission Tomography] OR 2-[18F]fluoro)) NOT (Animals[Mesh] not (Animals[Mesh] "
        "and Humans[Mesh])) AND 1940/01/01:2016/01/19[crdt]"
    )
    outcome = run(engine, query)
    assert isinstance(outcome, SearchResult)
    kinds = [w for w in outcome.warnings if w.startswith("FieldNotFound")]
    assert kinds == [
        "FieldNotFound: tx", "FieldNotFound: Positron Emission Tomography", "FieldNotFound: 18F",
    ]  # fmt: skip
