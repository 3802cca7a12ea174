"""The live client against the local service over HTTP answers as the local engine does."""

from datetime import date

import pytest

from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.live.engines import LiveTrialsEngine
from actors.search.live.pacing import Pacer
from actors.search.trials.api import TrialsService
from actors.search.trials.engine import TrialsEngine
from actors.search.types import QueryError, SearchRequest


@pytest.fixture(scope="module")
def engines(index):
    with Emulator(ServerConfig(None, TrialsService(index), port=0)) as emulator:
        yield TrialsEngine(index), LiveTrialsEngine(emulator.trials_url, pacer=Pacer(1000))


@pytest.mark.parametrize("order", ["recent", "relevance"])
@pytest.mark.parametrize("until", [None, date(2018, 6, 15)])
@pytest.mark.parametrize(
    "query",
    [
        "heart disease",
        "heart OR pain",
        "ALL",
        "AREA[StudyFirstPostDate]RANGE[2018-01-01, MAX]",
        'AREA[InterventionName]"aspirin" OR stents NOT aspirin',
        "nothing at all",
    ],
)
def test_local_and_served_agree(engines, query, order, until):
    request = SearchRequest(query, 10, syntax="essie", order=order, date_to=until)
    local, served = (engine.search(request) for engine in engines)
    # the service leaves undated studies out of date ranges, as the engine does
    assert (served.ids, served.total) == (local.ids, local.total)


def test_faults_agree(engines):
    request = SearchRequest("heart AND AREA[Foo]x", 10, syntax="essie")
    local, served = (engine.search(request) for engine in engines)
    assert isinstance(local, QueryError)
    assert isinstance(served, QueryError)
    assert served.message == f"Error parsing query in Other terms: {local.message}"
