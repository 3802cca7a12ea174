from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.expansion.types import OrderScore, QueryOrders, RerankerError
from pipelines.corag.asking import AskingScorer
from pipelines.corag.driver import (
    SearchDriver,
    SearchError,
    SearchFailure,
    SearchJob,
    SearchOutcome,
    call_size,
    run_searches,
)
from pipelines.corag.local_scoring import LocalScoring
from pipelines.corag.score_cache import ScoreCache
from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import Search, Selection, TreeSettings
from tests.pipelines.corag.scoring_toys import ToyReranker, alone, asking, chunks, utility


def job(key: object, query: str, search: Search, count: int = 3, **changes: object) -> SearchJob:
    return SearchJob(key, query, changes.pop("chunks", chunks(count)), "toy", search, **changes)


def local(reranker: ToyReranker | None = None, **options: object) -> LocalScoring:
    made = reranker or ToyReranker()
    return LocalScoring({"toy": lambda: made}, **options)


def outcomes(jobs, scoring, **options) -> dict[object, SearchOutcome]:
    found = list(run_searches(jobs, scoring, **options))
    assert len({o.key for o in found}) == len(found)
    return {o.key: o for o in found}


class HeldScoring(LocalScoring):
    """Calls are done when the test releases them."""

    def __init__(self, workers: int = 1, **options: object) -> None:
        self.reranker = ToyReranker()
        super().__init__({"toy": lambda: self.reranker}, **options)
        self.least_orders = 1
        self.count, self.calls, self.batches, self.released = workers, [], [], set()

    def workers(self, reranker: str) -> int:
        return self.count

    def submit(self, reranker: str, batch: Sequence[QueryOrders]):
        self.calls.append(super().submit(reranker, batch))
        self.batches.append([(part.query, order) for part in batch for order in part.orders])
        return self.calls[-1]

    def wait(self, calls, timeout_s):
        return [call for call in calls if call in self.released]

    def release(self, *numbers: int) -> None:
        self.released |= {self.calls[n] for n in numbers}


def test_counts_of_a_search_and_of_one_that_asks_the_same():
    ask = [(0,), (1,)], [(0, 1), (0,)]  # four orders asked for, three of them different
    found = outcomes([job("a", "q", asking(*ask)), job("b", "q", asking(*ask))], local())
    assert (found["a"].scored, found["a"].cached) == (3, 1)
    assert (found["b"].scored, found["b"].cached) == (0, 4)
    assert found["a"].selection == found["b"].selection == alone(asking(*ask), "q", chunks(3))
    other = outcomes([job("c", "another query", asking(*ask))], local())
    assert other["c"].scored == 3


def test_an_order_asked_twice_at_once_is_scored_once():
    reranker = ToyReranker()
    found = outcomes([job("a", "q", asking([(0,), (0,), (1,)]))], local(reranker))
    assert reranker.seen == [("q", ("c0",)), ("q", ("c1",))]
    assert (found["a"].scored, found["a"].cached) == (2, 1)


def test_equal_texts_are_one_chunk_and_an_id_of_two_texts_is_two():
    reranker = ToyReranker()
    double = [chunks(1)[0], chunks(1)[0], replace(chunks(1)[0], id="other")]
    found = outcomes([job("a", "q", asking([(0,), (1,), (2,)]), chunks=double)], local(reranker))
    assert (found["a"].scored, found["a"].cached) == (1, 2)
    # Two indexes of one corpus may use the same ids: at once, for the same query.
    jobs = [job(mark, "q", asking([(1,)]), chunks=chunks(2, mark=mark)) for mark in "xy"]
    scored = outcomes(jobs, local(reranker))
    assert scored["x"].selection.reward == utility("q", ["text x1"])
    assert scored["y"].selection.reward == utility("q", ["text y1"])
    assert len(reranker.batches[-1]) == 2


def test_truncated_orders_are_counted_scored_or_cached():
    longest = (0, 1, 2, 3, 4, 5)  # 13 tokens, the window is 12
    jobs = [job(key, "q", asking([longest, (0,)], [longest]), 6) for key in "ab"]
    found = outcomes(jobs, local())
    assert [(o.scored, o.cached, o.truncated) for o in found.values()] == [(2, 1, 2), (0, 3, 2)]


@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 4), max_size=5), st.integers(0, 9), st.integers(0, 2)),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 7),
    st.integers(1, 9),
    st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_trees_are_those_of_searching_alone(shapes, concurrency, call_orders, wave):
    """(costs, budget, query) of each search; some queries come more than once."""
    how = TreeSettings(iterations=8, wave=wave)
    reranker = ToyReranker()

    def jobs():
        for key, (costs, budget, query) in enumerate(shapes):
            search = tree_search(costs, budget, how)
            yield job(key, f"q{query}", search, chunks=chunks(len(costs)))

    found = outcomes(jobs(), local(reranker, call_orders=call_orders), concurrency=concurrency)
    assert len(found) == len(shapes)
    for key, (costs, budget, query) in enumerate(shapes):
        expected = alone(tree_search(costs, budget, how), f"q{query}", chunks(len(costs)))
        got = found[key].selection
        assert (got.tree.slots == expected.tree.slots).all()
        assert (got.order, got.cost, got.reward) == (
            expected.order, expected.cost, expected.reward)  # fmt: skip
    assert max(Counter(reranker.seen).values(), default=1) == 1
    assert sum(o.scored for o in found.values()) == len(reranker.seen)
    assert all(sum(len(p.orders) for p in b) <= call_orders for b in reranker.batches)


def test_orders_of_several_queries_go_in_one_call():
    reranker = ToyReranker()
    jobs = [job(i, f"q{i}", asking([(0,), (1,)], [(1, 0)])) for i in range(4)]
    outcomes(jobs, local(reranker), concurrency=4)
    assert [[len(part.orders) for part in b] for b in reranker.batches] == [[2] * 4, [1] * 4]


def test_a_search_goes_on_while_others_wait():
    scoring = HeldScoring(workers=2, call_orders=1)
    driver = SearchDriver(scoring)
    driver.add(job("a", "qa", asking([(0,)], [(0, 1)])))
    driver.add(job("b", "qb", asking([(0,)])))
    assert driver.step() == []
    assert scoring.batches == [[("qa", ("c0",))], [("qb", ("c0",))]]
    scoring.release(0)
    assert driver.step() == []
    assert scoring.batches[2:] == [[("qa", ("c0", "c1"))]]
    scoring.release(2)
    assert [end.key for end in driver.step()] == ["a"]
    assert not driver.idle
    scoring.release(1)
    assert [end.key for end in driver.step()] == ["b"]
    assert driver.idle


def test_what_is_on_its_way_is_not_sent_again():
    scoring = HeldScoring()
    driver = SearchDriver(scoring)
    driver.add(job("a", "q", asking([(0,), (1,)])))
    driver.step()
    driver.add(job("b", "q", asking([(1,), (2,)])))  # while (0,) and (1,) are at the worker
    driver.step()
    scoring.release(0)
    ends = driver.step()
    scoring.release(1)
    ends += driver.step()
    assert scoring.batches == [[("q", ("c0",)), ("q", ("c1",))], [("q", ("c2",))]]
    assert [(end.key, end.scored, end.cached) for end in ends] == [("a", 2, 0), ("b", 1, 1)]
    assert (driver.totals.asked, driver.totals.scored, driver.totals.calls) == (4, 3, 2)


def test_while_the_workers_are_busy_the_line_grows_over_queries():
    scoring = HeldScoring(call_orders=4)
    driver = SearchDriver(scoring)
    for i in range(4):
        driver.add(job(i, f"q{i}", asking([(0,)] if i else [(0,), (1,)])))
        driver.step()
    assert [len(batch) for batch in scoring.batches] == [2]
    driver.add(job(4, "q4", asking([(0,), (1,)])))
    driver.step()  # five wait: a whole call is ready to start behind the first
    assert [len(batch) for batch in scoring.batches] == [2, 4]
    assert len({query for query, _ in scoring.batches[1]}) == 4
    assert driver.totals.mixed == 1


@pytest.mark.parametrize(
    ("waiting", "workers", "busy", "expected"),
    [
        (10, 1, 0, 10),
        (100, 1, 0, 64),
        (100, 2, 0, 50),  # an equal share for each free worker
        (10, 2, 0, 8),  # but not below the least
        (100, 2, 1, 64),
        (3, 2, 1, 3),
        (63, 2, 2, 0),  # all are busy: only a whole call goes ahead
        (64, 2, 2, 64),
        (640, 2, 4, 0),
    ],
)
def test_size_of_calls(waiting, workers, busy, expected):
    assert call_size(waiting, workers, busy, most=64, least=8) == expected


def raising(error: Exception) -> Search:
    yield [(0,)]
    raise error


def test_a_search_that_raises_costs_no_other():
    jobs = [
        job("bad", "q", raising(ValueError("odd"))),
        job("good", "q", asking([(0,)])),
        job("far", "q", asking([(0, 3)])),
        job("unknown", "q", asking([(0,)])),
        job("late", "q", asking([(2,)])),
    ]
    jobs[3] = replace(jobs[3], reranker="nobody")
    got = []
    with pytest.raises(SearchError, match=r"'\w+' \(and 2 others\) failed") as failed:
        got.extend(run_searches(jobs, local()))
    assert [o.key for o in got] == ["good", "late"]
    said = {f.key: str(f.error) for f in failed.value.failures}
    assert said == {
        "bad": "odd",
        "far": "the search asked for order (0, 3) of 3 chunks",
        "unknown": "no reranker 'nobody' here; there is: toy",
    }
    noted: list[SearchFailure] = []
    jobs = [job("bad", "q", raising(KeyError("x"))), job("good", "q", asking([(0,)]))]
    assert set(outcomes(jobs, local(), on_failure=noted.append)) == {"good"}
    assert [f.key for f in noted] == ["bad"]


class Choosy(ToyReranker):
    def __init__(self, bad: object) -> None:
        super().__init__()
        self.bad = bad

    def score(self, batch):
        scores = super().score(batch)
        for number, part in enumerate(batch):
            if part.query == "bad":
                if isinstance(self.bad, Exception):
                    raise self.bad
                scores[number] = self.bad
        return scores


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (RerankerError("no way"), "no way"),
        (KeyError("x"), "toy: KeyError: 'x'"),
        ((OrderScore(float("nan"), 1),), "utility of nan"),
        ((OrderScore(1.5, 1),), "utility of 1.5"),
        ((), "0 scores for 1 orders"),
    ],
)
def test_orders_that_cannot_be_scored_fail_their_searches_only(bad, said):
    jobs = [job(i, "bad" if i == 1 else f"q{i}", asking([(0,)], [(1,)])) for i in range(3)]
    noted: list[SearchFailure] = []
    cache = ScoreCache()
    found = outcomes(jobs, local(Choosy(bad), cache=cache), on_failure=noted.append)
    assert {key: o.selection for key, o in found.items()} == {
        i: alone(asking([(0,)], [(1,)]), f"q{i}", chunks(3)) for i in (0, 2)
    }
    assert [f.key for f in noted] == [1]
    assert said in str(noted[0].error)
    assert len(cache) == 4  # nothing of the failed query


class Broken(LocalScoring):
    def wait(self, calls, timeout_s):
        raise RuntimeError("no worker is left")


def test_an_infrastructure_failure_ends_the_run():
    searches = [asking([(0,)]) for _ in range(3)]
    run = run_searches(
        [job(i, "q", s) for i, s in enumerate(searches)], Broken({"toy": ToyReranker})
    )
    with pytest.raises(RuntimeError, match="no worker is left"):
        list(run)
    assert all(search.gi_frame is None for search in searches)


def test_searches_that_ask_for_nothing():
    reranker = ToyReranker()
    jobs = [
        job("none", "q", asking(), 0),
        job("empty", "q", asking([], []), 0),
        job("root", "q", asking([(), (0,)])),
        job("tree", "q", tree_search([], 10, TreeSettings()), 0),
    ]
    found = outcomes(jobs, local(reranker))
    assert reranker.seen == [("q", ("c0",))]
    assert found["tree"].selection.order == found["none"].selection.order == ()
    assert (found["root"].scored, found["root"].cached) == (1, 0)
    assert found["root"].selection.order == (0,)
    assert list(run_searches([], local())) == []


def test_jobs_are_drawn_when_there_is_room():
    drawn = []

    def jobs():
        for i in range(20):
            drawn.append(i)
            yield job(i, f"q{i}", asking([(0,)]))

    run = run_searches(jobs(), local(), concurrency=2)
    assert next(run).key == 0
    assert len(drawn) <= 4
    assert len(list(run)) == 19


def test_an_abandoned_run_closes_its_searches():
    searches = [asking([(0,)], [(1,)]) if i else asking([(0,)]) for i in range(4)]
    run = run_searches([job(i, f"q{i}", s) for i, s in enumerate(searches)], local())
    next(run)
    run.close()
    assert all(search.gi_frame is None for search in searches)


def test_a_kept_score_needs_no_reranker(tmp_path):
    def jobs():
        return [job(i, f"q{i}", tree_search([1] * 4, 3, TreeSettings()), 4) for i in range(3)]

    with ScoreCache(path=tmp_path / "scores.sqlite") as cache:
        first = outcomes(jobs(), local(cache=cache))
    with ScoreCache(path=tmp_path / "scores.sqlite") as cache:
        again = outcomes(jobs(), local(cache=cache))
        other = outcomes(jobs(), local(ToyReranker("toy-2"), cache=cache))
    for key, outcome in first.items():
        assert again[key].selection.order == outcome.selection.order
        assert (again[key].scored, again[key].cached) == (0, outcome.scored + outcome.cached)
        assert other[key].scored == outcome.scored  # another fingerprint shares nothing


def test_a_least_recently_used_score_is_asked_for_again():
    reranker = ToyReranker()
    scoring = local(reranker, cache=ScoreCache(max_entries=2))
    found = outcomes([job("a", "q", asking([(0,)], [(1,)], [(2,)], [(0,)]))], scoring)
    assert (found["a"].scored, found["a"].cached) == (4, 0)


def test_asking_like_a_function():
    reranker = ToyReranker()
    scorer = AskingScorer(local(reranker), "toy", "q", chunks(3))
    expected = [utility("q", ["text 0"]), utility("q", ["text 2", "text 1"])]
    assert scorer([(0,), (2, 1)]) == expected
    assert scorer([(2, 1)]) == expected[1:]
    assert scorer.scored == len(reranker.seen) == 2


def test_settings_that_make_no_sense():
    with pytest.raises(ValueError, match="below 1"):
        SearchDriver(local(), concurrency=0)
    assert Selection((), 0, 0.0).iterations == 0
