import asyncio
import os
import signal

import pytest

from actors.search.ranking.failures import PassagesError
from actors.search.types import InfraFailure
from pipelines.data.multihop import load_hop_set
from pipelines.realm.indexing import build_hop_index
from pipelines.realm.retrieval import SearchingRetriever, open_retriever
from pipelines.realm.search_fleet import FleetEngine, open_retriever_on_ray
from tests.pipelines.realm.pools import FILMS, rows, write


@pytest.fixture
def folder(tmp_path):
    hop_set = load_hop_set(write(tmp_path / "films.jsonl", rows()))
    build_hop_index(hop_set, tmp_path / "index")
    return tmp_path / "index"


async def all_of(retriever):
    return await asyncio.gather(*(retriever.search(film, 3) for film in FILMS))


def test_workers_find_what_the_index_finds_and_a_killed_one_is_replaced(ray_local, folder):
    with open_retriever(folder) as here:
        expected = asyncio.run(all_of(here))
    engine = FleetEngine(folder, workers=2, cpus=0.1)
    with SearchingRetriever(engine, again=False, on_close=engine.close) as there:
        assert asyncio.run(all_of(there)) == expected
        os.kill(engine.fleet.pids()[0], signal.SIGKILL)
        assert asyncio.run(all_of(there)) == expected
        assert engine.fleet.restarts == 1


def test_workers_that_cannot_be_replaced_are_an_infrastructure_failure(ray_local, folder):
    engine = FleetEngine(folder, cpus=0.1, max_restarts=0)
    with SearchingRetriever(engine, again=False, on_close=engine.close) as retriever:
        assert not isinstance(asyncio.run(retriever.search("Silver Tide", 1)), InfraFailure)
        os.kill(engine.fleet.pids()[0], signal.SIGKILL)
        assert isinstance(asyncio.run(retriever.search("Red Lantern", 1)), InfraFailure)


def test_a_folder_without_an_index_or_an_unknown_kind_is_said_before_actors_start(tmp_path):
    with pytest.raises(PassagesError, match="no index of passages"):
        open_retriever_on_ray(tmp_path)
    with pytest.raises(PassagesError, match="'pubmed' is none of bm25, dense, hybrid"):
        open_retriever_on_ray(tmp_path, "pubmed")
