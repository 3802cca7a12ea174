"""Evaluation and commands, end to end on a small set with the simulated reasoner."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from configs.load import ConfigError, load_realm
from pipelines.progress import SilentReporter
from pipelines.realm.cli import realm_app
from pipelines.realm.deciders.registry import DeciderError
from pipelines.realm.evaluate import ROWS, checked_methods, evaluate
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


def test_matched_methods_come_last_whatever_the_order():
    given = load_realm(None, ["run.methods=[random-matched,policy,none]", "policy.path=x"])
    assert checked_methods(given) == ("policy", "none", "random-matched")
    with pytest.raises(DeciderError, match="matched to the method policy"):
        checked_methods(load_realm(None, ["run.methods=[random-matched]"]))
    with pytest.raises(ConfigError, match=r"policy\.path"):
        checked_methods(load_realm(None, ["run.methods=[policy]"]))
