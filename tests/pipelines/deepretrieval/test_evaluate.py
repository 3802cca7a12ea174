from dataclasses import dataclass, field
from datetime import date
from types import SimpleNamespace

import pytest

from actors.rollout.types import Completion, Sampling
from actors.search.types import InfraFailure, QueryError, SearchRequest, SearchResult
from configs.schema import RewriterConfig, RolloutConfig, SearchConfig
from pipelines.data.task import Task
from pipelines.deepretrieval.answer import Answer
from pipelines.deepretrieval.evaluate import (
    Evaluations,
    Row,
    baseline_rows,
    evaluate_policy,
    policy_row,
    pseudo_document_row,
    query_row,
)
from pipelines.deepretrieval.reward import Reward, Score
from pipelines.deepretrieval.rollout import Rollout

CONFIG = RewriterConfig(
    search=SearchConfig(k=7, order="relevance"), rollout=RolloutConfig(max_new_tokens=50)
)
FAILURE = Score("infra_failure", None, None)


def task(id, need="need", relevant="12", **other):
    return Task(id, need, frozenset(relevant), **other)


def rollout(id, seed, score):
    completion = Completion((1,), (-1.0,), "", "stop", 0)
    return Rollout(task(id), seed, (1,), completion, Answer("", "q"), None, score)


@dataclass
class Search:
    """Answers by query ("no such query" finds nothing) and knows how often each word occurs."""

    outcomes: dict
    frequencies: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)

    def submit(self, method, items):
        if method == "document_frequencies":
            value = [self.frequencies.get(word, 0) for word in items]
        else:
            self.requests += items
            value = [self.outcomes.get(r.query, SearchResult((), 0)) for r in items]
        return SimpleNamespace(result=lambda: value)


def app_with(outcomes, **other):
    collector = SimpleNamespace(reward=Reward())
    return SimpleNamespace(search=Search(outcomes), collector=collector, **other)


def test_a_models_row_by_hand():
    rollouts = [
        rollout("pico:a", 0, Score("ok", 6.0, 0.8)),
        rollout("pico:b", 0, Score("format_error", -4.0, 0.0)),
        rollout("pair:c", 0, FAILURE),
        rollout("pico:a", 1, Score("ok", 5.0, 0.5)),
        rollout("pico:b", 1, Score("query_error", -4.0, 0.0)),
        rollout("pair:c", 1, Score("ok", -2.5, 0.1)),
    ]
    # Seed 0: (.8 + 0) / 2 = .4, the failure left out; seed 1: (.5 + 0 + .1) / 3 = .2.
    # Recall is their mean, .3; spread sqrt((.1^2 + .1^2) / (2 - 1)) = .141421.
    row = policy_row("m", rollouts)
    assert (row.name, row.tasks, row.seeds, row.infra_failures) == ("m", 3, 2, 1)
    assert row.recall == pytest.approx(0.3)
    assert row.recall_spread == pytest.approx(0.141421, abs=1e-6)
    assert row.at_least_half == pytest.approx(2 / 5)
    assert row.format_errors == pytest.approx(2 / 5)
    assert row.reward == pytest.approx(0.1)  # (6 - 4 + 5 - 4 - 2.5) / 5
    assert row.by_kind == pytest.approx({"pair": 0.1, "pico": 0.325})  # (.8 + 0 + .5 + 0) / 4
    assert list(row.by_kind) == ["pair", "pico"]


def test_one_seed_has_no_spread():
    row = policy_row("m", [rollout("a", 0, Score("ok", 1.0, 0.5))])
    assert (row.recall, row.recall_spread, row.seeds, row.by_kind) == (0.5, 0.0, 1, {"": 0.5})


def test_failures_alone_make_no_row():
    with pytest.raises(RuntimeError, match="m: every search failed"):
        policy_row("m", [rollout("a", 0, FAILURE)])


def test_the_row_of_given_queries():
    tasks = [task("a", date_to=date(2001, 2, 3)), task("b"), task("c"), task("d")]
    app = app_with(
        {
            "good": SearchResult(("1", "2"), 9),
            "half": SearchResult(("1", "x"), 2),
            "": QueryError("nothing to search for", ""),
            "down": InfraFailure("outage"),
        }
    )
    row = query_row("by hand", app, CONFIG, tasks, ["good", "half", "", "down"])
    # Rewards 1 + 5, 1 + 4 (recall 1/2) and -4; the failure is left out.
    assert row == Row(
        "by hand",
        recall=0.5,  # (1 + .5 + 0) / 3
        recall_spread=0.0,
        at_least_half=pytest.approx(2 / 3),
        format_errors=pytest.approx(1 / 3),
        reward=pytest.approx(7 / 3),
        tasks=3,
        seeds=1,
        infra_failures=1,
        by_kind={"": 0.5},
    )
    assert app.search.requests == [
        SearchRequest("good", 7, date(2001, 2, 3), "relevance"),
        SearchRequest("half", 7, None, "relevance"),
        SearchRequest("", 7, None, "relevance"),
        SearchRequest("down", 7, None, "relevance"),
    ]
    with pytest.raises(ValueError, match="zip"):
        query_row("short", app, CONFIG, tasks, ["good"])


def test_every_baseline_has_a_row_and_humans_only_where_all_tasks_have_a_query():
    tasks = [task("a", "acute gout", human_query="gout[mh]"), task("b", "asthma")]
    app = app_with({"acute AND gout": SearchResult(("1", "2"), 2)})
    rows = {row.name: row for row in baseline_rows(app, CONFIG, tasks)}
    assert len(rows) == 5
    assert rows["all words ANDed"].recall == 0.5
    assert rows["bag of words (ORed)"].recall == 0.0
    rows = {row.name: row for row in baseline_rows(app_with({}), CONFIG, tasks[:1])}
    assert len(rows) == 6
    assert "human query" in rows


class Prompts:
    """Stands for prompter and tokenizer: a chat is its last message, a token is a character."""

    tokenizer = SimpleNamespace(
        apply_chat_template=lambda chat, tokenize, add_generation_prompt: chat[-1]["content"]
    )

    def encode(self, text):
        return tuple(map(ord, text))

    def ids(self, need, name):
        return self.encode(f"{name}: {need}")


def test_pseudo_documents_become_queries():
    tasks = [task("a", "gout"), task("b", "asthma")]
    seen = []

    def stream(method, requests, sampling, key):
        seen.append((method, sampling, len({r.seed for r in requests})))
        for request in reversed(requests):
            need = "".join(map(chr, request.prompt_ids)).rpartition(": ")[2]
            text = {"gout": "Urate and unknown", "asthma": "Wheeze, urate"}[need]
            yield key(request), Completion((1,), (-1.0,), text, "length", 0)

    app = app_with({}, rollout=SimpleNamespace(stream=stream))
    app.search.frequencies = {"urate": 10, "wheeze": 5, "and": 100}
    app.search.outcomes = {"asthma OR wheeze OR urate": SearchResult(("1", "2"), 2)}
    environment = SimpleNamespace(prompter=Prompts(), records=100)
    row = pseudo_document_row(app, environment, CONFIG, tasks, seed=3)
    assert [r.query for r in app.search.requests] == ["gout OR urate", "asthma OR wheeze OR urate"]
    assert (row.name, row.recall) == ("pseudo-document expansion", 0.5)
    assert seen == [("generate", Sampling(50, 1.0), 2)]  # 96 tokens, or what the engine allows


@pytest.mark.parametrize("temperature", [None, 0.0])
def test_a_policy_is_asked_for_every_seed_of_every_task_in_batches(temperature):
    tasks = [task(str(n)) for n in range(70)]
    seen, told = [], []

    def collect(asked, sampling):
        seen.append((len(asked), sampling))
        return [(ask.task.id, ask.index, ask.request.seed) for ask in asked]

    app = SimpleNamespace(collector=SimpleNamespace(sampling=Sampling(9, 0.7), collect=collect))
    environment = SimpleNamespace(prompter=Prompts())

    def run(of):
        return evaluate_policy(
            app, environment, of, seeds=2, seed=5, temperature=temperature, progress=told.append
        )

    got = run(tasks)
    sampling = Sampling(9, 0.7 if temperature is None else temperature)
    assert seen == [(128, sampling), (12, sampling)]
    assert told == [64, 70]
    assert [(id, index) for id, index, _ in got] == [(str(n), i) for n in range(70) for i in (0, 1)]
    assert run(tasks[60:]) == got[120:]  # the draws do not depend on the batch


def test_evaluations_are_read_back(tmp_path):
    path = tmp_path / "evaluations.json"
    kept = Evaluations(path)
    assert kept.rows == {}
    one = Row("one", 0.5, 0.1, 0.25, 0.0, -1.5, tasks=4, seeds=3, by_kind={"a": 0.5, "": 0.25})
    two = Row("two", 0.1, 0.0, 0.0, 1.0, -4.0, tasks=4, seeds=1, infra_failures=2)
    better = Row("one", 0.9, 0.0, 1.0, 0.0, 6.0, tasks=4, seeds=1)
    kept.put(one)
    kept.put(two)
    assert Evaluations(path).rows == {"one": one, "two": two}
    kept.put(better)
    assert Evaluations(path).rows == {"one": better, "two": two}
    assert [p.name for p in tmp_path.iterdir()] == ["evaluations.json"]


def test_rewinding_drops_the_rows_of_later_steps(tmp_path):
    kept = Evaluations(tmp_path / "evaluations.json")
    for name, step in (("untrained", 0), ("warmed-up", 40), ("trained", 90)):
        kept.put(Row(name, 0.5, 0.0, 0.5, 0.0, 1.0, tasks=4, seeds=1, step=step))
    kept.rewind(40)
    assert list(Evaluations(tmp_path / "evaluations.json").rows) == ["untrained", "warmed-up"]
    kept.rewind(-1)
    assert kept.rows == {}
