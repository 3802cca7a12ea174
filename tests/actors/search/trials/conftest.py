"""Six small studies made up for these tests, and the index of them."""

from pathlib import Path

import pytest

from actors.search.trials.build import build_trials_index
from actors.search.trials.evaluation import Evaluator

SHARED = Path(__file__).parents[5] / "shared" / "data"


def study(number, title, posted, **modules):
    protocol = {
        "identificationModule": {"nctId": f"NCT{number:08d}", "briefTitle": title},
        "statusModule": {
            "overallStatus": modules.pop("status", "COMPLETED"),
            "studyFirstPostDateStruct": {"date": posted, "type": "ACTUAL"},
            "lastUpdatePostDateStruct": {"date": modules.pop("updated", posted)},
        },
    }
    extra = modules.pop("extra", {})
    for name, value in modules.items():
        protocol[f"{name}Module"] = value
    return {"protocolSection": protocol, "hasResults": False} | extra


def site(city, state, country, status, lat=None, lon=None):
    place = {"city": city, "state": state, "country": country, "status": status}
    return place | ({} if lat is None else {"geoPoint": {"lat": lat, "lon": lon}})


STUDIES = [
    study(
        1,
        "Aspirin After Heart Attack",
        "2015-01-31",
        updated="2020-05-01",
        conditions={"conditions": ["Myocardial Infarction"], "keywords": ["secondary prevention"]},
        design={
            "studyType": "INTERVENTIONAL",
            "phases": ["PHASE2", "PHASE3"],
            "enrollmentInfo": {"count": 120},
        },
        armsInterventions={"interventions": [{"type": "DRUG", "name": "Aspirin 100 mg"}]},
        eligibility={"minimumAge": "18 Years", "maximumAge": "80 Years", "sex": "ALL"},
        contactsLocations={
            "locations": [
                site("Portland", "Oregon", "United States", "RECRUITING", 45.52, -122.68),
                site("Augusta", "Maine", "United States", "COMPLETED", 44.31, -69.78),
            ]
        },
    ),
    study(
        2,
        "Stents in Acute Myocardial Infarction",
        "2018-06-15",
        status="RECRUITING",
        conditions={"conditions": ["Heart Disease", "Lung Diseases"]},
        design={"studyType": "INTERVENTIONAL", "phases": ["PHASE3"]},
        armsInterventions={"interventions": [{"type": "DEVICE", "name": "Drug-eluting stent"}]},
        eligibility={"minimumAge": "6 Months", "sex": "FEMALE"},
        contactsLocations={
            "locations": [
                site("Portland", "Maine", "United States", "RECRUITING", 43.66, -70.26),
                site("Bethesda", "Maryland", "United States", "WITHDRAWN", 39.0, -77.1),
            ]
        },
    ),
    study(
        3,
        "Registry of Heart and Lung Disease",
        "2018-06-15",
        status="NOT_YET_RECRUITING",
        description={"briefSummary": "Patients with tumours of the heart are followed."},
        conditions={"conditions": ["Heart Neoplasms"]},
        design={"studyType": "OBSERVATIONAL", "enrollmentInfo": {"count": 5000}},
        eligibility={"minimumAge": "1 Year", "maximumAge": "17 Years", "sex": "ALL"},
    ),
    study(
        4,
        "Système nerveux: SLE",
        "2021-03-20",
        status="RECRUITING",
        conditions={"conditions": ["Acute Lymphoblastic Leukemia", "ALL"]},
        eligibility={"sex": "MALE"},
        extra={
            "derivedSection": {
                "conditionBrowseModule": {
                    "meshes": [{"id": "D054198", "term": "Precursor Cell Leukemia-Lymphoma"}],
                    "browseLeaves": [
                        {"name": "Leukemia", "asFound": "Leucaemia", "relevance": "HIGH"},
                        {"name": "Brain Ischemia", "asFound": "Zorblax", "relevance": "LOW"},
                    ],
                }
            }
        },
    ),
    study(
        5,
        "Post-operative pain in children",
        "2021-03-21",
        status="TERMINATED",
        conditions={"conditions": ["Pain, Postoperative"]},
        identification={
            "nctId": "NCT00000005",
            "nctIdAliases": ["NCT00000099"],
            "briefTitle": "Post-operative pain in children",
            "acronym": "POPIC",
        },
    ),
    {"protocolSection": {"identificationModule": {"nctId": "NCT00000006"}}},
]


@pytest.fixture(scope="session")
def index(tmp_path_factory):
    return build_trials_index(STUDIES, tmp_path_factory.mktemp("trials") / "index", corpus="six")


@pytest.fixture(scope="session")
def evaluator(index):
    return Evaluator(index)


@pytest.fixture(scope="session")
def shared():
    if not SHARED.exists():
        pytest.skip(f"real data is not at {SHARED}")
    return SHARED
