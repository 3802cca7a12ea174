"""What expressions find in six studies, worked out by hand."""

import pytest

from actors.search.trials.essie import EssieError
from actors.search.trials.essie_parser import parse


def found(evaluator, text, area="BasicSearch"):
    bits = evaluator.run(parse(text), area).bits
    return "".join(sorted(evaluator.index.ids[ordinal][-1] for ordinal in bits))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # terms, phrases, and how far they are expanded
        ("aspirin", "1"),
        ("ASPIRIN", "1"),
        ('"heart attack"', "12"),  # "myocardial infarction" names the same
        ("EXPANSION[Term]heart attack", "1"),
        ("EXPANSION[Term]heart attacks", "1"),
        ("EXPANSION[Term]heart diseases", "2"),
        ("EXPANSION[Term]lung disease", "23"),
        ("EXPANSION[Concept]heart lung", ""),
        ("heart lung", "23"),  # relaxed: both words somewhere
        ('"heart lung"', ""),
        ("EXPANSION[Lossy]heart aspirin", "123"),
        ("EXPANSION[Term]tumor", "3"),
        ("EXPANSION[None]tumor", ""),
        ("EXPANSION[None]tumours", "3"),
        ("EXPANSION[None]Tumours", ""),
        ("EXPANSION[Term]systeme", "4"),
        ("EXPANSION[None]systeme", ""),
        ("EXPANSION[None]Système", "4"),
        ("EXPANSION[Term]postoperative", "5"),
        ("EXPANSION[Term]post operative", "5"),
        ("zorblax", ""),  # equates two names, but neither is searched text here
        # coverage
        ("AREA[Condition]COVERAGE[FullMatch]Heart Disease", "2"),
        ("AREA[BriefTitle]COVERAGE[StartsWith]registry of heart", "3"),
        ("AREA[BriefTitle]COVERAGE[StartsWith]heart", ""),
        ("AREA[BriefTitle]COVERAGE[EndsWith]Lung Disease", "3"),
        ("AREA[BriefTitle]COVERAGE[EndsWith]lung", ""),
        ("AREA[BriefTitle]COVERAGE[Contains]lung", "3"),
        ("AREA[Condition]COVERAGE[FullMatch]lung", ""),
        # Boolean operators and precedence
        ("aspirin OR stent AND registry", "1"),
        ("(aspirin OR stents) AND registry", ""),
        ("heart NOT aspirin", "23"),
        ("NOT (heart OR pain)", "46"),
        ("NOT NOT aspirin", "1"),
        # areas and pieces
        ("AREA[InterventionName]aspirin", "1"),
        ("AREA[Condition]aspirin", ""),
        ("AREA[ConditionSearch]aspirin", "1"),  # the title is part of it
        ("AREA[Phase]PHASE3", "12"),
        ("AREA[Phase]Phase 2", "1"),
        ("AREA[OverallStatus]RECRUITING", "24"),  # not NOT_YET_RECRUITING
        ("AREA[OverallStatus](TERMINATED OR COMPLETED)", "15"),
        ("phase3", "12"),
        ("AREA[HasResults]false", "12345"),
        ("AREA[Phase:size]2", "1"),
        ("AREA[Phase:size]RANGE[1, MAX]", "12"),
        ("AREA[Phase:size]MISSING", "3456"),
        ("AREA[Location]Bethesda", "2"),
        # presence
        ("AREA[MaximumAge]MISSING", "2456"),
        ("AREA[ConditionsModule]MISSING", "6"),
        ("NOT AREA[LocationCity]MISSING", "12"),
        ("ALL", "123456"),
        ("NOT ALL", ""),
        # dates, numbers, ages
        ("AREA[StudyFirstPostDate]RANGE[01/01/2018, MAX]", "2345"),
        ("AREA[StudyFirstPostDate]RANGE[2018-06-15, 2018-06-15]", "23"),
        ("AREA[StudyFirstPostDate]RANGE[MIN, 2018]", "123"),
        ("AREA[StudyFirstPostDate]RANGE[MIN, MAX]", "12345"),
        ("AREA[StudyFirstPostDate]2021", "45"),
        ("AREA[StudyFirstPostDate]2021-03-20", "4"),
        ("AREA[EnrollmentCount]RANGE[120, 4999]", "1"),
        ("AREA[EnrollmentCount]RANGE[121, MAX]", "3"),
        ("AREA[EnrollmentCount]5000", "3"),
        ("AREA[MinimumAge]RANGE[6 months, 1 year]", "23"),
        ("AREA[MinimumAge]RANGE[7 months, MAX]", "13"),
        ("AREA[MinimumAge]18 years", "1"),
        ("AREA[MinimumAge]RANGE[MIN, 16 years] AND AREA[MaximumAge]RANGE[16 years, MAX]", "3"),
        ("AREA[NCTId]RANGE[NCT00000004, NCT00000005]", "45"),
        ("AREA[Sex]RANGE[ALL, FEMALE]", "123"),
        # sites: of one site, or of any
        ("SEARCH[Location](AREA[LocationCity]Portland AND AREA[LocationState]Maine)", "2"),
        ("AREA[LocationCity]Portland AND AREA[LocationState]Maine", "12"),
        ("SEARCH[Location](AREA[LocationState]Maine AND AREA[LocationStatus]Recruiting)", "2"),
        ("SEARCH[Location](NOT AREA[LocationStatus]Recruiting)", "12"),
        ("NOT SEARCH[Location](AREA[LocationCity]Portland)", "3456"),
        ("SEARCH[Location](Portland AND SEARCH[Study](aspirin))", "1"),
        ("SEARCH[Location](AREA[LocationZip]MISSING)", "12"),
        ("AREA[LocationGeoPoint]DISTANCE[39.0019296, -77.1044561, 25mi]", "2"),
        ("AREA[LocationGeoPoint]DISTANCE[45.5, -122.6, 50km]", "1"),
        ("AREA[LocationGeoPoint]DISTANCE[44, -70, 100km]", "12"),
        # a disease called as an operator is
        (r"AREA[Condition]\ALL", "4"),
    ],
)
def test_found(evaluator, text, expected):
    assert found(evaluator, text) == expected


def test_the_default_area_is_the_parameters(evaluator):
    assert found(evaluator, "aspirin", "ConditionSearch") == "1"
    assert found(evaluator, "aspirin", "LocationSearch") == ""
    assert found(evaluator, "Portland", "LocationSearch") == "12"
    assert found(evaluator, "NCT00000099", "IdSearch") == "5"


def test_names_that_the_record_equates(evaluator):
    assert found(evaluator, "leucaemia", "ConditionSearch") == "4"
    assert found(evaluator, "EXPANSION[Concept]zorblax", "ConditionSearch") == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a AND AREA[Nonsense]b", "Unknown area name: `Nonsense`"),
        ("AREA[BriefTitle:size]2", "Unknown area name: `BriefTitle:size`"),
        (
            "AREA[Sex]both",
            "Allowed values for enum field `protocolSection.eligibilityModule.sex` are `FEMALE`, "
            "`MALE`, `ALL`",
        ),
        ("AREA[StartDate]RANGE[soon, MAX]", "Incorrect value `soon` for date field"),
        ("AREA[EnrollmentCount]many", "Incorrect value `many` for number field"),
        ("AREA[MinimumAge]RANGE[young, MAX]", "Incorrect value `young` for age field"),
        ("AREA[HasResults]maybe", "Allowed values for boolean field"),
        ("AREA[BriefTitle]DISTANCE[1, 2, 3mi]", "DISTANCE needs a field of places"),
        ("AREA[LocationGeoPoint]DISTANCE[1, 2, 0.5km]", "must be from 1mi or 1km to 500mi"),
        ("AREA[LocationGeoPoint]DISTANCE[1, 2, 501mi]", "must be from 1mi or 1km to 500mi"),
        ("AREA[LocationGeoPoint]DISTANCE[91, 2, 5mi]", "no place on earth"),
        ("AREA[LocationGeoPoint]Portland", "searched by DISTANCE only"),
        ("TILT[BriefTitle]a", "TILT needs a field of dates or numbers"),
        ("SEARCH[Location](AREA[BriefTitle]a)", "Unknown area name in SEARCH[Location]"),
    ],
)
def test_refused(evaluator, text, message):
    with pytest.raises(EssieError) as raised:
        found(evaluator, text)
    assert message in raised.value.message
    assert raised.value.position is not None


def ranking(evaluator, text):
    hits = evaluator.run(parse(text), "BasicSearch")
    scores = evaluator.relevance(hits)
    order = sorted(hits.bits, key=lambda ordinal: (-scores[ordinal], ordinal))
    return [(evaluator.index.ids[o][-1], float(scores[o])) for o in order]


def test_full_terms_rank_above_their_words_apart(evaluator):
    # study 2 names "heart disease"; 3 has both words, and both more often
    order = ranking(evaluator, "heart disease")
    assert [name for name, _ in order] == ["2", "3"]


def test_titles_weigh_more_than_summaries(evaluator):
    order = ranking(evaluator, "EXPANSION[Term]heart OR EXPANSION[Term]tumour")
    assert {name for name, _ in order} == {"1", "2", "3"}


def test_tilt_prefers_later_values(evaluator):
    plain = dict(ranking(evaluator, "EXPANSION[Term]myocardial infarction"))
    tilted = dict(
        ranking(evaluator, "TILT[StudyFirstPostDate]EXPANSION[Term]myocardial infarction")
    )
    assert set(plain) == set(tilted) == {"1", "2"}
    # days in order: 2015-01-31 < 2018-06-15 < 2021-03-20 < 2021-03-21: factors 1/2 and 2/3
    assert tilted["1"] == pytest.approx(plain["1"] * 0.5, rel=1e-5)
    assert tilted["2"] == pytest.approx(plain["2"] * (0.5 + 0.5 / 3), rel=1e-5)


def test_what_is_excluded_does_not_score(evaluator):
    assert dict(ranking(evaluator, "stents NOT aspirin")) == dict(ranking(evaluator, "stents"))
    assert dict(ranking(evaluator, "AREA[Phase]PHASE3")) == {"1": 0.0, "2": 0.0}
