"""E-utilities by their parameters, without a socket."""

import json
from datetime import date

import pytest
from lxml import etree

from actors.search.emulator.citation import people
from actors.search.emulator.eutils import EUtils
from actors.search.emulator.history import Entry, HistoryFullError, HistoryServer
from actors.search.emulator.library import EngineLibrary
from actors.search.emulator.parameters import ParameterError, date_range, in_field, joined
from actors.search.types import QueryError, Record, SearchRequest, SearchResult


def search(eutils, **parameters):
    response = eutils.answer("esearch", {"retmode": "json", "db": "pubmed", **parameters})
    assert response.status == 200
    return json.loads(response.body)["esearchresult"]


def test_modern_json_of_a_search(eutils):
    assert search(eutils, term="stroke") == {
        "count": "2",
        "retmax": "2",
        "retstart": "0",
        "idlist": ["101", "102"],
        "translationset": [
            {"from": "stroke", "to": '"stroke"[MeSH Terms] OR "stroke"[All Fields]'}
        ],
        "querytranslation": '"stroke"[MeSH Terms] OR "stroke"[All Fields]',
    }


def test_both_keys_of_a_list_come_where_one_is_filled(eutils):
    found = search(eutils, term="stroke AND migraine")
    assert "errorlist" not in found
    assert found["warninglist"] == {
        "phrasesignored": [],
        "quotedphrasesnotfound": [],
        "outputmessages": ["No items found."],
    }


class Refusing:
    def search(self, request):
        return QueryError('no closing "quote"\nin <query> & \x00', request.query, 0)


def test_texts_with_line_ends_and_quotes_stay_valid_json_and_xml(eutils):
    refusing = EUtils(EngineLibrary(Refusing(), lambda uid: Record(id=uid), 1))
    assert search(refusing, term="x")["ERROR"] == (
        'Invalid query: no closing "quote"\nin <query> & \x00'
    )
    body = refusing.answer("esearch", {"term": "x"}).body
    assert etree.fromstring(body).findtext("ERROR") == (
        'Invalid query: no closing "quote"\nin <query> &  '
    )
    past = search(eutils, term="stroke", retstart="9999")["ERROR"]
    assert past.startswith(
        "Search Backend failed: Exception:\n'retstart' cannot be larger than 9998."
    )


class Counting:
    """An engine with `total` hits, named by their places."""

    def __init__(self, total):
        self.total = total

    def search(self, request: SearchRequest):
        self.request = request
        ids = tuple(str(n + 1) for n in range(min(request.k, self.total)))
        return SearchResult(ids, self.total)


def of(total, **extra):
    engine = Counting(total)
    library = EngineLibrary(engine, lambda uid: Record(id=uid), total)
    return engine, EUtils(library, today=lambda: date(2024, 6, 30), **extra)


def test_half_a_surrogate_pair_in_a_record_is_no_accident():
    record = Record(id="1", title="\ud800 x\x0b", abstract="\udfff")
    library = EngineLibrary(Counting(1), lambda uid: record, 1)
    broken = EUtils(library)
    summary = json.loads(broken.answer("esummary", {"id": "1", "retmode": "json"}).body)
    assert summary["result"]["1"]["title"] == "\ud800 x\x0b"
    for asked in ({"retmode": "xml"}, {"rettype": "medline"}, {"rettype": "abstract"}):
        assert broken.answer("efetch", {"id": "1", **asked}).status == 200
    fetched = etree.fromstring(broken.answer("efetch", {"id": "1"}).body)
    assert fetched.findtext(".//ArticleTitle") == "  x "


def test_limits_of_the_service_are_told(library):
    _, eutils = of(30_000)
    found = search(eutils, term="x", retmax="20000")
    assert (found["retmax"], len(found["idlist"])) == ("9999", 9999)
    assert found["warninglist"]["outputmessages"] == [
        "Restrictions achieved. start and count adjusted to 0, 9999"
    ]
    last = search(eutils, term="x", retstart="9998", retmax="10")
    assert last["idlist"] == ["9999"]
    assert "adjusted to 9998, 1" in last["warninglist"]["outputmessages"][0]
    assert "ERROR" in search(eutils, term="x", retstart="9999")
    _, few = of(12)
    assert "warninglist" not in search(few, term="x", retmax="10000")
    assert search(few, term="x", retmax="10000")["retmax"] == "12"


def test_default_is_twenty_and_zero_asks_for_the_count_alone():
    engine, eutils = of(50)
    assert len(search(eutils, term="x")["idlist"]) == 20
    assert search(eutils, term="x", retmax="0")["idlist"] == []
    assert engine.request.k == 0
    assert search(eutils, term="x", rettype="count") == {"count": "50"}


@pytest.mark.parametrize("given", ["-1", "x", "1.5", "²"])
def test_numbers_that_are_none_are_refused_by_name(eutils, given):
    assert given in search(eutils, term="stroke", retmax=given)["ERROR"]


def test_orders(eutils):
    term = "stroke OR migraine OR aspirin"
    assert search(eutils, term=term, sort="pub_date")["idlist"] == ["101", "104", "102", "103"]
    assert search(eutils, term=term, sort="Author")["idlist"] == ["102", "101", "104", "103"]
    assert search(eutils, term=term, sort="JournalName")["idlist"] == ["102", "104", "101", "103"]
    found = search(eutils, term=term, sort="date")
    assert found["warninglist"]["outputmessages"] == ["Unknown sort schema 'date' ignored"]
    engine, counting = of(3)
    search(counting, term="x", sort="relevance")
    assert engine.request.order == "relevance"


def test_date_parameters_reach_every_part_of_the_query(eutils):
    """(bumblebee#404): of `stroke OR migraine` only what was published in 2018 and 2019."""
    found = search(
        eutils, term="stroke OR migraine", mindate="2018", maxdate="2019/12", datetype="pdat"
    )
    assert found["idlist"] == ["104", "102"]
    same_day = search(eutils, term="stroke", mindate="2020/03/09", maxdate="2020/03/09")
    assert same_day["idlist"] == ["101"]


def test_dates_as_conditions():
    today = date(2024, 6, 30)
    assert date_range({"reldate": "60", "datetype": "edat"}, today) == (
        "2024/05/01:2024/06/30[edat]",
        [],
    )
    condition, warnings = date_range({"mindate": "2020"}, today)
    assert condition == "2020:3000[pdat]"
    assert "maxdate is taken as 3000" in warnings[0]
    for wrong in ({"mindate": "2020-01"}, {"maxdate": "2020/13"}, {"mindate": "20"}):
        with pytest.raises(ParameterError, match=r"YYYY/MM/DD"):
            date_range(wrong, today)
    with pytest.raises(ParameterError, match="datetype is 'when'"):
        date_range({"mindate": "2020", "maxdate": "2021", "datetype": "when"}, today)
    with pytest.raises(ParameterError, match="reldate"):
        date_range({"reldate": "9999999"}, today)


def test_conditions_join_whatever_the_term_looks_like():
    assert joined("a OR b", "c") == "(a OR b) AND c"
    assert joined("a) OR (b", "c") == "a) OR (b AND c"
    assert joined("(a OR b", "c") == "(a OR b AND c"
    assert joined('a "b', "c") == '(a "b) AND c'
    assert joined('a ")"', "c") == '(a ")") AND c'
    assert joined("", "c") == "c"
    assert joined("a", "") == "a"


def test_field_goes_to_each_operand():
    assert in_field("asthma", "title") == "asthma[title]"
    assert in_field('(asthma OR "lung AND skin") NOT child', "ti") == (
        '(asthma[ti] OR "lung AND skin"[ti]) NOT child[ti]'
    )
    assert in_field("asthma[au]", "ti") == "asthma[au]"


def test_the_history_is_given_to_the_engine_in_order():
    engine, eutils = of(5)
    first = search(eutils, term="one", usehistory="y")
    search(eutils, term="two", usehistory="y", WebEnv=first["webenv"])
    found = search(eutils, term="#1 NOT #2", WebEnv=first["webenv"], usehistory="y")
    assert found["querykey"] == "3"
    assert engine.request.history == ("one", "two")
    assert search(eutils, term="x", query_key="2", WebEnv=first["webenv"])
    assert engine.request.query == "#2 AND (x)"
    assert (
        "Unable to obtain query #9"
        in search(eutils, term="x", query_key="9", WebEnv=first["webenv"])["ERROR"]
    )
    assert "unknown or has expired" in search(eutils, term="x", WebEnv="MCID_0")["ERROR"]


def test_a_kept_search_serves_no_more_than_pubmed_does():
    _, eutils = of(30_000)
    kept = search(eutils, term="x", usehistory="y")
    asked = {"webenv": kept["webenv"], "query_key": "1", "rettype": "uilist", "retmode": "text"}
    last = eutils.answer("efetch", asked | {"retstart": "9990"})
    assert last.body.split() == [str(n).encode() for n in range(9991, 10_000)]
    past = eutils.answer("efetch", asked | {"retstart": "9999"})
    assert past.status == 400
    assert b"cannot be larger than 9998" in past.body


def test_history_forgets_by_age_and_by_size():
    now = [0.0]
    server = HistoryServer(capacity=1000, lifetime=60, clock=lambda: now[0])
    old, _ = server.add(Entry("a"))
    young, key = server.add(Entry("b"))
    assert (key, server.add(Entry("c"), young)[1]) == (1, 2)
    now[0] = 50.0
    assert server.entries(young)[1].query == "c"
    now[0] = 70.0
    with pytest.raises(KeyError):
        server.entries(old)
    assert len(server) == 1
    for n in range(10):
        last, _ = server.add(Entry(str(n)))
    assert len(server) == 4  # of 201 bytes each
    assert server.entries(last)[0].query == "9"
    with pytest.raises(HistoryFullError):
        server.add(Entry("x" * 900))


def test_fetch_errors_name_the_remedy(eutils):
    nothing = eutils.answer("efetch", {"db": "pubmed"})
    assert (nothing.status, b"ID list is empty!" in nothing.body) == (400, True)
    wrong = eutils.answer("efetch", {"id": "abc"})
    assert (wrong.status, b"ID list is empty!" in wrong.body) == (400, True)
    kind = eutils.answer("efetch", {"id": "101", "retmode": "json"})
    assert kind.status == 400
    assert b"retmode=text with rettype=medline" in kind.body
    lost = eutils.answer("efetch", {"webenv": "MCID_0", "query_key": "1"})
    assert b"Unable to obtain query #1" in lost.body


def test_summaries_in_json(eutils):
    both = eutils.answer("esummary", {"id": "101,55", "retmode": "json"})
    result = json.loads(both.body)["result"]
    assert result["uids"] == ["101", "55"]
    assert result["55"] == {"uid": "55", "error": "cannot get document summary"}
    assert result["101"]["sortpubdate"] == "2020/03/09 00:00"
    assert result["101"]["sorttitle"] == "aspirin stroke a randomised trial"
    assert result["101"]["authors"][2] == {
        "name": "Stroke Study Group",
        "authtype": "CollectiveName",
        "clusterid": "",
    }
    empty = json.loads(eutils.answer("esummary", {"retmode": "json"}).body)
    assert empty["esummaryresult"] == ["Empty id list - nothing todo"]
    many = {"id": ",".join(map(str, range(1, 502))), "retmode": "json"}
    assert (
        "Maximum number of UIDs is 500" in json.loads(eutils.answer("esummary", many).body)["error"]
    )
    wrong = json.loads(eutils.answer("esummary", {"id": "1,abc", "retmode": "json"}).body)
    assert wrong["error"] == "Invalid uid abc at position= 1"


def test_post_limits(eutils):
    many = ",".join(map(str, range(1, 10_002)))
    assert b"Maximum number of UIDs is 10000" in eutils.answer("epost", {"id": many}).body
    assert eutils.answer("efetch", {"id": many}).status == 400
    some = eutils.answer("epost", {"id": "101,abc"})
    assert b"<QueryKey>1</QueryKey>" in some.body
    assert b"Some IDs have invalid value" in some.body
    as_json = json.loads(eutils.answer("epost", {"id": "101", "retmode": "json"}).body)
    assert as_json["epostresult"]["querykey"] == "1"


def test_utilities_that_are_not_served_say_so(eutils):
    assert eutils.answer("egquery", {}).status == 404
    assert b"no spelling dictionary" in eutils.answer("espell", {"term": "x"}).body


@pytest.mark.parametrize(
    ("name", "full", "expected"),
    [
        ("Smith JA", "Smith, John A", ("Smith", "John A", "JA", "")),
        ("Smith JA", "", ("Smith", "", "JA", "")),
        ("de la Cruz M 3rd", "", ("de la Cruz", "", "M", "3rd")),
        ("Sheftell, Fred D", "", ("Sheftell", "Fred D", "FD", "")),
        ("Ångström Ö", "", ("Ångström", "", "Ö", "")),
        ("Stroke Study Group", "", ("Stroke Study Group", "", "", "")),
        ("WHO", "", ("WHO", "", "", "")),
    ],
)
def test_author_names_taken_apart(name, full, expected):
    record = Record(id="1", authors=(name,), full_authors=(full,) if full else ())
    assert tuple(people(record)[0]) == expected
