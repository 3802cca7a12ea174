"""The clients against the emulator over real sockets, with three requests in ten spoiled.

No query may be lost or come back as zero hits, each answer must equal the one without faults, and
no second may see more starts than allowed, counted where the requests arrive.
"""

import random
from datetime import date

import pytest

from actors.search.emulator.eutils import EUtils
from actors.search.emulator.faults import Fault, Faults
from actors.search.emulator.library import EngineLibrary
from actors.search.emulator.opening import trials_service
from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.live.cache import AnswerCache
from actors.search.live.engines import LivePubMedEngine, LiveTrialsEngine
from actors.search.live.pacing import Pacer
from actors.search.live.retry import RetryPolicy
from actors.search.trials.build import build_trials_index
from actors.search.types import QueryError, Record, SearchRequest, SearchResult

WORDS = "aspirin stroke trial migraine heart renal insulin placebo cohort risk".split()
DRAW = random.Random(7)
RECORDS = [
    Record(
        id=str(1000 + n),
        title=" ".join(DRAW.choices(WORDS, k=3)).capitalize() + ".",
        abstract=" ".join(DRAW.choices(WORDS, k=12)),
        published=date(1990 + n % 30, 1 + n % 12, 1 + n % 28),
        published_precision="day",
    )
    for n in range(400)
]
KINDS = ("rate_limit", "server_error", "cut", "malformed", "empty", "slow")
PATIENT = RetryPolicy(base_s=0.02, cap_s=1.0, deadline_s=120)


def three_in_ten(seconds):
    """Six kinds of faults; each rule sees what the rules before it left, so 5% is struck anew."""
    rules = [
        Fault(kind, probability=0.05 / (1 - 0.05 * place), seconds=seconds)
        for place, kind in enumerate(KINDS)
    ]
    return Faults(rules, seed=3)


def requests(number):
    draw = random.Random(number)
    made = []
    for n in range(number):
        one, two, three = draw.sample(WORDS, 3)
        query = draw.choice(
            [
                f"({one} OR {two}) AND {three}",
                f'"{one} {two}"[tiab]',
                f"{one}[ti] NOT {two}",
                f"{one} AND nosuchword{n}",
                f"{one} {two}[tiab] # {n}",
                f"{one}[NoSuchField] AND {two}",
            ]
        )
        order = draw.choice(["recent", "relevance"])
        made.append(
            SearchRequest(query, draw.randint(0, 300), date(draw.randint(1985, 2021), 6, 15), order)
        )
    return made


@pytest.fixture(scope="module")
def eutils():
    index = build_index(RECORDS)
    return EUtils(EngineLibrary(PubMedEngine(index), index.record, index.size))


def outcomes(config, asked, limit, kind=LivePubMedEngine, **options):
    with Emulator(config) as emulator:
        url = emulator.trials_url if kind is LiveTrialsEngine else emulator.eutils_url
        engine = kind(url, pacer=Pacer(limit), policy=PATIENT, timeout_s=0.6, **options)
        found = engine.search_many(asked)
        return found, emulator.app.requests.report(config.faults)


def check(eutils, number, limit, **faulty):
    asked = requests(number)
    expected, _ = outcomes(ServerConfig(eutils), asked, 5000)
    faults = three_in_ten(0.9)
    found, report = outcomes(ServerConfig(eutils, faults=faults, **faulty), asked, limit)
    assert len(found) == number
    assert found == expected
    assert all(isinstance(one, SearchResult) for one in found)
    assert sum(one.total > 0 for one in found) > number / 2
    assert set(report["faults"]) == set(KINDS)
    assert 0.2 < sum(report["faults"].values()) / report["total"] < 0.4
    assert report["busiest_second"] <= limit
    return report


def test_eighty_queries_with_faults(eutils):
    check(eutils, 80, limit=60)


@pytest.mark.long
def test_a_thousand_queries_at_the_pace_of_the_service(eutils, monkeypatch):
    """The service's own limit is on. It counts a request that is slow on purpose when the delay is
    over, so that it may refuse a few that came in time."""
    monkeypatch.setenv("NCBI_API_KEY", "a-key")
    report = check(eutils, 1000, limit=10, rate_limit=True, api_keys=frozenset({"a-key"}))
    refused = report["statuses"]["429"] - report["faults"]["rate_limit"]
    assert refused <= report["faults"]["slow"] / 4


def test_a_key_that_the_service_does_not_know(eutils, monkeypatch):
    monkeypatch.setenv("NCBI_API_KEY", "wrong-key")
    config = ServerConfig(eutils, api_keys=frozenset({"other"}))
    (outcome,), report = outcomes(config, [SearchRequest("aspirin", 5)], 100)
    assert "replace or unset NCBI_API_KEY" in outcome.message
    assert "wrong-key" not in outcome.message
    assert report["total"] == 1


def test_the_live_engine_answers_as_the_local_one(eutils, tmp_path):
    local = eutils.library.engine
    with Emulator(ServerConfig(eutils)) as emulator:
        live = LivePubMedEngine(
            emulator.eutils_url, pacer=Pacer(1000), cache=AnswerCache(tmp_path / "c")
        )
        for request in requests(40):
            mine, theirs = live.search(request), local.search(request)
            assert (mine.ids, mine.total) == (theirs.ids, theirs.total)
        history = ("aspirin", "#1 AND stroke")
        with_history = live.search(SearchRequest("#2 NOT heart", 50, history=history))
        plain = local.search(SearchRequest("((aspirin) AND stroke) NOT heart", 50))
        assert with_history.ids == plain.ids
        total = emulator.app.requests.report(None)["total"]
        assert live.search_many(requests(40)) == [live.search(one) for one in requests(40)]
        assert emulator.app.requests.report(None)["total"] == total  # all from the cache
        assert isinstance(live.search(SearchRequest("[pdat]", 5)), QueryError)
        assert live.document_frequency("aspirin") == local.document_frequency("aspirin")
        ids = [record.id for record in RECORDS[:250]]
        assert live.fetch(ids) == [(r.title, r.abstract) for r in RECORDS[:250]]
        with pytest.raises(KeyError, match="77"):
            live.fetch(["77"])
        posted = live.client.epost(ids)
        body = live.client.efetch(webenv=posted[0].webenv, query_key="1", retmax=7)
        assert body.count(b"<PubmedArticle>") == 7
        assert set(live.client.esummary(ids[:3]).documents) == set(ids[:3])
        assert "pubmed" in live.client.einfo().databases
        assert live.client.einfo("pubmed").count == 400


def test_trials_with_faults(tmp_path):
    def study(n):
        return {
            "protocolSection": {
                "identificationModule": {
                    "nctId": f"NCT{n:08}",
                    "briefTitle": f"{WORDS[n % 10]} in {WORDS[n % 7]}",
                },
                "statusModule": {
                    "overallStatus": "RECRUITING",
                    "studyFirstPostDateStruct": {"date": f"20{10 + n % 10}-03-01"},
                },
                "descriptionModule": {"briefSummary": f"About {WORDS[n % 3]}"},
            }
        }

    build_trials_index([study(n) for n in range(1, 121)], tmp_path / "index")
    service = trials_service(tmp_path / "index")
    asked = [
        SearchRequest(f"{one} AND {two}", 100, day, order, syntax="essie")
        for one in WORDS[:4]
        for two in WORDS[5:]
        for day, order in ((None, "relevance"), (date(2015, 12, 31), "recent"))
    ]
    expected, _ = outcomes(ServerConfig(None, service), asked, 5000, LiveTrialsEngine)
    config = ServerConfig(None, service, faults=three_in_ten(0.9))
    found, report = outcomes(config, asked, 60, LiveTrialsEngine)
    assert found == expected
    assert all(isinstance(one, SearchResult) for one in found)
    assert sum(one.total > 0 for one in found) > 10
    assert report["busiest_second"] <= 60
    for request, outcome in zip(asked, found, strict=True):
        if request.date_to:
            assert all(int(one[3:]) % 10 <= 5 for one in outcome.ids)
    with Emulator(ServerConfig(None, service)) as emulator:
        live = LiveTrialsEngine(emulator.trials_url, pacer=Pacer(1000))
        assert live.fetch(["NCT00000003"]) == [("migraine in migraine", "About aspirin")]
        assert isinstance(live.search(SearchRequest("AREA[", 5, syntax="essie")), QueryError)
        assert live.client.version()["apiVersion"]
        assert live.document_frequency("migraine") > 0
