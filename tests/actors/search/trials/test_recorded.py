"""Against what the real service answered, where those recordings are at hand."""

import gzip
import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from actors.search.trials.api import TrialsService
from actors.search.trials.build import build_trials_index
from actors.search.trials.engine import TrialsEngine
from actors.search.trials.essie import to_text
from actors.search.trials.essie_parser import parse
from actors.search.trials.fields import BY_PATH
from actors.search.types import SearchRequest, SearchResult


@pytest.fixture(scope="module")
def raw(shared):
    files = sorted((shared / "fixtures" / "ctgov" / "v2_studies").glob("NCT*.json"))
    studies = [json.loads(path.read_text()) for path in files]
    assert len(studies) >= 59
    return studies


@pytest.fixture(scope="module")
def service(raw, tmp_path_factory):
    return TrialsService(build_trials_index(raw, tmp_path_factory.mktemp("raw") / "ix"))


def paths(value, at=()):
    """Dotted paths of all leaves."""
    if isinstance(value, dict):
        for name, below in value.items():
            yield from paths(below, (*at, name))
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, at)
    else:
        yield ".".join(at)


def test_every_field_of_the_records_is_known(raw):
    found = {path for study in raw for path in paths(study)}
    geo = "protocolSection.contactsLocationsModule.locations.geoPoint"
    assert len(found) > 100
    assert {p for p in found if p not in BY_PATH} <= {f"{geo}.lat", f"{geo}.lon"}


def test_whole_studies_come_back_as_they_were(raw, service):
    for study in raw:
        number = study["protocolSection"]["identificationModule"]["nctId"]
        assert json.loads(service.get(f"/studies/{number}", {}).body) == study


def receipts(shared):
    folder = shared / "fixtures" / "ctgov" / "biomcp"
    for entry in json.loads((folder / "RECEIPTS.json").read_text()):
        if entry["path"].startswith("ctgov/") and "receipt" in entry:
            url = urlsplit(entry["receipt"]["request"])
            answer = json.loads((folder / entry["path"].removeprefix("ctgov/")).read_text())
            path = url.path.removeprefix("/api/v2")
            yield path, dict(parse_qsl(url.query)), answer


def test_answers_have_the_recorded_shape(shared, tmp_path):
    """The recorded studies, indexed and asked for again, come back field by field."""
    recorded = list(receipts(shared))
    assert len(recorded) == 10
    pages = [answer for path, _, answer in recorded if path == "/studies"]
    singles = [answer for path, _, answer in recorded if path != "/studies"]
    studies = [study for page in pages for study in page["studies"]] + singles
    service = TrialsService(build_trials_index(studies, tmp_path / "ix"))
    for path, parameters, answer in recorded:
        token = parameters.pop("pageToken", None)
        served = service.get(path, parameters)
        assert served.status == 200
        body = json.loads(served.body)
        if path != "/studies":
            assert body == answer
            continue
        assert set(answer) - set(body) <= {"nextPageToken", "totalCount"}
        assert isinstance(body["totalCount"], int)
        by_id = {s["protocolSection"]["identificationModule"]["nctId"]: s for s in body["studies"]}
        wanted = {
            s["protocolSection"]["identificationModule"]["nctId"]: s for s in answer["studies"]
        }
        if "query.cond" in parameters and token is None:
            found = set(by_id) & set(wanted)
            assert found
            for number in found:
                assert by_id[number] == wanted[number]
                assert list(by_id[number]["protocolSection"]) == list(
                    wanted[number]["protocolSection"]
                )


def test_examples_parse_and_run(shared, service):
    lines = (shared / "boolean" / "ctgov_essie_examples.jsonl").read_text().splitlines()
    assert len(lines) == 25
    for line in lines:
        row = json.loads(line)
        if "query" in row:
            tree = parse(row["query"])
            assert parse(to_text(tree)) == tree
            service.evaluator.run(tree, "BasicSearch")
            continue
        path = urlsplit(row["request_url"]).path.removeprefix("/api/v2")
        token = row["params"].pop("pageToken", "")
        assert service.get(path, row["params"]).status in (200, 404)
        if token:
            refused = service.get(path, row["params"] | {"pageToken": token})
            assert refused.status == 400
            assert b"pageToken" in refused.body


def test_flat_collections_are_searchable(shared, tmp_path):
    with gzip.open(shared / "trials" / "corpus.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for _, line in zip(range(400), file, strict=False)]
    engine = TrialsEngine(build_trials_index(rows, tmp_path / "ix"))
    assert engine.index.size == len({row["nct_id"] for row in rows})
    word = "glaucoma"
    wanted = {
        row["nct_id"]
        for row in rows
        if word
        in json.dumps(
            [
                row["title"],
                row.get("conditions"),
                row.get("official_title"),
                row.get("brief_summary"),
                row.get("keywords"),
            ]
        ).lower()
    }
    outcome = engine.search(SearchRequest("EXPANSION[Term]glaucoma", 1000, syntax="essie"))
    assert isinstance(outcome, SearchResult)
    assert len(wanted) > 5
    assert wanted - set(outcome.ids) <= set()
