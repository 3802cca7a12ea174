"""The fleet against one index over the same records, on real Ray."""

import os
import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from actors.search.engine import PubMedEngine
from actors.search.engines import open_engine
from actors.search.index import build_index, open_index
from actors.search.types import (
    InfraFailure,
    MeshHeading,
    QueryError,
    Record,
    SearchRequest,
    SearchResult,
)
from cluster.failures import FleetError
from pipelines.search.fleet import FleetOptions, SearchFleet

pytestmark = pytest.mark.usefixtures("ray_local")

WORDS = [
    *("heart", "liver", "failure", "cancer", "renal", "acute", "therapy", "trial", "rat", "rats"),
    *("hyper", "hypertension", "hypertensive", "hypoxia", "dose", "response", "in", "of", "the"),
]
HEADINGS = ["Heart Failure", "Liver Neoplasms", "Rats", "Hypertension"]


def records(count: int = 400) -> list[Record]:
    rng = random.Random(7)
    out = []
    for number in range(count):
        text = [rng.choice(WORDS) for _ in range(12)] + [f"rare{number % 97:02d}"]
        day = date(1990 + rng.randrange(20), rng.randint(1, 12), 1)
        out.append(
            Record(
                id=str(1000 + rng.randrange(10**6) * 400 + number),
                title=" ".join(text[:5]),
                abstract=" ".join(text[5:]),
                authors=(f"{rng.choice(['Smith', 'Smithson', 'Jones'])} {rng.choice('ABC')}",),
                published=None if rng.random() < 0.05 else day,
                mesh=tuple(MeshHeading(h) for h in rng.sample(HEADINGS, 2)),
            )
        )
    return out


def requests() -> list[SearchRequest]:
    rng = random.Random(3)

    def term() -> str:
        word = rng.choice(WORDS)
        kind = rng.randrange(8)
        if kind == 0:
            return f'"{word} {rng.choice(WORDS)}"[tiab]'
        if kind == 1:
            return f"{word[:4]}*" if len(word) >= 4 else word
        if kind == 2:
            return f'"{rng.choice(HEADINGS)}"[mh]'
        if kind == 3:
            return f"{rng.choice(['smith', 'smith a', 'jones'])}[au]"
        if kind == 4:
            return f"{rng.randint(1990, 2000)}:{rng.randint(2000, 2010)}[dp]"
        if kind == 5:
            return f"rare{rng.randrange(120):02d}"
        if kind == 6:
            return f'"{word} {rng.choice(WORDS)}"[tiab:~2]'
        return f"{word} {rng.choice(WORDS)}"

    out = []
    for number in range(150):
        query = term()
        for _ in range(rng.randrange(5)):
            query = f"({query}) {rng.choice(['AND', 'OR', 'NOT'])} {term()}"
        out.append(
            SearchRequest(
                query,
                k=rng.choice([0, 1, 7, 1000]),
                date_to=rng.choice([None, date(2001, 6, 1)]),
                order=("recent", "relevance")[number % 2],
            )
        )
    return out


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("indexes")
    build_index(records(), base / "one")
    build_index(records(), base / "three", shards=3)
    return base / "one", base / "three"


@pytest.fixture(scope="module")
def sharded(folders, ray_local) -> Iterator[SearchFleet]:
    with SearchFleet(folders[1], FleetOptions(cpus=0.1)) as fleet:
        yield fleet


def test_three_shards_answer_as_one_index_does(folders, sharded):
    engine = PubMedEngine(open_index(folders[0]))
    asked = requests()
    expected = engine.search_many(asked)
    assert sum(r.total > 0 for r in expected if isinstance(r, SearchResult)) > 90
    for request, one, many in zip(asked, expected, sharded.search(asked), strict=True):
        assert one == many, request


def test_shards_in_one_process_answer_as_one_index_does(folders):
    one, many = open_engine(folders[0]), open_engine(folders[1])
    asked = requests()
    assert many.search_many(asked) == one.search_many(asked)
    ids = [record.id for record in records()][::40]
    assert many.fetch(ids) == one.fetch(ids)
    assert many.document_frequency("heart") == one.document_frequency("heart") > 0
    with pytest.raises(KeyError, match="no record 'x'"):
        many.fetch(["x"])


def test_replicas_of_one_shard_share_a_batch(folders):
    engine = PubMedEngine(open_index(folders[0]))
    with SearchFleet(folders[0], FleetOptions(replicas=2, cpus=0.1)) as fleet:
        asked = requests()[:40]
        assert fleet.search(asked) == engine.search_many(asked)
        assert len(set(fleet.workers[0].pids())) == 2


def test_query_errors_stay_in_their_place(sharded):
    good, bad = SearchRequest("heart", 5), SearchRequest("()", 5)
    kinds = [type(outcome) for outcome in sharded.search([bad, good, bad])]
    assert kinds == [QueryError, SearchResult, QueryError]


def test_a_query_that_was_answered_is_not_run_again_until_something_differs(sharded):
    request = SearchRequest("liver  AND\theart", 5)
    first = sharded.search([request, request])[0]
    misses = sharded.cache.misses
    assert sharded.search([SearchRequest("liver AND heart", 5)]) == [first]
    assert sharded.cache.misses == misses
    for other in (
        SearchRequest("liver AND heart", 6),
        SearchRequest("liver AND heart", 5, date(2000, 1, 1)),
        SearchRequest("liver AND heart", 5, fields=["title"]),
        SearchRequest("Liver and heart", 5),
    ):
        misses = sharded.cache.misses
        sharded.search([other])
        assert sharded.cache.misses == misses + 1


def test_records_and_frequencies_come_from_all_shards(folders, sharded):
    engine = PubMedEngine(open_index(folders[0]))
    ids = [record.id for record in records()][::50]
    assert sharded.fetch(ids) == engine.fetch(ids)
    words = ["heart", "nothing", "rats", "rare05"]
    expected = [engine.document_frequency(word) for word in words]
    assert sharded.document_frequencies(words) == expected
    assert sharded.submit("document_frequencies", words).result() == expected
    with pytest.raises(KeyError, match="no record 'x'"):
        sharded.fetch([ids[0], "x"])


def test_a_killed_shard_is_replaced_and_its_queries_are_answered(folders):
    engine = PubMedEngine(open_index(folders[0]))
    asked = requests()[:60]
    with SearchFleet(folders[1], FleetOptions(cpus=0.1, cache_entries=0)) as fleet:
        fleet.search(asked[:5])
        os.kill(fleet.workers[1].pids()[0], 9)
        assert fleet.search(asked) == engine.search_many(asked)
        assert fleet.restarts == 1


def test_a_shard_that_cannot_come_back_is_a_failure_of_ours_and_is_not_kept(folders, monkeypatch):
    with SearchFleet(folders[1], FleetOptions(cpus=0.1, max_restarts=0)) as fleet:
        os.kill(fleet.workers[2].pids()[0], 9)
        request = SearchRequest("heart", 5)
        outcome = fleet.search([request])[0]
        assert isinstance(outcome, InfraFailure)
        assert "shard-2" in outcome.message
        assert fleet.cache.get(request) is None


def test_a_request_that_no_worker_can_run_does_not_spoil_its_batch(folders, sharded):
    good, odd = SearchRequest("heart", 5), SearchRequest("heart", 5, order="sideways")
    for fleet in (sharded, SearchFleet(folders[0], FleetOptions(cpus=0.1))):
        first, failed, last = fleet.search([good, odd, SearchRequest("liver", 5)])
        assert isinstance(failed, InfraFailure)
        assert "sideways" in failed.message
        assert (type(first), type(last)) == (SearchResult, SearchResult)
        assert fleet.cache.get(odd) is None
        if fleet is not sharded:
            fleet.shutdown()


def test_workers_that_cannot_open_the_index_are_a_fleet_error(folders, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folders[1], copy)
    shutil.rmtree(next(path for path in copy.iterdir() if path.is_dir()))
    with pytest.raises(FleetError, match=r"missing|cut short|No such file"):
        SearchFleet(copy, FleetOptions(cpus=0.1, max_restarts=1))
