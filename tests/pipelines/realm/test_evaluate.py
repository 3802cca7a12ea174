"""Evaluation and commands, end to end on a small set with the simulated reasoner."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from configs.load import ConfigError, load_realm
from pipelines.progress import SilentReporter
from pipelines.realm.cli import realm_app
from pipelines.realm.deciders.registry import DeciderError
from pipelines.realm.evaluate import ROWS, checked_methods, evaluate
from pipelines.realm.fingerprints import fingerprint, folder_hash
from pipelines.realm.policy.checkpoint import PolicyError
from pipelines.realm.pooling import pool_runs
from pipelines.realm.setup import hop_set_of, index_of
from pipelines.row_file import ResultsError
from tests.pipelines.realm.pools import rows, write

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("realm")
    write(made / "set.jsonl", rows())
    return made


def config(folder: Path, tiny_model: Path, run: str, *more: str) -> Any:
    return load_realm(
        "ci/realm-tiny",
        [
            f"data.questions={folder / 'set.jsonl'}",
            "data.split=all",
            f"evidence.tokenizer={tiny_model}",
            f"run_dir={folder / run}",
            "simulation.knows=0",
            "simulation.reads=1",
            "simulation.misplaced=0",
            "simulation.stubborn=0",
            *more,
        ],
    )


def options(folder: Path, tiny_model: Path, run: str) -> list[str]:
    return [
        *("-c", "ci/realm-tiny", "--questions", str(folder / "set.jsonl")),
        *("data.split=all", f"evidence.tokenizer={tiny_model}", f"run_dir={folder / run}"),
    ]


def test_who_knows_nothing_needs_retrieval_and_finds_it(folder, tiny_model):
    done = evaluate(
        config(folder, tiny_model, "a", "run.methods=[none,'fixed:k=1']"), SilentReporter()
    )
    none, every = done.summaries
    assert (none.method, none.questions, none.means["calls"], none.means["f1"]) == ("none", 4, 0, 0)
    assert none.kept_share is None
    assert every.means["f1"] == 1.0  # whole passages of both hops are in a pool of nine
    assert every.means["calls"] >= 1
    assert every.kept_share == 1.0
    assert every.against["f1"].mean == 1.0
    report = (done.folder / "report.md").read_text()
    assert "simulated (not a language model)" in report
    assert (done.folder / "f1_calls.png").stat().st_size > 1000
    told = json.loads((done.folder / "summary.json").read_text())
    assert told["about"]["seconds"] == "by a cost model"


def test_what_is_known_is_not_done_again_and_another_setup_is(folder, tiny_model):
    wanted = config(folder, tiny_model, "b", "run.methods=[none]")
    evaluate(wanted, SilentReporter())
    file = folder / "b" / ROWS
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:3]) + '\n{"question": "q')  # stopped in the midst of a row
    evaluate(wanted, SilentReporter())
    again = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
    assert [row["question"] for row in again][:3] == [json.loads(x)["question"] for x in lines[:3]]
    assert len(again) == 4
    evaluate(config(folder, tiny_model, "b", "run.methods=[none]", "data.k=2"), SilentReporter())
    setups = {json.loads(x)["setup"] for x in file.read_text().splitlines() if x.endswith("}")}
    assert len(setups) == 2


def test_the_policy_is_trained_and_compared_at_equal_calls(folder, tiny_model):
    shown = runner.invoke(
        realm_app,
        [
            "train-policy",
            *options(folder, tiny_model, "c"),
            *("policy.updates=2", "policy.batch=4", "policy.evaluate_every=1"),
            "policy.integrations=[whole]",
        ],
    )
    assert shown.exit_code == 0, shown.output
    assert (folder / "c" / "policy" / "training.png").stat().st_size > 1000
    policy = folder / "c" / "policy" / "model"
    shown = runner.invoke(
        realm_app,
        [
            "evaluate",
            *options(folder, tiny_model, "c"),
            *("--baselines", "random-matched,threshold-matched,policy", "--json"),
            f"policy.path={policy}",
        ],
    )
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout.splitlines()[-1])
    assert list(told) == ["policy", "random-matched", "threshold-matched"]
    assert set(told["policy"]) == {"em", "f1", "calls", "seconds", "tokens", "recall_at_5"}


def test_one_question_with_its_trace(folder, tiny_model):
    index = folder / "asked"
    shown = runner.invoke(realm_app, ["index", str(folder / "set.jsonl"), "--out", str(index)])
    assert shown.exit_code == 0, shown.output
    assert "9 passages of 4 questions" in shown.output
    trace = folder / "trace.html"
    shown = runner.invoke(
        realm_app,
        [
            *("ask", "Where was the director of Silver Tide born?", "--index", str(index)),
            *("--reasoner", "simulated", "--method", "fixed:k=1", "--trace", str(trace), "--json"),
            *options(folder, tiny_model, "d")[:2],
            *options(folder, tiny_model, "d")[4:],
            f"data.questions={folder / 'set.jsonl'}",
            *("simulation.knows=0", "simulation.reads=1", "simulation.misplaced=0"),
        ],
    )
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout.splitlines()[-1])
    assert told["answer"] == "Arlen"
    assert told["calls"] >= 1
    assert set(told["steps"][0]) == {
        *("text", "rsus", "u_verb", "u_ent", "u_cons", "action", "query", "evidence_ids"),
        "seconds",
    }
    assert "<html" in trace.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", "Why?"], "data.index: a value is needed"),
        (["ask", " ", "--index", "x"], "QUESTION: it has no text"),
        (["ask", "Why?", "--index", "nowhere"], "nowhere"),
        (["ask", "Why?", "--index", "x", "--trace", "t.txt"], "has to end in .json or .html"),
        (["ask", "Why?", "--index", "x", "-r", "simulated"], "can only work on the questions"),
        (["evaluate"], "data.questions: a value is needed"),
        (["evaluate", "-q", "nowhere.jsonl"], "nowhere.jsonl"),
        (["evaluate", "-q", "x", "-b", "best"], "there is no decider 'best'"),
        (["evaluate", "-q", "x", "-b", "policy"], "policy.path: a value is needed"),
        (["evaluate", "-q", "x", "-b", "random-matched"], "matched to the method policy"),
        (["train-policy"], "data.questions: a value is needed"),
        (["train-proxy", "--out", "x"], "give one of --questions, --traces and --pairs"),
        (["train-segmenter", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_input_is_one_message(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = runner.invoke(realm_app, [*arguments, *_tiny(arguments)])
    assert shown.exit_code == 2, shown.output
    assert said in " ".join(shown.output.split())
    assert "Traceback" not in shown.output


def _tiny(arguments: list[str]) -> list[str]:
    return [] if arguments[0] == "train-segmenter" else ["evidence.relevance=lexical"]


def test_what_cannot_work_is_said_before_anything_runs():
    with pytest.raises(DeciderError, match="matched to the method policy"):
        checked_methods(load_realm(None, ["run.methods=[random-matched]"]))
    with pytest.raises(ConfigError, match=r"policy\.path"):
        checked_methods(load_realm(None, ["run.methods=[policy]"]))
    with pytest.raises(PolicyError):
        checked_methods(load_realm(None, ["run.methods=[policy]", "policy.path=nowhere"]))
    server = ["reasoner.engine=completions", "reasoner.url=http://127.0.0.1:1/v1"]
    assert not {"flare", "dragin"} & set(checked_methods(load_realm(None, server)))
    with pytest.raises(ConfigError, match="does not give"):
        checked_methods(load_realm(None, [*server, "run.methods=[flare]"]))


def test_rows_that_an_outage_spoilt_are_done_again(folder, tiny_model):
    wanted = config(folder, tiny_model, "e", "run.methods=[none]")
    evaluate(wanted, SilentReporter())
    file = folder / "e" / ROWS
    spoilt = [json.loads(line) | {"sound": False} for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in spoilt))
    (again,) = evaluate(wanted, SilentReporter()).summaries
    assert (again.questions, again.left_out) == (4, 0)


def test_another_answer_or_policy_is_another_setup(folder, tiny_model, tmp_path):
    given = config(folder, tiny_model, "f")
    hop_set = hop_set_of(given)
    index = index_of(given, hop_set, folder / "f", SilentReporter())
    before = fingerprint(given, hop_set, index)
    first = replace(hop_set.questions[0], answers=("Somewhere else",))
    other = replace(hop_set, questions=(first, *hop_set.questions[1:]))
    assert fingerprint(given, other, index) != before
    assert fingerprint(given, hop_set, index) == before
    (tmp_path / "model").mkdir()
    empty = folder_hash(tmp_path)
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"1")
    one = folder_hash(tmp_path)
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"2")
    assert len({empty, one, folder_hash(tmp_path)}) == 3


def test_pooling_counts_each_question_of_each_run_once(folder, tiny_model):
    for seed in (1, 2):
        for split in ("all", "train"):  # the last is what counts
            more = (f"run.seed={seed}", f"data.split={split}")
            run = config(folder, tiny_model, f"g{seed}", "run.methods=[none]", *more)
            evaluate(run, SilentReporter())
    (pooled,) = pool_runs([folder / "g1", folder / "g2"], folder / "pooled")
    assert pooled.questions == 4  # two train questions a run
    with pytest.raises(ResultsError, match="given twice"):
        pool_runs([folder / "g1", folder / "g1"], folder / "pooled")
