"""The commands as a person meets them, with a tiny language model, a tiny embedder and BM25."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipelines.corag.cli import corag_app
from pipelines.corag.results import Results
from tests.tiny_embedder import write_embedder
from tests.tiny_qa import write_qa

ROOT = Path(__file__).parents[3]
runner = CliRunner()
QUESTION = "Which drug helped in gout?"


@pytest.fixture(autouse=True)
def wide_terminal_and_own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("corag")
    return {
        "qa": write_qa(folder / "qa"),
        "model": tiny_model,
        "embedder": write_embedder(folder / "embedder"),
        "folder": folder,
    }


@pytest.fixture(scope="module")
def built(things: dict[str, Path]) -> Path:
    out = things["folder"] / "index"
    shown = run("index", "--from", str(things["qa"]), "--out", str(out), *tiny(things))
    assert shown.exit_code == 0, shown.output
    return out


def run(*arguments: str) -> Any:
    return runner.invoke(corag_app, list(arguments))


def tiny(things: dict[str, Path]) -> list[str]:
    return [
        *("--config", "ci/corag-tiny"),
        f"model.path={things['model']}",
        f"embedder.model={things['embedder']}",
    ]


def answer(things: dict[str, Path], built: Path, *more: str) -> Any:
    return run("answer", QUESTION, *tiny(things), "--index", str(built), *more)


def test_help_teaches_by_example() -> None:
    for command in ("index", "answer", "evaluate", "label", "train-agent", "train-reranker"):
        shown = run(command, "--help")
        assert shown.exit_code == 0
        assert f"seekray corag {command} " in shown.output


def test_json_has_exactly_its_keys_and_keeps_the_budget(
    things: dict[str, Path], built: Path
) -> None:
    shown = answer(things, built, "--json", "--budget", "40")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert list(found) == [
        *("answer", "chunks", "cost", "budget", "reward", "iterations", "sequences_scored"),
        "seconds",
    ]
    assert all(list(chunk) == ["id", "tokens"] for chunk in found["chunks"])
    assert found["chunks"]
    assert found["cost"] == sum(chunk["tokens"] for chunk in found["chunks"]) <= 40
    assert found["budget"] == 40
    assert found["iterations"] == 4
    assert found["sequences_scored"] >= 6


def test_explained_as_text_and_drawn(things: dict[str, Path], built: Path, tmp_path: Path) -> None:
    shown = answer(things, built, "--explain")
    assert shown.exit_code == 0, shown.output
    assert "nodes, 4 iterations" in shown.output
    assert "cost " in shown.output
    assert "utility " in shown.output
    for name, start in (("tree.svg", b"<?xml"), ("tree.png", b"\x89PNG")):
        drawn = answer(things, built, "--explain", str(tmp_path / name), "--json")
        assert drawn.exit_code == 0, drawn.output
        assert (tmp_path / name).read_bytes().startswith(start)
        json.loads(drawn.stdout)


@pytest.mark.parametrize("method", ["naive", "raptor", "upper", "greedy", "mmr", "document-order"])
def test_every_method_answers(things: dict[str, Path], built: Path, method: str) -> None:
    shown = answer(things, built, "--method", method, "--json", "--budget", "40")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["cost"] <= 40


def test_a_budget_that_no_chunk_fits_gives_an_answer_from_none(
    things: dict[str, Path], built: Path
) -> None:
    shown = answer(things, built, "--json", "--budget", "1")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert (found["chunks"], found["cost"], found["reward"]) == ([], 0, 0.0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--method", "best"], "no method 'best'; there is: corag, "),
        (["--reranker", "nope"], "no reranker 'nope'; there are minilm, "),
        (["--method", "naive", "--explain"], "naive has no tree"),
        (["--explain", "nowhere/tree.svg"], "there is no folder nowhere"),
        (["--method", "corag-agent"], "there is no agent; train one"),
        (["--agent", "nowhere"], "nowhere is no agent"),
        (["tree.c=-1"], "tree.c: -1.0 is below 0"),
        (["tree.sea=1"], "tree.sea: Key 'sea' not in 'TreeConfig'"),
        (["--index", "nowhere"], "is no chunk index"),
    ],
)
def test_bad_input_gives_one_clear_error(
    things: dict[str, Path], built: Path, more: list[str], said: str
) -> None:
    shown = answer(things, built, *more)
    assert shown.exit_code == 2
    assert said in shown.output
    assert "Traceback" not in shown.output


def test_questions_and_indexes_that_are_not_given_or_empty(
    things: dict[str, Path], built: Path
) -> None:
    no_index = run("answer", QUESTION, *tiny(things))
    assert no_index.exit_code == 2
    assert "name an index" in no_index.output
    empty = run("answer", "  ", *tiny(things), "--index", str(built))
    assert empty.exit_code == 2
    assert "the question is empty" in empty.output
    no_set = run("evaluate", *tiny(things))
    assert no_set.exit_code == 2
    assert "data.questions: a value is needed" in no_set.output


def test_evaluation_is_complete_reported_and_not_done_twice(
    things: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    arguments = [*tiny(things), f"data.questions={things['qa']}", f"run_dir={folder}"]
    shown = run("evaluate", *arguments)
    assert shown.exit_code == 0, shown.output
    lines = (folder / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    # 2 test questions x 7 methods x 2 budgets
    assert len({(r["question"], r["method"], r["budget"]) for r in rows}) == len(rows) == 28
    assert all(row["cost"] <= row["budget"] for row in rows)
    assert all(row["sequences"] >= row["scored"] for row in rows)
    assert {row["question"] for row in rows} == {"q-gout", "q-asthma"}
    report = json.loads((folder / "report.json").read_text())
    assert len(report["rows"]) == 14
    assert sum(row["over_budget"] for row in report["rows"]) == 0
    corag = next(row for row in report["rows"] if row["method"] == "corag")
    assert set(corag["against"]) == {"rouge_1", "rouge_2", "rouge_l", "reward"}
    assert (folder / "plots" / "comparison.png").is_file()
    assert "| corag |" in (folder / "report.md").read_text()

    # Half of the rows are lost, and half a line stands at the end: only what is missing is done.
    kept = lines[:10]
    (folder / "results.jsonl").write_text("\n".join(kept) + "\n" + lines[10][:40])
    again = run("evaluate", *arguments)
    assert again.exit_code == 0, again.output
    after = (folder / "results.jsonl").read_text().splitlines()
    assert after[:10] == kept
    assert len(after) == 10 + 1 + 18
    timeless = ("seconds", "scored")
    known = {json.dumps({k: v for k, v in row.items() if k not in timeless}) for row in rows}
    for line in after[11:]:
        row = {k: v for k, v in json.loads(line).items() if k not in timeless}
        assert json.dumps(row) in known

    # Another setting makes rows of its own; more budgets only add.
    run("evaluate", *arguments, "budget.evaluate=[48]", "tree.iterations=2")
    changed = json.loads((folder / "results.jsonl").read_text().splitlines()[-1])
    assert changed["setup"] != rows[0]["setup"]
    with Results(folder / "results.jsonl", rows[0]["setup"]) as results:
        assert len(results.rows) == 28


@pytest.mark.long
def test_an_evaluation_that_is_interrupted_ends_at_once_and_goes_on(
    things: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    arguments = [
        *(sys.executable, "-c", "from pipelines.corag.cli import corag_app; corag_app()"),
        *("evaluate", *tiny(things), f"data.questions={things['qa']}", f"run_dir={folder}"),
        *("scoring.concurrency=1",),
    ]
    process = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    results = folder / "results.jsonl"
    while process.poll() is None and not (results.exists() and results.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    before = results.read_text()
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert results.read_text().startswith(before)
    assert len(results.read_text().splitlines()) == 28
