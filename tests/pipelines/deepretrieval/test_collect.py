from dataclasses import dataclass, field
from datetime import date

import pytest

from actors.rollout.types import Completion, Sampling
from actors.search.types import InfraFailure, QueryError, SearchRequest, SearchResult
from pipelines.data.task import Task
from pipelines.deepretrieval.answer import Answer, FormatError
from pipelines.deepretrieval.collect import SEARCH_BATCH, Collector
from pipelines.deepretrieval.reward import Reward, Score
from pipelines.deepretrieval.rollout import asks

SAMPLING = Sampling(20)


def written(query):
    return f'plan</think><answer>{{"query": "{query}"}}</answer>'


@dataclass
class Rollouts:
    """Streams `texts` by task id in the order of `order` (default: last asked first)."""

    texts: dict
    log: list
    order: list | None = None
    calls: list = field(default_factory=list)

    def stream(self, method, items, *args, key):
        self.calls.append((method, args))
        by_key = {key(item): item for item in items}
        for name in self.order or reversed(by_key):
            item = by_key[name]
            text = self.texts[item.prompt_ids[0]]
            yield name, Completion((len(text),), (-1.0,), text, "stop", 4)
        self.log.append("stream ended")


@dataclass
class Searches:
    """Answers from `outcomes` by query; notes when it was asked and when it was waited for."""

    outcomes: dict
    log: list
    requests: list = field(default_factory=list)

    def submit(self, method, requests):
        assert method == "search"
        self.log.append(f"submit {len(requests)}")
        self.requests.append(list(requests))
        return Call(self, [self.outcomes[r.query] for r in requests])


@dataclass
class Call:
    fleet: Searches
    value: list

    def result(self):
        self.fleet.log.append("wait")
        return self.value


def tasks_of(count):
    return [
        Task(f"t{n}", "need", frozenset({f"r{n}"}), date(2000 + n, 1, 2) if n % 2 else None)
        for n in range(count)
    ]


def collecting(texts, outcomes, **options):
    log = []
    rollouts = Rollouts(texts, log, options.pop("stream_order", None))
    given = {"k": 50, "order": "recent", "open_think": True} | options
    collector = Collector(
        rollouts, Searches(outcomes, log), SAMPLING, given.pop("reward", Reward()), **given
    )
    return collector, log


def asked_for(count, samples=1):
    return asks(tasks_of(count), [(n,) for n in range(count)], samples, seed=0, purpose="p")


def test_rollouts_come_in_the_order_they_were_asked_for():
    # Each task n asks for q<n>, which finds its one relevant record r<n>: 5 + 1.
    texts = {n: written(f"q{n}") for n in range(5)}
    outcomes = {f"q{n}": SearchResult((f"r{n}",), 1) for n in range(5)}
    collector, _ = collecting(texts, outcomes)
    got = collector.collect(asked_for(5, samples=2))
    pairs = [(f"t{n}", i) for n in range(5) for i in (0, 1)]
    assert [(r.task.id, r.index) for r in got] == pairs
    for one in got:
        number = int(one.task.id[1:])
        assert one.answer == Answer("plan", f"q{number}")
        assert one.prompt_ids == (number,)
        assert one.outcome == outcomes[f"q{number}"]
        assert one.score == Score("ok", 6.0, 1.0)
        assert one.completion.text == texts[number]


def test_searches_run_while_completions_still_come():
    count = 2 * SEARCH_BATCH + 3
    texts = {n: written("q") for n in range(count)}
    collector, log = collecting(texts, {"q": SearchResult((), 0)})
    collector.collect(asked_for(count))
    batch = f"submit {SEARCH_BATCH}"
    assert log == [batch, batch, "stream ended", "submit 3", "wait", "wait", "wait"]


def test_a_full_last_batch_leaves_nothing_to_submit():
    texts = {n: written("q") for n in range(SEARCH_BATCH)}
    collector, log = collecting(texts, {"q": SearchResult((), 0)})
    collector.collect(asked_for(SEARCH_BATCH))
    assert log == [f"submit {SEARCH_BATCH}", "stream ended", "wait"]


def test_only_well_formed_completions_are_searched():
    texts = {0: written("q0"), 1: "no tags", 2: written(" "), 3: written("q3")}
    outcomes = {"q0": SearchResult(("r0",), 1), "q3": QueryError("bad", "q3")}
    collector, _ = collecting(texts, outcomes)
    got = collector.collect(asked_for(4))
    assert sorted(r.query for batch in collector.search_fleet.requests for r in batch) == [
        "q0",
        "q3",
    ]
    assert [r.status for r in got] == ["ok", "format_error", "format_error", "query_error"]
    assert [r.score.reward for r in got] == [6.0, -4.0, -4.0, -4.0]
    assert [r.outcome for r in got] == [outcomes["q0"], None, None, outcomes["q3"]]
    assert isinstance(got[1].answer, FormatError)


def test_nothing_well_formed_means_no_search():
    collector, log = collecting({0: "", 1: ""}, {})
    assert [r.status for r in collector.collect(asked_for(2))] == ["format_error"] * 2
    assert log == ["stream ended"]
    assert collector.collect([]) == []


def test_infrastructure_failures_pass_through_unscored():
    outcomes = {"q0": InfraFailure("outage"), "q1": SearchResult((), 0)}
    collector, _ = collecting({0: written("q0"), 1: written("q1")}, outcomes)
    failed, fine = collector.collect(asked_for(2))
    assert failed.outcome == InfraFailure("outage")
    assert failed.score == Score("infra_failure", None, None)
    assert fine.score == Score("ok", -2.5, 0.0)


def test_k_date_and_order_reach_the_engine():
    outcomes = {"q": SearchResult((), 0)}
    order = ["t1/0", "t0/0"]
    collector, _ = collecting(
        dict.fromkeys((0, 1), written("q")), outcomes, k=7, order="relevance", stream_order=order
    )
    collector.collect(asked_for(2))
    assert collector.search_fleet.requests == [
        [
            SearchRequest("q", 7, date(2001, 1, 2), "relevance"),
            SearchRequest("q", 7, None, "relevance"),
        ]
    ]


def test_its_own_sampling_is_used_unless_another_is_given():
    collector, _ = collecting({0: written("q")}, {"q": SearchResult((), 0)})
    collector.collect(asked_for(1))
    collector.collect(asked_for(1), Sampling(20, temperature=0.0))
    assert collector.rollout_fleet.calls == [
        ("generate", (SAMPLING,)),
        ("generate", (Sampling(20, temperature=0.0),)),
    ]


def test_the_configured_reward_and_opening_tag_are_used():
    reward = Reward("ndcg", format_right=0.1, format_wrong=-2.0)
    texts = {0: "<think>" + written("q"), 1: written("q")}
    found = {"q": SearchResult(("r0",), 1)}
    collector, _ = collecting(texts, found, reward=reward, open_think=False)
    right, wrong = collector.collect(asked_for(2))
    assert right.score.reward == pytest.approx(1.2)  # .1 + (.1 + NDCG of 1)
    assert wrong.score.reward == -2.0


def test_timings_are_of_the_last_call():
    collector, _ = collecting({0: written("q")}, {"q": SearchResult((), 0)})
    assert collector.timings == {}
    collector.collect(asked_for(1))
    assert set(collector.timings) == {"time/generate", "time/search_wait", "time/score"}
    assert all(seconds >= 0 for seconds in collector.timings.values())
