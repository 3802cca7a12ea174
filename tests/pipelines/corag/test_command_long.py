"""Labels, an agent and ablations from the commands: real Ray, real Tune, tiny models."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from configs.load import load_corag
from pipelines.corag.cli import corag_app
from pipelines.progress import SilentReporter
from tests.tiny_embedder import write_embedder
from tests.tiny_qa import write_qa
from tune_sweeps.corag_ablations import SWEEPS, AblationError, chosen_sweeps, run_ablations

pytestmark = pytest.mark.long
runner = CliRunner()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tiny(tmp_path: Path, tiny_model: Path, ray_local: None) -> list[str]:
    embedder = write_embedder(tmp_path / "embedder")
    return [
        *("--config", "ci/corag-tiny", f"model.path={tiny_model}", f"embedder.model={embedder}"),
        f"data.questions={write_qa(tmp_path / 'qa', copies=4)}",
        f"run_dir={tmp_path / 'run'}",
    ]


def run(*arguments: str) -> Any:
    return runner.invoke(corag_app, list(arguments))


def test_labels_then_agent_then_its_answers(tiny: list[str], tmp_path: Path) -> None:
    more = ["labels.rerankers=[bm25,minilm]", f"reranker.path={tmp_path / 'embedder'}"]
    more += ["reranker.name=minilm"]
    shown = run("label", *tiny, *more, "--out", str(tmp_path / "labels"))
    assert shown.exit_code == 0, shown.output
    labels = tmp_path / "labels" / "labels.jsonl"
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    assert {row["reranker"] for row in rows} == {"bm25", "minilm"}
    # No configuration is dropped below two for each reranker: 16 questions x 2 x 2.
    assert len(rows) == 64
    assert all(0 <= row["rouge_l"] <= 1 for row in rows)
    again = run("label", *tiny, *more, "--out", str(tmp_path / "labels"))
    assert again.exit_code == 0, again.output
    assert [json.loads(line) for line in labels.read_text().splitlines()] == rows

    # A tiny random model answers all questions alike: the agent needs other labels to learn from.
    for number, row in enumerate(rows):
        row["rouge_l"] = 0.9 if (row["reranker"] == "bm25") == (len(row["query"]) % 2 == 0) else 0.1
        row["rouge_l"] -= number * 1e-4
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    agent = tmp_path / "agent"
    trained = run(
        "train-agent", *tiny, *more, "-l", str(labels), "-o", str(agent), "agent.epochs=2"
    )
    assert trained.exit_code == 0, trained.output

    compared = run("evaluate", *tiny, *more, f"agent.path={agent}",
                   "run.methods=[corag,corag-agent,naive]")  # fmt: skip
    assert compared.exit_code == 0, compared.output
    found = [json.loads(s) for s in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    chosen = [row for row in found if row["method"] == "corag-agent"]
    assert chosen
    assert all(row["reranker"] in ("bm25", "minilm") for row in chosen)
    assert all(5 <= row["settings"]["iterations"] <= 50 for row in chosen)
    assert all(row["cost"] <= row["budget"] for row in found)


def test_ablations_are_swept_drawn_and_not_done_twice(tiny: list[str], tmp_path: Path) -> None:
    out = tmp_path / "ablations"
    config = load_corag(tiny[1], tiny[2:])
    sweeps = [
        replace(SWEEPS["c"], values=("0", "2")),
        replace(SWEEPS["chunk-size"], values=("16",)),
    ]
    found = run_ablations(config, sweeps, out, SilentReporter(), cpus=1)
    assert {name: list(points) for name, points in found.items()} == {
        "c": ["0", "2"],
        "chunk-size": ["16"],
    }
    assert found["c"]["0"].method == "corag"
    for name in ("c.png", "chunk-size.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in out.glob("index-*")} == {"index-32-0", "index-16-0"}
    assert "| chunk-size | 16 | 8 |" in (out / "ablations.md").read_text()
    before = (out / "c" / "0" / "results.jsonl").read_text()
    again = run_ablations(config, sweeps[:1], out, SilentReporter(), cpus=1)
    assert again["c"] == found["c"]
    assert (out / "c" / "0" / "results.jsonl").read_text() == before
    assert list(json.loads((out / "ablations.json").read_text())) == ["c", "chunk-size"]


def test_sweeps_by_name() -> None:
    config = load_corag(None, ["labels.rerankers=[bm25]"])
    assert [sweep.name for sweep in chosen_sweeps(config, [])] == list(SWEEPS)
    (own,) = chosen_sweeps(config, ["reranker"])
    assert own.values == ("bm25",)
    with pytest.raises(AblationError, match="no sweep 'd'; there is: budget, c, "):
        chosen_sweeps(config, ["d"])
    for sweep in chosen_sweeps(config, []):
        for value in sweep.values:
            load_corag(None, sweep.overrides(value))


def test_answers_on_ray_are_those_of_one_process(tiny: list[str], tmp_path: Path) -> None:
    given = [part for part in tiny if not part.startswith(("data.questions", "run_dir"))]
    index = str(tmp_path / "index")
    assert run("index", *given, "-f", str(tmp_path / "qa"), "-o", index).exit_code == 0
    question = "Which drug helped in gout?"
    alone = run("answer", question, *given, "--index", index, "--json")
    spread = run("answer", question, *given, "--index", index, "--json", "--workers", "2",
                 "rollout.workers=1")  # fmt: skip
    assert spread.exit_code == 0, spread.output
    first, second = (json.loads(shown.stdout) for shown in (alone, spread))
    first.pop("seconds")
    second.pop("seconds")
    assert first == second
