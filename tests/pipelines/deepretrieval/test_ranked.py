import math

import pytest

from actors.search.types import InfraFailure, QueryError, SearchResult
from configs.schema import RewriterConfig, SearchConfig
from pipelines.data.task import Task
from pipelines.deepretrieval.evaluate import baseline_rows
from pipelines.deepretrieval.failures import EvaluationError
from pipelines.deepretrieval.ranked import Entry, ndcg, write_runs
from pipelines.deepretrieval.report import as_markdown
from pipelines.deepretrieval.reward import Score
from pipelines.ir.runs import read_run
from tests.pipelines.deepretrieval.test_evaluate import app_with

A = Task("a", "need", frozenset({"1", "2"}))
B = Task("b", "need", frozenset({"9"}))
OK = Score("ok", 1.0, 1.0)


def entry(task, seed, ids, scores=()):
    return Entry(task, seed, OK, SearchResult(tuple(ids), len(ids), scores=tuple(scores)))


def test_ndcg_by_hand_over_tasks_and_seeds():
    entries = [
        entry(A, 0, ["1", "5", "2"], [3, 2, 1]),
        entry(B, 0, ["9"], [1]),
        entry(A, 1, ["5"]),
        Entry(B, 1, OK, QueryError("no", "q")),
    ]
    # Seed 0: task a has (1 + 1 / log2(4)) / (1 + 1 / log2(3)), task b 1; seed 1: nothing at all.
    first = (1.5 / (1 + 1 / math.log2(3)) + 1) / 2
    assert ndcg(entries) == pytest.approx((first + 0) / 2)


def test_run_files_hold_every_seed_and_rank_by_place_without_scores(tmp_path):
    entries = [entry(A, 0, ["5", "1"]), entry(B, 0, []), entry(A, 1, ["7"], [0.5])]
    paths = write_runs(tmp_path, "any P word / I", entries)
    assert [path.name for path in paths] == ["any-P-word-I.0.run", "any-P-word-I.1.run"]
    assert read_run(paths[0]) == {"a": [("5", 1.0), ("1", 0.5)]}
    assert read_run(paths[1]) == {"a": [("7", 0.5)]}


def test_only_engines_that_rank_have_the_column():
    outcomes = {"need": SearchResult(("9",), 1, scores=(1.0,))}
    boolean = RewriterConfig()
    dense = RewriterConfig(search=SearchConfig(engine="dense"))
    rows = {row.name: row for row in baseline_rows(app_with(outcomes), dense, [B])}
    assert rows["original question"].ndcg == 1.0
    assert "nDCG@10" in as_markdown(rows, 5)
    rows = {row.name: row for row in baseline_rows(app_with(outcomes), boolean, [B])}
    assert rows["original question"].ndcg is None
    assert "nDCG@10" not in as_markdown(rows, 5)


def test_a_failed_search_is_never_written_as_no_hits(tmp_path):
    entries = [
        entry(A, 0, ["1"]),
        Entry(B, 0, Score("infra_failure", None, None), InfraFailure("")),
    ]
    with pytest.raises(EvaluationError, match="m: 1 searches failed"):
        write_runs(tmp_path, "m", entries)
    assert list(tmp_path.iterdir()) == []
