import json
import random
import time
from datetime import date

import pytest

from actors.search.trials.build import build_trials_index, open_trials_index
from actors.search.trials.engine import TrialsEngine
from actors.search.types import QueryError, SearchRequest, SearchResult


@pytest.fixture(scope="module")
def engine(index):
    return TrialsEngine(index)


def ask(engine, query, k=10, **options):
    options.setdefault("order", "relevance")
    return engine.search(SearchRequest(query, k, syntax="essie", **options))


def test_orders(engine):
    newest = ask(engine, "heart OR pain", order="recent")
    # 2 and 3 were posted the same day: the higher number first
    assert newest.ids == ("NCT00000005", "NCT00000003", "NCT00000002", "NCT00000001")
    assert ask(engine, "heart OR pain", order="updated").ids[:2] == ("NCT00000005", "NCT00000001")
    best = ask(engine, "heart disease")
    assert best.ids == ("NCT00000002", "NCT00000003")
    assert best.scores[0] > best.scores[1] > 0


def test_k_cuts_and_total_counts(engine):
    whole = ask(engine, "heart OR pain")
    for k in range(5):
        cut = ask(engine, "heart OR pain", k)
        assert (cut.ids, cut.total) == (whole.ids[:k], 4)


def test_date_bound_and_undated(engine):
    assert ask(engine, "ALL", date_to=date(2018, 6, 15)).total == 3
    assert ask(engine, "ALL", date_to=date(2018, 6, 14)).total == 1
    assert ask(engine, "ALL", date_to=date.max).total == 5  # one study has no date


def test_json_queries(engine):
    query = {"query.cond": "heart", "filter.overallStatus": "RECRUITING"}
    assert ask(engine, json.dumps(query)).ids == ("NCT00000002",)
    assert ask(engine, '{"intr": "aspirin", "sort": "EnrollmentCount"}').ids == ("NCT00000001",)
    for bad, message in [
        ("{cond: x}", "begins as JSON"),
        ('{"query.foo": "x"}', "`query.foo` is unknown parameter"),
        ('{"cond": ["x"]}', "the value of 'cond'"),
        ('{"cond": " "}', "blank"),
        ('{"cond": "(x"}', "Error parsing query in Conditions or disease: missing ')'"),
    ]:
        outcome = ask(engine, bad)
        assert isinstance(outcome, QueryError)
        assert message in outcome.message


def test_faults_of_the_query(engine):
    assert ask(engine, "  ") == QueryError("the query is blank", "  ", 0)
    outcome = ask(engine, "heart AND AREA[Foo]x")
    assert outcome == QueryError("Unknown area name: `Foo`", "heart AND AREA[Foo]x", 19)
    assert isinstance(ask(engine, "x" * 200_001), QueryError)
    assert isinstance(ask(engine, "heart", history=("a",)), QueryError)


def test_faults_of_the_request(engine):
    for request in (
        SearchRequest("a", 1, syntax="pubmed"),
        SearchRequest("a", -1, syntax="essie"),
        SearchRequest("a", 1, syntax="essie", order="upside down"),
    ):
        with pytest.raises(ValueError, match=r"syntax|below 0|order"):
            engine.search(request)


def test_fetch_and_frequencies(engine):
    assert engine.fetch(["NCT00000003", "nct1"]) == [
        ("Registry of Heart and Lung Disease", "Patients with tumours of the heart are followed."),
        ("Aspirin After Heart Attack", ""),
    ]
    with pytest.raises(KeyError, match="NCT00000077"):
        engine.fetch(["NCT00000077"])
    assert engine.document_frequency("hearts") == 3
    assert engine.document_frequency("lung disease") == 2
    assert engine.document_frequency("-") == 0


def test_indexes_are_whole_and_of_their_corpus(tmp_path, index):
    with pytest.raises(ValueError, match="no records"):
        build_trials_index([], tmp_path / "none")
    with pytest.raises(ValueError, match="registry number"):
        build_trials_index([{"protocolSection": {}}], tmp_path / "none")
    assert not (tmp_path / "none").exists()
    other = build_trials_index(
        [{"nct_id": "NCT1", "title": "old"}, {"nct_id": "NCT1", "title": "new"}], tmp_path / "one"
    )
    assert other.fetch(["NCT1"]) == [("new", "")]  # the later row counts
    with pytest.raises(ValueError, match="hash"):
        open_trials_index(tmp_path / "one", index.content_hash)
    with pytest.raises(FileNotFoundError):
        open_trials_index(tmp_path / "none")


def test_a_missing_index_of_sites_is_noticed(tmp_path):
    study = {"nct_id": "NCT1", "locations_country": ["Italy"]}
    build_trials_index([study], tmp_path / "ix")
    sites = next((tmp_path / "ix").glob("locations-*"))
    sites.rename(tmp_path / "away")
    with pytest.raises(ValueError, match="lacks locations-"):
        open_trials_index(tmp_path / "ix")


PIECES = (
    'heart attack ( ) [ ] " \\ AND OR NOT ALL MISSING AREA[ AREA[Phase] AREA[BriefTitle] PHASE3 '
    "AREA[StartDate]RANGE[ RANGE[MIN,MAX] SEARCH[Location] SEARCH[Study] TILT[EnrollmentCount] "
    "COVERAGE[FullMatch] EXPANSION[None] EXPANSION[Lossy] DISTANCE[1,2,3mi] AREA[LocationGeoPoint] "
    "AREA[Phase:size] 2 , { } \x00 é β “ \ud800"
).split(" ")


def test_no_input_crashes_or_hangs(engine):
    rng = random.Random(3)
    errors = 0
    for _ in range(2000):
        query = "".join(
            rng.choice(PIECES) + rng.choice(["", " "]) for _ in range(rng.randint(1, 12))
        )
        started = time.perf_counter()
        outcome = ask(engine, query, order=rng.choice(["relevance", "recent"]))
        assert time.perf_counter() - started < 1
        assert isinstance(outcome, SearchResult | QueryError)
        errors += isinstance(outcome, QueryError)
    assert 0 < errors < 2000


def test_deep_and_long_queries_run(engine):
    assert ask(engine, "(" * 15_000 + "heart" + ")" * 15_000).total == 3
    assert ask(engine, "(NOT " * 10_000 + "heart" + ")" * 10_000).total == 3
    assert ask(engine, " OR ".join(f"word{i}" for i in range(4_000)) + " OR heart").total == 3
