"""API v2 over a real socket: studies that were recorded from it come back as they were."""

import json
from pathlib import Path

import httpx
import pytest

from actors.search.emulator.opening import trials_service
from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.trials.build import build_trials_index

STUDY = {
    "protocolSection": {
        "identificationModule": {"nctId": "NCT00000007", "briefTitle": "Aspirin in stroke"},
        "statusModule": {"overallStatus": "RECRUITING"},
        "conditionsModule": {"conditions": ["Stroke"]},
    },
    "hasResults": False,
}


@pytest.fixture(scope="module")
def little(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trials") / "index"
    second = json.loads(json.dumps(STUDY).replace("NCT00000007", "NCT00000008"))
    build_trials_index([STUDY, second], folder)
    with Emulator(ServerConfig(trials=trials_service(folder))) as emulator:
        yield emulator


def test_studies_are_paged_with_tokens(little):
    asked = {"query.cond": "stroke", "pageSize": 1, "countTotal": "true"}
    first = httpx.get(little.trials_url + "/studies", params=asked).json()
    assert first["totalCount"] == 2
    assert len(first["studies"]) == 1
    token = {"pageToken": first["nextPageToken"]}
    second = httpx.get(little.trials_url + "/studies", params=asked | token).json()
    names = {
        page["studies"][0]["protocolSection"]["identificationModule"]["nctId"]
        for page in (first, second)
    }
    assert names == {"NCT00000007", "NCT00000008"}
    assert "nextPageToken" not in second


def test_one_study_and_errors(little):
    found = httpx.get(little.trials_url + "/studies/NCT00000007")
    assert found.json()["protocolSection"] == STUDY["protocolSection"]
    wrong = httpx.get(little.trials_url + "/studies", params={"nonsense": "1"})
    assert (wrong.status_code, "nonsense" in wrong.text) == (400, True)
    assert httpx.post(little.trials_url + "/studies").status_code == 405


def test_lists_may_be_given_by_repeating_the_parameter(little):
    pairs = [("filter.ids", "NCT00000007"), ("filter.ids", "NCT00000008"), ("countTotal", "true")]
    assert httpx.get(little.trials_url + "/studies", params=pairs).json()["totalCount"] == 2


def test_recorded_studies_come_back_whole(tmp_path):
    folder = Path(__file__).parents[5] / "shared" / "data" / "fixtures" / "ctgov" / "v2_studies"
    if not folder.is_dir():
        pytest.skip(f"recorded studies are not at {folder}")
    recorded = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    build_trials_index(recorded, tmp_path / "index")
    with (
        Emulator(ServerConfig(trials=trials_service(tmp_path / "index"))) as emulator,
        httpx.Client(base_url=emulator.trials_url) as client,
    ):
        for study in recorded:
            name = study["protocolSection"]["identificationModule"]["nctId"]
            assert client.get(f"/studies/{name}").json() == study
        listed = client.get("/studies", params={"pageSize": 1000, "countTotal": "true"}).json()
    assert listed["totalCount"] == len(recorded) == len(listed["studies"])
