from datetime import date

import pytest

from actors.search.trials.areas import AREAS, BY_PARAM, find_area
from actors.search.trials.enums import ENUMS, enum_value
from actors.search.trials.fields import BY_PATH, FIELDS, LEAVES, values, walk
from actors.search.trials.lexical import hyphenated, normal
from actors.search.trials.quantities import distances, read_age, read_date, read_radius
from actors.search.trials.study import from_flat, nct_id, study_id


@pytest.mark.parametrize(
    "text",
    [
        "2015-01-31",
        "20150131",
        "01/31/2015",
        "January 31, 2015",
        "31 Jan 2015",
        "2015/1/31",
        "2015-01-31T10:00",
    ],
)
def test_days(text):
    assert read_date(text) == (date(2015, 1, 31), date(2015, 1, 31))


def test_months_years_and_no_dates():
    assert read_date("2024-02") == (date(2024, 2, 1), date(2024, 2, 29))
    assert read_date("02/2024") == read_date("Feb 2024") == read_date("February 2024")
    assert read_date("2015") == (date(2015, 1, 1), date(2015, 12, 31))
    assert [read_date(t) for t in ("", "2015-13", "Foo 2015", "0000", "2015-02-30")] == [None] * 5


def test_ages_compare_across_units():
    assert read_age("1 year") > read_age("6 Months") > read_age("25 Weeks") > read_age("3 Days")
    assert read_age("18") == read_age("18 Years") == 18 * 365.25
    assert read_age("N/A") is None
    assert read_age("2 lightyears") is None


def test_distances_in_kilometres():
    # London to Paris: 343.6 km along a great circle (independent figure, spherical earth)
    import numpy as np

    points = np.array([[48.8566, 2.3522], [51.5074, -0.1278]])
    assert distances(51.5074, -0.1278, points) == pytest.approx([343.6, 0.0], abs=0.2)
    assert read_radius("25mi") == pytest.approx(40.2336)
    assert read_radius("50") is None
    assert read_radius("50", bare=0.001) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("diseases", "disease"),
        ("metastases", "metastasis"),
        ("headaches", "Headache"),
        ("viruses", "virus"),
        ("tumours", "Tumor"),
        ("anaemia", "anemia"),
        ("Parkinson’s", "Parkinson"),
        ("biopsies", "biopsy"),
        ("randomised", "randomized"),
        ("Sjögren", "sjogren"),
        ("beta-blocker", "β blockers"),
    ],
)
def test_lexical_variants_share_a_form(one, other):
    assert normal(one) == normal(other)


def test_lexical_variants_keep_words_apart():
    assert normal("AIDS") != normal("aid")
    assert normal("virus") == ["virus"]
    assert normal("IL-2 (PHASE2)") == ["il", "2", "phase2"]
    assert hyphenated("a Post-operative X-ray-free day") >= {("postoperative", "post", "operative")}


def test_fields():
    assert len(LEAVES) > 300
    phase = FIELDS["Phase"]
    assert (phase.dotted, phase.type, phase.many) == (
        "protocolSection.designModule.phases",
        "Phase",
        True,
    )
    assert BY_PATH["protocolSection.designModule.phases"] is phase
    assert FIELDS["LocationCity"].repeated
    assert not FIELDS["StartDate"].repeated
    assert FIELDS["StartDateStruct"].leaves == ("StartDate", "StartDateType")
    record = {
        "protocolSection": {
            "contactsLocationsModule": {
                "locations": [
                    {"city": "A", "contacts": [{"name": "x"}, {"name": "y"}]},
                    {"city": "B"},
                ]
            }
        }
    }
    assert values(record, FIELDS["LocationCity"].path) == ["A", "B"]
    assert values(record, FIELDS["LocationContactName"].path) == ["x", "y"]
    assert values(record, FIELDS["BriefTitle"].path) == []
    found = {field.piece: items for field, items in walk(record)}
    assert found["LocationContactName"] == ["x", "y"]
    assert len(found["Location"]) == 2
    assert "LocationState" not in found


def test_areas_are_the_documented_ones():
    assert len(AREAS) == 19
    assert len(AREAS["BasicSearch"].weights) == 57
    assert all(piece in FIELDS for area in AREAS.values() for piece, _, _ in area.weights)
    assert set(BY_PARAM) == set("cond term locn titles intr outc spons lead id patient".split())
    weights = {piece: weight for piece, weight, _ in AREAS["ConditionSearch"].weights}
    assert weights["Condition"] == 0.95
    assert find_area("Location").weights[0][0] == "LocationFacility"
    assert find_area("Nonsense") is None


def test_enums():
    assert {field.type for field in LEAVES if field.is_enum} == set(ENUMS)
    assert enum_value("Phase", "Phase 2") == enum_value("Phase", "phase2") == "PHASE2"
    assert enum_value("Status", "Active, not recruiting") == "ACTIVE_NOT_RECRUITING"
    assert enum_value("Phase", "5") is None
    violations = ENUMS["ViolationEventType"]
    assert violations["ISSUES_IN_LETTER_ADDRESSED_CONFIRMED"].endswith("; confirmed by FDA.")


def test_numbers_of_the_registry():
    assert nct_id(" nct841061 ") == "NCT00841061"
    assert [nct_id(t) for t in ("NCT0", "NCT123456789", "841061", "")] == [None] * 4
    with pytest.raises(ValueError, match="registry number"):
        study_id({"protocolSection": {}})


def test_flat_rows():
    row = {
        "nct_id": "NCT00000122",
        "title": "T",
        "official_title": "O",
        "phase": "PHASE1 / PHASE2",
        "status": "active, not recruiting",
        "gender": "Both",
        "min_age": "18 Years",
        "max_age": "N/A",
        "interventions": ["Drug: warfarin", "placebo: none given"],
        "conditions": ["a", ""],
        "completion_date": "20141201",
        "start_date": "1985-09",
        "enrollment": 7,
        "locations_country": ["Italy"],
        "study_type": "INTERVENTIONAL",
    }
    protocol = from_flat(row)["protocolSection"]
    assert protocol["identificationModule"] == {
        "nctId": "NCT00000122",
        "briefTitle": "T",
        "officialTitle": "O",
    }
    assert protocol["designModule"] == {
        "studyType": "INTERVENTIONAL",
        "phases": ["PHASE1", "PHASE2"],
        "enrollmentInfo": {"count": 7},
    }
    assert protocol["statusModule"] == {
        "overallStatus": "ACTIVE_NOT_RECRUITING",
        "startDateStruct": {"date": "1985-09"},
        "completionDateStruct": {"date": "2014-12-01"},
    }
    assert protocol["armsInterventionsModule"] == {
        "interventions": [{"type": "DRUG", "name": "warfarin"}, {"name": "placebo: none given"}]
    }
    assert protocol["eligibilityModule"] == {"sex": "ALL", "minimumAge": "18 Years"}
    assert protocol["conditionsModule"] == {"conditions": ["a"]}
    assert "descriptionModule" not in protocol
    with pytest.raises(ValueError, match="nct_id: 'x'"):
        from_flat({"nct_id": "x"})
