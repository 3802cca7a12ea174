from datetime import date

import pytest

from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.types import MeshHeading, QueryError, Record, SearchRequest

RECORDS = [
    Record(
        "1", "Tamoxifen in breast cancer", "A trial of hormone therapy.",
        authors=("Smith JA", "Van Der Berg P"), journal="The Lancet",
        journal_abbreviation="Lancet", published=date(2010, 1, 1),
        publication_types=("Randomized Controlled Trial",), languages=("eng",),
        mesh=(
            MeshHeading("Breast Neoplasms", major=False, qualifiers=(("drug therapy", True),)),
            MeshHeading("Tamoxifen"),
        ),
    ),
    Record("2", "Breast neoplasms", "Therapy without hormone.", published=date(2012, 6, 1),
           authors=("Smithson J",), languages=("fre",), keywords=("lobular carcinoma",)),
    Record("10", "Low-dose aspirin", "Diabetic and diabetes patients.", published=date(2012, 6, 1),
           mesh=(MeshHeading("Aspirin", major=True),)),
    Record("9", "Aspirin aspirin aspirin", "Low dose.", published=date(2015, 3, 9)),
    Record("x", "Undated cancer note", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    return PubMedEngine(build_index(RECORDS))


def ids(engine, query, **kwargs):
    outcome = engine.search(SearchRequest(query, kwargs.pop("k", 10), **kwargs))
    assert not isinstance(outcome, QueryError), outcome
    assert outcome.total >= len(outcome.ids)
    return list(outcome.ids)


def warnings(engine, query, **kwargs):
    return list(engine.search(SearchRequest(query, 10, **kwargs)).warnings)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("breast", ["2", "1"]),
        ("aspirin", ["9", "10"]),
        ("cancer", ["1", "x"]),  # undated last
        ("breast OR aspirin", ["9", "10", "2", "1"]),  # same day: the higher number first
        ("breast AND tamoxifen", ["1"]),
        ("breast NOT tamoxifen", ["2"]),
        ("aspirin OR breast AND tamoxifen", ["1"]),  # (aspirin OR breast) AND tamoxifen
        ("aspirin OR (breast AND tamoxifen)", ["9", "10", "1"]),
        ("breast cancer", ["1"]),
        ('"hormone therapy"', ["1"]),
        ('"breast neoplasms"', ["2", "1"]),  # 1 by its MeSH heading
        ('"breast neoplasms"[tiab]', ["2"]),
        ("lobular[tiab]", ["2"]),
        ("lobular[ti]", []),
        ("diabet*", ["10"]),
        ('"breast neop*"[ti]', ["2"]),
        ("low-dose", ["9", "10"]),
        ("dose-low", []),  # a hyphenated phrase that is not there finds nothing
        ('"dose low"', ["9", "10"]),  # a quoted one is ANDed
        ("dose low[tiab]", ["9", "10"]),
        ("breast neoplasms[mh]", ["1"]),
        ('"Breast Neoplasms/drug therapy"[MeSH Terms]', ["1"]),
        ("breast neoplasms[majr]", ["1"]),
        ("tamoxifen[majr]", []),
        ("aspirin[majr:noexp]", ["10"]),
        ("drug therapy[sh]", ["1"]),
        ("neoplasms[mh]", []),  # whole headings only
        ("randomized controlled trial[pt]", ["1"]),
        ("smith[au]", ["1"]),  # not Smithson
        ("smith j[au]", ["1"]),
        ('"smith j"[au]', []),
        ("van der berg p[lastau]", ["1"]),
        ("smith ja[1au]", ["1"]),
        ("lancet[ta]", ["1"]),
        ("the lancet[journal]", ["1"]),
        ("english[la]", ["1"]),
        ("fre[la]", ["2"]),
        ("9 10", ["9", "10"]),
        ("x[uid]", ["x"]),
        ("2012[dp]", ["10", "2"]),
        ("2012/06/01[dp]", ["10", "2"]),
        ("2012/06/01:2012/06/01[dp]", ["10", "2"]),
        ("2012/07:3000[dp]", ["9"]),
        ("2010:2012[dp] NOT breast", ["10"]),
        ("breast AND ([pdat] : [pdat])", ["2", "1"]),
        ("NOT breast", ["9", "10", "x"]),
        ("breast AND (NOT tamoxifen)", ["2"]),
        ("BREAST[NoSuchField]", ["2", "1"]),
        ("therapy[nosuch] neoplasms[all]", ["2", "1"]),
        ("undated 😀", ["x"]),
    ],
)
def test_what_a_query_finds(engine, query, expected):
    assert ids(engine, query) == expected
    outcome = engine.search(SearchRequest(query, 1))
    assert (list(outcome.ids), outcome.total) == (expected[:1], len(expected))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"dose low"', ['QuotedPhraseNotFound: "dose low"']),
        ("dose-low", ["PhraseNotFound: dose low"]),
        ("zebra", ["PhraseNotFound: zebra"]),
        ("rat[x] OR aspirin", ["FieldNotFound: x", "PhraseNotFound: rat"]),
        ("soon[dp]", ["PhraseNotFound: soon[dp]"]),
        (
            "breast neoplasms[mh]",
            ["OutputMessage: headings are not exploded: no MeSH vocabulary was given"],
        ),
        ("breast neoplasms[mh:noexp]", []),
    ],
)
def test_warnings(engine, query, expected):
    assert warnings(engine, query) == expected


def test_date_filter_holds_for_the_whole_query(engine):
    assert ids(engine, "aspirin OR breast", date_to=date(2012, 6, 1)) == ["10", "2", "1"]
    assert ids(engine, "aspirin OR breast", date_to=date(2012, 5, 31)) == ["1"]
    assert ids(engine, "cancer OR aspirin", date_to=date(2030, 1, 1)) == ["9", "10", "1"]  # undated


def test_relevance_puts_the_record_that_says_it_most_first(engine):
    # 9 holds "aspirin" three times in a title of three words, 10 once.
    assert ids(engine, "aspirin[ti]", order="relevance") == ["9", "10"]
    assert ids(engine, "tamoxifen OR breast", order="relevance") == ["1", "2"]
    # A date says nothing about relevance: all scores are 0, ties latest first.
    assert ids(engine, "2010:2016[dp]", order="relevance") == ["9", "10", "2", "1"]
    assert ids(engine, "2010:2016[dp]", order="relevance", k=2) == ["9", "10"]


def test_fields_that_are_hidden_find_nothing_and_say_so():
    engine = PubMedEngine(build_index(RECORDS, fields=("title", "abstract")))
    message = "OutputMessage: [MeSH Terms] finds nothing: mesh not in this index"
    assert ids(engine, "aspirin[mh] OR breast") == ["2", "1"]
    assert warnings(engine, "aspirin[mh] OR breast") == [message]
    assert ids(engine, '"breast neoplasms"') == ["2"]
    assert ids(engine, "lobular") == []
    assert ids(engine, "drug") == []


def test_a_request_can_narrow_the_fields(engine):
    assert ids(engine, "aspirin", fields=("abstract",)) == []
    assert ids(engine, '"breast neoplasms"', fields=("title",)) == ["2"]
    with pytest.raises(ValueError, match=r"nonsense.*title, abstract"):
        engine.search(SearchRequest("rat", 1, fields=("nonsense",)))


@pytest.mark.parametrize(("k", "order"), [(-1, "recent"), (1, "newest")])
def test_a_wrong_request_is_not_the_querys_fault(engine, k, order):
    with pytest.raises(ValueError, match=r"-1|newest"):
        engine.search(SearchRequest("rat", k, order=order))


def test_truncation_stops_at_600_variations():
    records = [Record(str(i), f"word{i:04}") for i in range(700)]
    engine = PubMedEngine(build_index(records))
    outcome = engine.search(SearchRequest("word*", 10))
    assert outcome.total == 600
    assert outcome.ids[0] == "599"  # word0000 ... word0599, in alphabetical order
    assert outcome.warnings == ("OutputMessage: word*: only the first 600 variations searched",)


def test_translation_says_how_the_query_was_read(engine):
    def read(query):
        return engine.search(SearchRequest(query, 1, mapping=False)).translation

    assert read("breast[tiab] OR cancer AND trial") == (
        '("breast"[Title/Abstract] OR "cancer"[All Fields]) AND "trial"[All Fields]'
    )
    assert read("breast OR (cancer trial)") == (
        '"breast"[All Fields] OR ("cancer"[All Fields] AND "trial"[All Fields])'
    )
    assert read("breast NOT (cancer NOT trial)") == (
        '"breast"[All Fields] NOT ("cancer"[All Fields] NOT "trial"[All Fields])'
    )
    assert read("2010:2012/02[dp] AND diabet*") == (
        '2010/01/01:2012/02/29[Date - Publication] AND "diabet*"[All Fields]'
    )
    assert read("smith[au]") == "smith[Author]"


def test_depth_and_length_are_no_danger(engine):
    deep = "(" * 50_000 + "breast" + ")" * 50_000
    right = "".join(f"(w{i} OR " for i in range(3_000)) + "breast"
    left = "(" * 3_000 + "breast" + "".join(f") NOT w{i}" for i in range(3_000))
    for order in ("recent", "relevance"):
        assert sorted(ids(engine, deep, order=order)) == ["1", "2"]
        assert sorted(ids(engine, right, order=order)) == ["1", "2"]
        assert sorted(ids(engine, left, order=order)) == ["1", "2"]
    assert isinstance(engine.search(SearchRequest("a" * 200_001, 1)), QueryError)


def test_search_many_keeps_the_order_of_requests(engine):
    outcomes = engine.search_many([SearchRequest("breast", 1), SearchRequest("", 1)])
    assert outcomes[0].ids == ("2",)
    assert isinstance(outcomes[1], QueryError)


def test_document_frequency_and_fetch(engine):
    assert engine.document_frequency("Breast") == 2
    assert engine.document_frequency("zebra") == 0
    assert engine.document_frequency("low-dose") == 2
    assert engine.document_frequency("?") == 0
    assert engine.fetch(["x", "9"]) == [
        ("Undated cancer note", ""),
        ("Aspirin aspirin aspirin", "Low dose."),
    ]
    with pytest.raises(KeyError, match="404"):
        engine.fetch(["404"])
