import json
from itertools import product

import pytest

from actors.learner.types import Sample
from actors.rollout.types import Completion, GenerationRequest
from actors.search.types import InfraFailure, QueryError, SearchResult
from pipelines.data.task import Task
from pipelines.deepretrieval.answer import Answer, FormatError
from pipelines.deepretrieval.reward import Score
from pipelines.deepretrieval.rollout import Ask, Rollout, asks, sample_row, summary
from pipelines.seeds import seed_of


def task(id):
    return Task(id, "need", frozenset({"1"}))


def rollout(answer, outcome, score, *, tokens=2, finish="stop"):
    completion = Completion((7,) * tokens, (-0.5,) * tokens, "text \ud800", finish, 3)
    return Rollout(task("a"), 1, (1, 2), completion, answer, outcome, score)


GOOD = rollout(
    Answer("one two", "x OR y"), SearchResult(("1",), 10), Score("ok", 4.0, 0.45), tokens=4
)
WRONG = rollout(
    Answer("a b c d", "z"), SearchResult((), 30), Score("ok", -2.5, 0.04), finish="length"
)
MALFORMED = rollout(
    FormatError("no </think>"), None, Score("format_error", -4.0, 0.0), tokens=6, finish="length"
)
UNPARSED = rollout(
    Answer("e", "()"), QueryError("nothing", "()"), Score("query_error", -4.0, 0.0), tokens=4
)
FAILED = rollout(
    Answer("f", "x"), InfraFailure("outage"), Score("infra_failure", None, None), tokens=90
)


def test_asks_of_a_task_stand_side_by_side():
    got = asks([task("a"), task("b")], [(1,), (2, 3)], 2, seed=5, purpose="step 1")
    assert got == [
        Ask(task(id), index, GenerationRequest(key, prompt, seed_of(5, "step 1", id, index)))
        for id, index, key, prompt in [
            ("a", 0, "a/0", (1,)),
            ("a", 1, "a/1", (1,)),
            ("b", 0, "b/0", (2, 3)),
            ("b", 1, "b/1", (2, 3)),
        ]
    ]


def test_a_seed_depends_on_seed_purpose_task_and_sample_and_on_nothing_else():
    def seeds(seed, purpose, ids):
        got = asks([task(i) for i in ids], [(9,)] * len(ids), 3, seed=seed, purpose=purpose)
        return {(ask.task.id, ask.index): ask.request.seed for ask in got}

    assert seeds(0, "step 1", "ab") == seeds(0, "step 1", "ba")  # not on the position
    runs = [seeds(s, p, "ab") for s, p in product((0, 1), ("step 1", "step 2", "evaluation"))]
    every = [seed for run in runs for seed in run.values()]
    assert len(set(every)) == len(every) == 36


def test_seeds_have_31_bits_and_their_parts_do_not_run_together():
    assert all(0 <= seed_of(n) < 2**31 for n in range(200))
    assert max(seed_of(n) for n in range(200)) > 2**30
    assert seed_of("a", "bc") != seed_of("ab", "c")
    assert seed_of(1, 0) != seed_of(10)


def test_two_tasks_need_two_prompts():
    with pytest.raises(ValueError, match="zip"):
        asks([task("a"), task("b")], [(1,)], 1, seed=0, purpose="x")


def test_keys_are_distinct_even_for_a_task_that_comes_twice():
    got = asks([task("a"), task("a")], [(1,), (1,)], 2, seed=0, purpose="x")
    assert len({ask.request.key for ask in got}) == 4


def test_summary_by_hand():
    # Four are scored; the infrastructure failure is in no mean.
    got = summary([GOOD, FAILED, WRONG, MALFORMED, UNPARSED])
    assert got == pytest.approx(
        {
            "infra/failures": 1,
            "reward/mean": -1.625,  # (4 - 2.5 - 4 - 4) / 4
            "reward/wrong_share": 0.25,  # right in format, recall under 1/20: one of four
            "reward/format_error_share": 0.5,  # malformed, and not to be parsed
            "reward/query_error_share": 0.25,
            "recall/mean": 0.1225,  # (.45 + .04 + 0 + 0) / 4
            "recall/at_least_0.7": 0,
            "recall/at_least_0.5": 0,
            "recall/at_least_0.4": 0.25,
            "recall/at_least_0.3": 0.25,
            "recall/at_least_0.1": 0.25,
            "recall/at_least_0.05": 0.25,
            "length/response": 4,  # (4 + 2 + 6 + 4) / 4
            "length/truncated_share": 0.5,
            "search/hits": 20,  # (10 + 30) / 2
            "length/thinking": 3,  # (2 + 4) / 2 words
        }
    )


def test_summary_of_infrastructure_failures_alone_has_no_means():
    assert summary([FAILED, FAILED]) == {"infra/failures": 2.0}
    assert summary([]) == {"infra/failures": 0.0}


def test_summary_without_one_well_formed_completion():
    got = summary([MALFORMED])
    assert (got["search/hits"], got["length/thinking"]) == (0, 0)
    assert (got["reward/wrong_share"], got["reward/format_error_share"]) == (0, 1)


@pytest.mark.parametrize("one", [GOOD, WRONG, MALFORMED, UNPARSED])
def test_the_sample_for_the_learner(one):
    n = len(one.completion.token_ids)
    assert one.sample() == Sample("a", (1, 2), (7,) * n, (-0.5,) * n, one.score.reward, 3)


def test_an_infrastructure_failure_is_never_a_sample():
    with pytest.raises(ValueError, match="never learned from"):
        FAILED.sample()


@pytest.mark.parametrize(
    ("one", "hits", "query", "fault"),
    [
        (GOOD, 10, "x OR y", ""),
        (WRONG, 30, "z", ""),
        (MALFORMED, None, "", "no </think>"),
        (UNPARSED, None, "()", "nothing"),
        (FAILED, None, "x", "outage"),
    ],
)
def test_sample_rows_survive_json(one, hits, query, fault):
    row = json.loads(json.dumps(sample_row(one)))
    assert row == {
        "task": "a",
        "sample": 1,
        "status": one.status,
        "reward": one.score.reward,
        "recall": one.score.recall,
        "hits": hits,
        "query": query,
        "completion": "text \ud800",
        "fault": fault,
        "policy_version": 3,
    }


def test_a_task_that_comes_again_draws_other_samples():
    got = asks([task("a"), task("b"), task("a")], [(1,), (2,), (1,)], 2, seed=5, purpose="p")
    assert [a.request.key for a in got] == ["a/0", "a/1", "b/0", "b/1", "a/2", "a/3"]
    assert len({a.request.seed for a in got}) == 6
