from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.live.engines import LivePubMedEngine, LiveTrialsEngine
from actors.search.live.errors import QueryRefusedError, ServiceError
from actors.search.live.eutils import EutilsClient
from actors.search.live.history import expand_history
from actors.search.live.pacing import Pacer
from actors.search.live.retry import RetryPolicy
from actors.search.live.trials_v2 import TrialsClient
from actors.search.live.worker import LiveSearchWorker
from actors.search.types import InfraFailure, QueryError, SearchRequest, SearchResult
from tests.actors.search.live.corpus_server import pubmed, trials
from tests.actors.search.live.real_server import RealServer, Reply, json_reply

QUICK = RetryPolicy(attempts=4, base_s=0.01, deadline_s=20)


@pytest.fixture
def pubmed_server():
    with RealServer(pubmed).running() as server:
        yield server


@pytest.fixture
def trials_server():
    with RealServer(trials).running() as server:
        yield server


def engine(server, kind=LivePubMedEngine, **options):
    return kind(server.url, policy=QUICK, pacer=Pacer(1000), **options)


def test_a_search_as_the_local_engine_answers(pubmed_server):
    request = SearchRequest("n7", 3, date_to=date(2010, 2, 3), order="relevance")
    outcome = engine(pubmed_server).search(request)
    assert outcome == SearchResult(("700000", "700001", "700002"), 7, (), "<n7>", ())
    (call,) = pubmed_server.calls
    assert call.method == "POST"
    assert call.query == ""
    assert call.parameters == {
        "db": "pubmed",
        "term": "n7",
        "retmode": "json",
        "retmax": "3",
        "retstart": "0",
        "sort": "relevance",
        "datetype": "pdat",
        "mindate": "1800/01/01",
        "maxdate": "2010/02/03",
        "tool": "seekray",
    }


NASTY = (
    'n1 "a, b"[ti]+c%20d #1 &maxdate=2030&api_key=x;y=z\r\n\t“α” é 漢 \\ \x00 ?&&= %zz <a>'
    + ' OR "quoted, phrase"[tiab]' * 2000
)


def test_a_query_arrives_as_it_is(pubmed_server, trials_server):
    request = SearchRequest(NASTY, 1, date_to=date(2010, 2, 3))
    assert isinstance(engine(pubmed_server).search(request), SearchResult)
    assert pubmed_server.calls[0].parameters["term"] == NASTY
    assert pubmed_server.calls[0].parameters["maxdate"] == "2010/02/03"
    short = NASTY[:200]
    engine(trials_server, LiveTrialsEngine).search(SearchRequest(short, 1, syntax="essie"))
    assert trials_server.calls[0].parameters["query.term"] == short


@pytest.fixture(scope="module")
def long_lived_server():
    with RealServer(lambda call: Reply()).running() as server:
        yield server


@given(text=st.text(min_size=1, max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_query_arrives_or_is_refused_here(long_lived_server, text):
    seen = []

    def answer(call):
        seen.append(call.parameters["term"])
        return json_reply({"esearchresult": {"count": "0", "idlist": []}})

    long_lived_server.answer = answer
    outcome = engine(long_lived_server).search(SearchRequest(text, 1))
    if text.strip():
        assert outcome == SearchResult((), 0)
        assert seen == [text]
    else:
        assert isinstance(outcome, QueryError)
        assert seen == []


def test_half_a_surrogate_pair_is_the_querys_fault(pubmed_server, trials_server):
    outcome = engine(pubmed_server).search(SearchRequest("ab\ud800c", 1))
    assert outcome == QueryError(outcome.message, "ab\ud800c", 2)
    assert "U+D800" in outcome.message
    request = SearchRequest("ab\ud800c", 1, syntax="essie")
    assert engine(trials_server, LiveTrialsEngine).search(request).position == 2
    assert pubmed_server.calls == trials_server.calls == []


def test_limits_are_named_and_nothing_is_cut_in_silence(pubmed_server):
    live = engine(pubmed_server)
    with pytest.raises(ValueError, match=r"k is 20000: PubMed serves only the first 10,000"):
        live.search(SearchRequest("n30000", 20_000))
    for arguments in (
        {"retmax": 20_000},
        {"retstart": 9_999},
        {"retstart": 9_000, "retmax": 2_000},
    ):
        with pytest.raises(ValueError, match="10,000"):
            live.client.esearch("n30000", **arguments)
    assert pubmed_server.calls == []
    outcome = live.search(SearchRequest("n30000", 10_000))
    assert len(outcome.ids) == 9_999
    assert outcome.total == 30_000
    assert outcome.warnings == ("OutputMessage: PubMed served only the first 9999 records",)
    assert live.search(SearchRequest("n9999", 10_000)).warnings == ()


def test_pages(pubmed_server):
    client = engine(pubmed_server).client
    assert client.esearch_first("n25", 23, page=10).ids == tuple(
        str(2_500_000 + n) for n in range(23)
    )
    asked = [(c.parameters["retstart"], c.parameters["retmax"]) for c in pubmed_server.calls]
    assert asked == [("0", "10"), ("10", "10"), ("20", "3")]
    genes = EutilsClient(pubmed_server.url, db="gene", pacer=Pacer(1000))
    assert len(genes.esearch_first("n9000", 15_000, page=4_000).ids) == 9_000


def test_a_refused_query_is_asked_thrice_and_shown_on_one_line(pubmed_server):
    outcome = engine(pubmed_server).search(SearchRequest("odd", 5))
    assert outcome == QueryError("Odd query, said no", "odd")
    assert len(pubmed_server.calls) == 3


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_query(pubmed_server, trials_server, query):
    blank = QueryError("Empty term and query_key - nothing todo", query, 0)
    assert engine(pubmed_server).search(SearchRequest(query, 5)) == blank
    request = SearchRequest(query, 5, syntax="essie")
    assert isinstance(engine(trials_server, LiveTrialsEngine).search(request), QueryError)
    assert pubmed_server.calls == trials_server.calls == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": -1}, "below 0"),
        ({"order": "odd"}, "order 'odd'"),
        ({"fields": ["title"]}, "searches all of its own"),
        ({"syntax": "ovid"}, "syntax 'ovid'"),
        ({"query": 'n1 "last 5 years"[dp]', "today": date(2001, 1, 1)}, "its own day"),
    ],
)
def test_requests_that_no_service_can_serve(pubmed_server, wrong, message):
    request = SearchRequest(**{"query": "n1", "k": 5, **wrong})
    with pytest.raises(ValueError, match=message):
        engine(pubmed_server).search_many([SearchRequest("n1", 5), request])
    assert pubmed_server.calls == []


def test_today_is_no_matter_without_a_relative_date(pubmed_server):
    yesterday = date.today() - timedelta(days=1)
    assert engine(pubmed_server).search(SearchRequest("n1", 5, today=yesterday)).total == 1


def test_many_in_order_and_equal_ones_once(pubmed_server):
    requests = [SearchRequest(f"n{n % 7 + 1}", 2) for n in range(30)]
    outcomes = engine(pubmed_server).search_many(requests)
    assert [one.total for one in outcomes] == [n % 7 + 1 for n in range(30)]
    assert len(pubmed_server.calls) == 7


def test_history_needs_no_session():
    history = ["rat", "#1 AND mouse"]
    assert expand_history("#2 NOT #1", history) == "((rat) AND mouse) NOT (rat)"
    assert expand_history('"#1" a#1 ##1 #1b “#2” #2', history) == (
        '"#1" a#1 ##1 #1b “#2” ((rat) AND mouse)'
    )
    assert expand_history("#9", []) == "#9"
    with pytest.raises(QueryRefusedError, match="#3 is not in the history of 2"):
        expand_history("x #3", history)
    with pytest.raises(QueryRefusedError, match="longer than"):
        expand_history("#40", ["rat", *(f"#{n} OR #{n}" for n in range(1, 40))])


def test_a_place_is_one_in_the_query_or_none(pubmed_server):
    live = engine(pubmed_server)
    wrong = live.search(SearchRequest("rat #3", 5, history=("rat", "mouse")))
    assert wrong == QueryError("#3 is not in the history of 2", "rat #3", 4)
    nested = live.search(SearchRequest("rat", 5, history=("rat", "a long mouse OR #7")))
    said = "query 2 of the history: #7 is not in the history of 1"
    assert nested == QueryError(said, "rat", None)
    assert not pubmed_server.calls


def test_fetch(pubmed_server):
    live = engine(pubmed_server)
    ids = [str(n) for n in range(1, 451)]
    assert live.fetch([*ids, "7"]) == [(f"T{one}", "") for one in [*ids, "7"]]
    assert [len(c.parameters["id"].split(",")) for c in pubmed_server.calls] == [200, 200, 50]
    with pytest.raises(KeyError, match="999"):
        live.fetch(["1", "999"])
    assert live.fetch([]) == []


def test_post_and_summaries(pubmed_server):
    client = engine(pubmed_server).client
    posted = client.epost([str(n) for n in range(10_001)])
    assert [(one.webenv, one.query_key) for one in posted] == [("W", "1"), ("W", "2")]
    assert pubmed_server.calls[1].parameters == {
        "db": "pubmed",
        "id": "10000",
        "WebEnv": "W",
        "tool": "seekray",
    }
    assert list(client.esummary(["5", "6"]).documents) == ["5", "6"]
    for call in (client.epost, client.esummary):
        with pytest.raises(ValueError, match="no ids"):
            call([])
    with pytest.raises(ValueError, match="needs ids"):
        client.efetch()


def test_trials_over_pages(trials_server):
    live = engine(trials_server, LiveTrialsEngine, filters={"overallStatus": "RECRUITING"})
    request = SearchRequest("n2500", 2_200, date_to=date(2010, 2, 3), syntax="essie")
    outcome = live.search(request)
    assert outcome == SearchResult(tuple(f"NCT{n:08}" for n in range(2_200)), 2_500)
    asked = [call.parameters for call in trials_server.calls]
    assert [one.get("pageToken") for one in asked] == [None, "1000", "2000"]
    assert asked[0] == {
        "query.term": "n2500",
        "filter.overallStatus": "RECRUITING",
        "filter.advanced": "AREA[StudyFirstPostDate]RANGE[MIN,2010-02-03]",
        "fields": "NCTId",
        "sort": "StudyFirstPostDate:desc",
        "countTotal": "true",
        "pageSize": "1000",
    }
    assert live.search(SearchRequest("n5", 0, syntax="essie")) == SearchResult((), 5)
    refused = live.search(SearchRequest("AREA[", 5, syntax="essie"))
    assert refused == QueryError("Error parsing query in `query.term`: missing ']'", "AREA[")


def test_a_trial_query_may_be_an_object_of_parameters(trials_server):
    live = engine(trials_server, LiveTrialsEngine, filters={"overallStatus": "COMPLETED"})
    query = (
        '{"cond": "x + y", "query.term": "n5", "filter.advanced": "a OR b", '
        '"sort": "EnrollmentCount"}'
    )
    day = date(2010, 2, 3)
    assert live.search(SearchRequest(query, 2, day, syntax="essie")).total == 5
    asked = trials_server.calls[0].parameters
    assert asked["query.cond"] == "x + y"
    assert asked["query.term"] == "n5"
    assert asked["filter.overallStatus"] == "COMPLETED"
    assert asked["filter.advanced"] == (
        "(a OR b) AND AREA[StudyFirstPostDate]RANGE[MIN,2010-02-03]"
    )
    assert asked["sort"] == "EnrollmentCount"
    for wrong, message in (
        ('{"cond": ', "begins as JSON"),
        ('{"phase": "1"}', "`phase` is unknown parameter"),
        ('{"cond": [1]}', "is not text"),
        ('{"cond": " "}', "blank"),
    ):
        outcome = live.search(SearchRequest(wrong, 2, syntax="essie"))
        assert isinstance(outcome, QueryError)
        assert message in outcome.message
    assert len(trials_server.calls) == 1


def test_pages_that_stop_short_are_a_failure_and_not_a_short_answer():
    body = {"studies": [], "totalCount": 5}
    with RealServer(lambda call: json_reply(body)).running() as server:
        outcome = engine(server, LiveTrialsEngine).search(SearchRequest("x", 5, syntax="essie"))
        assert isinstance(outcome, InfraFailure)
        assert "only 0 of 5" in outcome.message
        body |= {"nextPageToken": "same"}
        outcome = engine(server, LiveTrialsEngine).search(SearchRequest("x", 5, syntax="essie"))
        assert isinstance(outcome, InfraFailure)


def test_trials_by_id(trials_server):
    live = engine(trials_server, LiveTrialsEngine)
    assert live.fetch(["NCT2", "NCT1"]) == [("Trial NCT2", "A b"), ("Trial NCT1", "A b")]
    with pytest.raises(KeyError, match="NCT404"):
        live.fetch(["NCT1", "NCT404"])
    client = TrialsClient(trials_server.url, pacer=Pacer(1000))
    assert client.study("NCT1")["protocolSection"]["identificationModule"]["nctId"] == "NCT1"
    with pytest.raises(KeyError):
        client.study("NCT404")
    assert client.version() == {"apiVersion": "2.0.5"}
    with pytest.raises(ValueError, match=r"filter\.phase is not one of"):
        client.studies(filters={"phase": "1"})


def test_an_outage_is_never_zero_hits():
    with RealServer(lambda call: Reply(b"", 503)).running() as server:
        for kind, syntax in ((LivePubMedEngine, "pubmed"), (LiveTrialsEngine, "essie")):
            live = engine(server, kind)
            outcome = live.search(SearchRequest("n3", 5, syntax=syntax))
            assert isinstance(outcome, InfraFailure)
            assert "HTTP 503 (4x)" in outcome.message
            with pytest.raises(ServiceError):
                live.document_frequency("rat")
            with pytest.raises(ServiceError):
                live.fetch(["1"])


def test_a_worker_answers_what_it_can(pubmed_server, tmp_path):
    worker = LiveSearchWorker(
        "pubmed", pubmed_server.url, str(tmp_path / "cache.sqlite"), policy=QUICK
    )
    requests = [SearchRequest(query, 2) for query in ("n3", "", "n1")]
    outcomes = worker.search([*requests, SearchRequest("n3", 99_999)])
    assert [type(one) for one in outcomes] == [SearchResult, QueryError, SearchResult, InfraFailure]
    assert worker.ping() == "ok"
    assert worker.search(requests)[0].total == 3  # from the cache
    assert len(pubmed_server.calls) == 2
    with pytest.raises(ValueError, match="live service 'scopus'"):
        LiveSearchWorker("scopus")
