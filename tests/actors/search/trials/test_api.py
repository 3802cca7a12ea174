import csv
import io
import json

import pytest

from actors.search.trials.api import TrialsService
from actors.search.trials.fields import FIELDS


@pytest.fixture(scope="module")
def service(index):
    return TrialsService(index)


def get(service, path="/studies", **parameters):
    named = {name.replace("__", "."): value for name, value in parameters.items()}
    answer = service.get(path, named)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def ids(service, **parameters):
    body = get(service, fields="NCTId", **{"pageSize": "100"} | parameters)
    return [s["protocolSection"]["identificationModule"]["nctId"][-1] for s in body["studies"]]


def refused(service, path="/studies", **parameters):
    named = {name.replace("__", "."): value for name, value in parameters.items()}
    answer = service.get(path, named)
    assert answer.content_type.startswith("text/plain")
    return answer.status, answer.body.decode()


def test_all_and_the_disease_called_all(service):
    assert len(ids(service, query__cond="ALL")) == 6
    assert ids(service, query__cond=r"\ALL") == ["4"]


def test_queries_are_combined_and_filters_do_not_rank(service):
    assert ids(service, query__cond="heart", query__intr="aspirin") == ["1"]
    assert set(ids(service, query__term="heart", filter__overallStatus="RECRUITING|COMPLETED")) == {
        "1",
        "2",
    }
    assert ids(service, filter__advanced="AREA[StudyFirstPostDate]2021-03-20") == ["4"]
    assert ids(service, query__term="heart", postFilter__advanced="aspirin") == ["1"]
    assert set(ids(service, filter__ids="NCT00000003,nct5")) == {"3", "5"}
    assert ids(service, filter__geo="distance(39.0035707,-77.1013313,50mi)") == ["2"]
    assert ids(service, filter__geo="distance(39.0035707,-77.1013313,50)") == []  # metres
    assert ids(
        service,
        query__term="NCT00000003, NCT00000001",
        filter__overallStatus="COMPLETED",
        sort="StudyFirstPostDate:asc",
    ) == ["1", "3"]  # numbers only: filters are ignored


def test_aggregations(service):
    assert ids(service, aggFilters="phase:2 3", sort="StudyFirstPostDate") == ["2", "1"]
    assert set(ids(service, aggFilters="sex:f,status:rec not")) == {"2", "3"}
    assert set(ids(service, aggFilters="sex:m|studyType:int")) == {"1"}
    assert len(ids(service, aggFilters="results:without")) == 6


def test_order(service):
    # without a query: updated last first, undated last; study 1 was updated in 2020
    assert ids(service) == ["5", "4", "1", "3", "2", "6"]
    assert ids(service, sort="EnrollmentCount") == ["1", "3", "5", "4", "2", "6"]
    assert ids(service, sort="EnrollmentCount:desc")[:2] == ["3", "1"]
    assert ids(service, sort="StudyFirstPostDate:asc,EnrollmentCount:desc")[:3] == ["1", "3", "2"]
    assert ids(service, query__term="heart disease") == ["2", "3"]
    assert ids(service, query__term="heart disease", sort="@relevance:asc") == ["3", "2"]


def test_pages(service):
    first = get(service, query__cond="heart OR pain", pageSize="2", countTotal="true")
    assert first["totalCount"] == 4
    assert list(first) == ["totalCount", "studies", "nextPageToken"]
    second = get(
        service,
        query__cond="heart OR pain",
        pageSize="1",
        pageToken=first["nextPageToken"],
        countTotal="true",
    )
    assert "totalCount" not in second
    third = get(service, query__cond="heart OR pain", pageToken=second["nextPageToken"])
    assert "nextPageToken" not in third
    seen = [
        s["protocolSection"]["identificationModule"]["nctId"]
        for page in (first, second, third)
        for s in page["studies"]
    ]
    assert len(seen) == len(set(seen)) == 4
    token = first["nextPageToken"]
    assert refused(service, query__cond="heart", pageToken=token)[0] == 400
    flipped = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
    assert "pageToken" in refused(service, query__cond="heart OR pain", pageToken=flipped)[1]
    assert refused(service, pageToken="é")[0] == 400


def test_page_sizes(service):
    assert len(get(service, pageSize="0")["studies"]) == 6  # 0 stands for the default of 10
    assert len(get(service, pageSize="5000")["studies"]) == 6
    assert refused(service, pageSize="-1") == (400, "Parameter `pageSize` has incorrect format")


def test_fields(service):
    body = get(service, fields="NCTId,LocationCity|HasResults", filter__ids="NCT00000001")
    assert body["studies"] == [
        {
            "protocolSection": {
                "identificationModule": {"nctId": "NCT00000001"},
                "contactsLocationsModule": {
                    "locations": [{"city": "Portland"}, {"city": "Augusta"}]
                },
            },
            "hasResults": False,
        }
    ]
    path = "protocolSection.designModule.enrollmentInfo"
    body = get(service, "/studies/NCT00000001", fields=f"{path},ConditionsModule")
    assert body == {
        "protocolSection": {
            "conditionsModule": {
                "conditions": ["Myocardial Infarction"],
                "keywords": ["secondary prevention"],
            },
            "designModule": {"enrollmentInfo": {"count": 120}},
        }
    }
    body = get(service, query__titles="aspirin", fields="@query")
    assert body["studies"] == [
        {"protocolSection": {"identificationModule": {"briefTitle": "Aspirin After Heart Attack"}}}
    ]
    body = get(service, "/studies/NCT00000002", fields="TitleSearch")
    assert list(body["protocolSection"]) == ["identificationModule"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"filter__studyType": "INTERVENTIONAL"}, "`filter.studyType` is unknown parameter"),
        (
            {"fields": "StudyDesign"},
            "Parameter 'fields' contains invalid field name: 'StudyDesign'",
        ),
        ({"sort": "Bogus:desc"}, "Unknown sort field"),
        ({"sort": "EnrollmentCount:descending"}, "Item 1 in parameter `sort` has incorrect format"),
        ({"sort": "NCTId,Phase,Sex"}, "Parameter `sort` must contain no more than 2 items"),
        ({"filter__overallStatus": "OPEN"}, "Invalid value in parameter `overallStatus`: `OPEN`"),
        ({"filter__geo": "near(1,2,3mi)"}, "Parameter `filter.geo` has incorrect format"),
        ({"filter__ids": "NCT1,x"}, "Item 2 in parameter `filter.ids` has incorrect format"),
        ({"aggFilters": "phase:9"}, "Invalid value in parameter `aggFilters`: `9`"),
        ({"aggFilters": "phase"}, "Item 1 in parameter `aggFilters` has incorrect format"),
        ({"countTotal": "2"}, "Parameter `countTotal` has incorrect format"),
        ({"format": "xml"}, "Invalid value in parameter `format`: `xml`"),
        ({"geoDecay": "fast"}, "Parameter `geoDecay` has incorrect format"),
        ({"filter__synonyms": "Nowhere:1"}, "Invalid value in parameter `filter.synonyms`"),
        (
            {"query__cond": "exampleitis (early onset"},
            "Error parsing query in Conditions or disease: missing ')' at '<EOF>'",
        ),
        (
            {"query__term": "AREA[Foo]x"},
            "Error parsing query in Other terms: Unknown area name: `Foo`",
        ),
        (
            {"filter__advanced": "AREA[Sex]x"},
            "Error parsing query in filter.advanced: Allowed values",
        ),
    ],
)
def test_refused(service, parameters, message):
    status, text = refused(service, **parameters)
    assert status == 400
    assert text.startswith(message)


def test_one_study(service, index):
    whole = get(service, "/studies/nct1")
    assert whole == index.study(index.ordinal("NCT00000001"))
    assert refused(service, "/studies/NCT00000077") == (404, "NCT number NCT00000077 not found")
    assert refused(service, "/studies/abc")[0] == 400
    moved = service.get("/studies/NCT00000099", {})
    assert (moved.status, dict(moved.headers)["Location"]) == (301, "/api/v2/studies/NCT00000005")
    assert refused(service, "/nowhere")[0] == 404
    assert refused(service, "/version", x="1") == (400, "`x` is unknown parameter")


def test_csv(service):
    answer = service.get(
        "/studies", {"format": "csv", "query.intr": "aspirin", "countTotal": "true"}
    )
    rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
    assert dict(answer.headers) == {"x-total-count": "1"}
    assert rows[0]["NCT Number"] == "NCT00000001"
    assert rows[0]["Interventions"] == "DRUG: Aspirin 100 mg"
    assert rows[0]["Phases"] == "PHASE2|PHASE3"
    assert rows[0]["Locations"] == "Portland, Oregon, United States|Augusta, Maine, United States"
    assert len(rows[0]) == 30
    answer = service.get("/studies", {"format": "csv", "fields": "Acronym|Sex", "pageSize": "1"})
    assert answer.body == b"Acronym,Sex\nPOPIC,\n"
    assert "x-next-page-token" in dict(answer.headers)


def test_legacy_markup(tmp_path):
    from actors.search.trials.build import build_trials_index

    text = "Inclusion:\n\n* age \\>= 18\n* PSA \\< 4"
    study = {
        "protocolSection": {
            "identificationModule": {"nctId": "NCT1", "briefTitle": "a \\> b"},
            "eligibilityModule": {"eligibilityCriteria": text},
        }
    }
    service = TrialsService(build_trials_index([study], tmp_path / "ix"))
    shown = get(service, "/studies/NCT1", markupFormat="legacy")["protocolSection"]
    expected = "Inclusion:\n\n-  age >= 18\n-  PSA < 4"
    assert shown["eligibilityModule"]["eligibilityCriteria"] == expected
    assert shown["identificationModule"]["briefTitle"] == "a \\> b"  # no markup field
    shown = get(service, "/studies/NCT1")["protocolSection"]
    assert shown["eligibilityModule"]["eligibilityCriteria"] == text


def test_descriptions(service):
    def nodes(tree):
        for node in tree:
            yield node
            yield from nodes(node.get("children", ()))

    found = {node["piece"]: node for node in nodes(get(service, "/studies/metadata"))}
    assert set(found) == set(FIELDS)
    assert found["Phase"] == {
        "name": "phases",
        "piece": "Phase",
        "sourceType": "TEXT",
        "type": "Phase[]",
        "isEnum": True,
    }
    areas = get(service, "/studies/search-areas")[0]["areas"]
    assert areas[1]["name"] == "ConditionSearch"
    assert areas[1]["parts"][0] == {
        "pieces": ["Condition"],
        "type": "text",
        "isEnum": False,
        "isSynonyms": True,
        "weight": 0.95,
    }
    sexes = next(e for e in get(service, "/studies/enums") if e["type"] == "Sex")
    assert sexes["pieces"] == ["Sex"]
    assert sexes["values"][0] == {"value": "FEMALE", "legacyValue": "Female"}
    assert get(service, "/version") == {
        "apiVersion": "2.0.5",
        "dataTimestamp": "2021-03-21T09:00:05",
    }


def test_statistics(service):
    values = get(
        service,
        "/stats/field/values",
        fields="Phase,EnrollmentCount,StudyFirstPostDate,HasResults,BriefTitle",
    )
    phase, count, posted, results, title = sorted(
        values,
        key=lambda v: [
            "Phase",
            "EnrollmentCount",
            "StudyFirstPostDate",
            "HasResults",
            "BriefTitle",
        ].index(v["piece"]),
    )
    assert phase["missingStudiesCount"] == 4
    assert phase["topValues"] == [
        {"value": "PHASE3", "studiesCount": 2},
        {"value": "PHASE2", "studiesCount": 1},
    ]
    assert (count["min"], count["max"], count["avg"]) == (120, 5000, 2560.0)
    assert (posted["min"], posted["formats"]) == ("2015-01-31", ["yyyy-MM-dd"])
    assert (results["falseCount"], results["trueCount"]) == (5, 0)
    assert title["longest"]["nctId"] == "NCT00000002"
    kinds = get(service, "/stats/field/values", types="INTEGER,BOOLEAN")
    assert {entry["type"] for entry in kinds} == {"INTEGER", "BOOLEAN"}
    assert get(service, "/stats/field/sizes", fields="Phase") == [
        {
            "piece": "Phase",
            "field": "protocolSection.designModule.phases",
            "uniqueSizesCount": 2,
            "minSize": 1,
            "maxSize": 2,
            "topSizes": [{"size": 1, "studiesCount": 1}, {"size": 2, "studiesCount": 1}],
        }
    ]
    sizes = get(service, "/stats/size")
    assert sizes["totalStudies"] == 6
    assert sum(entry["studiesCount"] for entry in sizes["ranges"]) == 6
    assert refused(service, "/stats/field/values", fields="Foo") == (
        404,
        "Unknown piece name of field path: Foo",
    )
