"""The driver on real Ray workers: the same trees, whatever happens to the workers."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from actors.expansion.types import RerankerError
from cluster.failures import FleetError
from pipelines.corag.driver import SearchFailure, SearchJob, run_searches
from pipelines.corag.local_scoring import LocalScoring
from pipelines.corag.scoring import ScoringFleets, ScoringOptions
from pipelines.corag.service import SearchService
from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import Search, Selection, TreeSettings
from tests.pipelines.corag.scoring_toys import ToyWorker, alone, asking, chunks

pytestmark = pytest.mark.usefixtures("ray_local")
HOW = TreeSettings(iterations=6)
COSTS = [1, 2, 1, 3, 1, 2, 1, 1]
BUDGET = 6


def fleets(log: Path | None = None, *, workers: int = 2, cpus: float = 0, **options: object):
    limits = {
        name: options.pop(name) for name in ("call_timeout_s", "max_restarts") if name in options
    }
    return ScoringFleets(
        {"toy": "toy", "other": "other"},
        ScoringOptions(workers=workers, cpus=cpus, call_orders=8, least_orders=2, **limits),
        reranker_options={"toy": {"log": str(log) if log else None, **options}},
        worker=ToyWorker,
    )


def trees(count: int = 4) -> Iterator[SearchJob]:
    for i in range(count):
        search = tree_search(COSTS, BUDGET, HOW)
        yield SearchJob(i, f"q{i}", chunks(len(COSTS)), "toy", search)


def disturbed(jobs: Iterator[SearchJob], key: int, wave: int, act: Callable[[], None]):
    """The same jobs; when one search has asked for its wave's orders, something happens."""

    def watched(search: Search) -> Search:
        orders, count = next(search), 1
        while True:
            if count == wave:
                act()
            rewards = yield orders
            try:
                orders, count = search.send(rewards), count + 1
            except StopIteration as stop:
                return stop.value

    for job in jobs:
        search = watched(job.search) if job.key == key else job.search
        yield SearchJob(job.key, job.query, job.chunks, job.reranker, search)


def selected(jobs: Iterator[SearchJob], scoring: ScoringFleets, **how: int) -> dict[int, Selection]:
    return {o.key: o.selection for o in run_searches(jobs, scoring, **how)}


def assert_undisturbed(found: dict[int, Selection], count: int = 4) -> None:
    """Node for node what each search makes of its scores alone."""
    assert set(found) == set(range(count))
    for key, selection in found.items():
        expected = alone(tree_search(COSTS, BUDGET, HOW), f"q{key}", chunks(len(COSTS)))
        assert len(expected.tree) > 20
        assert np.array_equal(selection.tree.slots, expected.tree.slots)
        assert selection.order == expected.order


def seen(log: Path) -> list[list[tuple[str, list[list[str]]]]]:
    """The calls of all workers: (query, orders) of each part."""
    return [json.loads(line) for file in log.iterdir() for line in file.read_text().splitlines()]


def test_trees_are_the_same_for_any_number_of_workers_and_searches(tmp_path):
    logs = [tmp_path / "1", tmp_path / "3"]
    for log, workers, concurrency in zip(logs, (1, 3), (4, 2), strict=True):
        log.mkdir()
        with fleets(log, workers=workers, delay_s=0.01) as scoring:
            assert not scoring.fleets
            assert_undisturbed(selected(trees(), scoring, concurrency=concurrency))
            assert list(scoring.fleets) == ["toy"]  # "other" was not asked for, nor started
            assert scoring.restarts == 0
        calls = seen(log)
        assert len(list(log.iterdir())) == workers  # all were busy
        assert any(len(call) > 1 for call in calls)  # a batch of several queries
        asked = [(query, tuple(order)) for call in calls for query, ps in call for order in ps]
        assert len(set(asked)) == len(asked)
        assert all(sum(len(orders) for _, orders in call) <= 8 for call in calls)


def test_workers_killed_amid_a_search_change_nothing(tmp_path):
    with fleets(delay_s=0.02) as scoring:

        def kill() -> None:
            for pid in scoring.fleets["toy"].pids():
                os.kill(pid, signal.SIGKILL)

        assert_undisturbed(selected(disturbed(trees(), 2, 3, kill), scoring))
        assert scoring.restarts == 2
        # The scores are all here: none of it needs a worker.
        again = list(run_searches(trees(), scoring))
        assert sum(o.scored for o in again) == 0
        assert_undisturbed({o.key: o.selection for o in again})


def test_a_hung_worker_is_replaced(tmp_path):
    with fleets(hang=str(tmp_path / "hung"), call_timeout_s=1.5) as scoring:
        assert_undisturbed(selected(trees(), scoring))
        assert scoring.restarts == 1
        assert (tmp_path / "hung").exists()


def test_a_batch_that_always_kills_ends_the_run_and_is_no_low_score(tmp_path):
    with fleets(die="q1", max_restarts=0, workers=1) as scoring:
        found = []
        with pytest.raises(FleetError, match="expansion-toy: worker 0 was lost after 0 of 0"):
            found.extend(run_searches(trees(), scoring, concurrency=1))
        assert [o.key for o in found] == [0]


def test_a_refused_query_fails_alone_and_other_rerankers_run_beside():
    jobs = [
        SearchJob(0, "q0", chunks(3), "toy", asking([(0,)], [(0, 1)])),
        SearchJob(1, "refused", chunks(3), "toy", asking([(0,)])),
        SearchJob(2, "q2", chunks(3), "other", asking([(1,)])),
    ]
    noted: list[SearchFailure] = []
    with fleets(workers=1) as scoring:
        found = {o.key: o for o in run_searches(jobs, scoring, on_failure=noted.append)}
        assert set(found) == {0, 2}
        assert [(f.key, str(f.error)) for f in noted] == [(1, "toy: ValueError: no such query")]
        assert isinstance(noted[0].error, RerankerError)
        assert scoring.restarts == 0
        assert sorted(scoring.fleets) == ["other", "toy"]


def test_a_replacement_that_scores_otherwise_is_not_taken(tmp_path):
    weights = tmp_path / "weights"
    weights.write_text("old")
    with fleets(moves=str(weights), workers=1, max_restarts=1) as scoring:

        def change() -> None:
            weights.write_text("newer")
            os.kill(scoring.fleets["toy"].pids()[0], signal.SIGKILL)

        with pytest.raises(FleetError, match="fingerprint was toy-3 and is toy-5"):
            selected(disturbed(trees(1), 0, 2, change), scoring)


def test_killed_workers_of_a_real_reranker_change_nothing():
    texts = ["aspirin and stroke", "statins after stroke", "a trial of aspirin", "nothing"]
    candidates = [replace(c, text=text) for c, text in zip(chunks(4), texts, strict=True)]

    def jobs() -> Iterator[SearchJob]:
        for i, query in enumerate(("aspirin for stroke", "statins")):
            search = tree_search([2] * 4, 6, HOW)
            yield SearchJob(i, query, candidates, "bm25", search)

    here = selected(jobs(), LocalScoring.of_specs({"bm25": "bm25"}))
    with ScoringFleets({"bm25": "bm25"}, ScoringOptions(workers=1, cpus=0)) as scoring:

        def kill() -> None:
            os.kill(scoring.fleets["bm25"].pids()[0], signal.SIGKILL)

        there = selected(disturbed(jobs(), 1, 3, kill), scoring)
        assert scoring.restarts == 1
    assert here[0].order
    assert here[0].reward > 0
    for key in (0, 1):
        assert np.array_equal(here[key].tree.slots, there[key].tree.slots)


def test_a_service_takes_jobs_from_threads_at_any_time():
    with SearchService(lambda: fleets(workers=1), concurrency=2) as service:
        got: dict[int, Selection] = {}

        def client(job: SearchJob) -> None:
            got[job.key] = service.submit(job).result(timeout=60).selection

        threads = [threading.Thread(target=client, args=(job,)) for job in trees()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert_undisturbed(got)
        refused = service.submit(SearchJob(1, "refused", chunks(3), "toy", asking([(0,)])))
        with pytest.raises(RerankerError, match="no such query"):
            refused.result(timeout=60)
        outcome = service.submit(SearchJob("k", "q", chunks(3), "toy", asking([(0,)])))
        assert outcome.result(timeout=60).key == "k"
    with pytest.raises(RuntimeError, match="has ended: it was closed"):
        service.submit(next(trees(1)))


def test_a_service_without_workers_says_so():
    service = SearchService(lambda: fleets(die="q0", workers=1, max_restarts=0))
    waiting = [service.submit(job) for job in trees(2)]
    for future in waiting:
        with pytest.raises(FleetError, match="was lost"):
            future.result(timeout=60)
    assert isinstance(service.error, FleetError)
    with pytest.raises(RuntimeError, match="has ended: fleet expansion-toy"):
        service.submit(next(trees(1)))
    service.close()


def test_options_that_make_no_sense():
    with pytest.raises(ValueError, match=r"workers is 0.*call_orders is 2, must be at least 8"):
        ScoringOptions(workers=0, call_orders=2)


@pytest.mark.long
def test_a_node_that_is_removed_amid_searches_changes_nothing():
    script = Path(__file__).with_name("scripts") / "lost_node.py"
    root = Path(__file__).parents[3]
    process = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    said = [line for line in process.stdout.splitlines() if line.startswith("test: ")]
    assert said == [
        "test: workers on 3 nodes",
        "test: a node with a worker was removed",
        "test: the trees are the same, workers replaced: True, on 2 nodes",
    ]
