"""The command as a person meets it: what it prints, and what it says of bad input."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipelines.cli import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def wide_terminal_and_own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))


def run(*arguments: str) -> Any:
    return runner.invoke(app, list(arguments))


def train(*overrides: str) -> Any:
    return run("train", "rewriter", "-c", "ci/tiny", *overrides)


def test_help_teaches_by_example() -> None:
    for command in (
        ["search", "pubmed"],
        ["search", "trials"],
        ["search", "passages"],
        ["emulate"],
        ["train", "rewriter"],
        ["evaluate", "rewriter"],
        ["data", "fetch"],
    ):
        shown = run(*command, "--help")
        assert shown.exit_code == 0
        assert f"seekray {' '.join(command)} " in shown.output


def test_help_shows_field_tags() -> None:
    assert "hypertension[mh] AND 1978[dp]" in run("search", "pubmed", "--help").output


def test_search_prints_hits_newest_first_and_how_the_query_was_read(tiny_corpus: Path) -> None:
    shown = run("search", "pubmed", "gout aspirin", "--corpus", str(tiny_corpus), "--json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    # Gout with aspirin are 1001 to 1004 (all fields are searched, MeSH headings too); their months
    # are 1 + number % 12: June to September.
    assert found["ids"] == ["1004", "1003", "1002", "1001"]
    assert found["total"] == 4
    assert '"gout"' in found["translation"]


def test_search_uses_its_index_again(tiny_corpus: Path) -> None:
    first = run("search", "pubmed", "gout", "--corpus", str(tiny_corpus))
    again = run("search", "pubmed", "gout", "--corpus", str(tiny_corpus))
    assert "indexing 42 records" in first.stderr
    assert "indexing" not in again.stderr
    assert first.stdout == again.stdout


def test_a_query_that_cannot_be_read_says_where(tiny_corpus: Path) -> None:
    shown = run("search", "pubmed", "[pdat]", "--corpus", str(tiny_corpus))
    assert shown.exit_code == 2
    *_, text, caret = shown.stderr.rstrip().splitlines()
    assert text.strip() == "[pdat]"
    assert caret.rstrip().endswith("^")


def test_config_faults_come_all_at_once() -> None:
    shown = train("train.stps=3", "learner.lr=abc", "foo", "rollout.temperature=0")
    assert shown.exit_code == 2
    for fault in ("train.stps", "learner.lr", "foo: an override", "rollout.temp", "model.path"):
        assert fault in shown.stderr


def test_print_config_prints_what_would_run(tiny_model: Path) -> None:
    shown = train(f"model.path={tiny_model}", "learner.lr=0.5", "--print-config")
    assert shown.exit_code == 0
    assert "lr: 0.5" in shown.stdout


def refused(tmp_path: Path, model: Path, corpus: Path, *overrides: str) -> str:
    shown = train(
        f"model.path={model}",
        f"data.corpus={corpus}",
        f"run_dir={tmp_path / 'run'}",
        *overrides,
    )
    assert shown.exit_code == 2, shown.output
    assert "Traceback" not in shown.output
    return shown.stderr


def test_broken_xml_names_file_and_record(tmp_path: Path, tiny_model: Path) -> None:
    path = tmp_path / "broken.xml"
    path.write_text(
        "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>77</PMID><Article>"
        "<ArticleTitle>A</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
        "<PubmedArticle><MedlineCitation><PMID>78</PMID><Article>"
    )
    said = refused(tmp_path, tiny_model, path)
    assert "broken.xml" in said
    assert "77" in said


def test_an_empty_corpus(tmp_path: Path, tiny_model: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    assert "empty.jsonl" in refused(tmp_path, tiny_model, path)


def test_tasks_without_a_relevant_record(
    tmp_path: Path, tiny_model: Path, tiny_corpus: Path
) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "t", "P": "Gout", "relevant": ["999"]}) + "\n")
    said = refused(tmp_path, tiny_model, tiny_corpus, f"data.tasks={tasks}")
    assert "none of the relevant records" in said


def test_a_model_without_tokenizer(tmp_path: Path, tiny_model: Path, tiny_corpus: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    for path in model.glob("tokenizer*"):
        path.unlink()
    said = refused(tmp_path, model, tiny_corpus)
    assert "tokenizer" in said
    assert str(model) in said


def test_a_run_folder_that_cannot_be_written(
    tmp_path: Path, tiny_model: Path, tiny_corpus: Path
) -> None:
    (tmp_path / "run").write_text("a file")
    assert "cannot be written" in refused(tmp_path, tiny_model, tiny_corpus)


def test_what_failed_to_start_can_be_started_again(
    tmp_path: Path, tiny_model: Path, tiny_corpus: Path
) -> None:
    assert "no such file" in refused(tmp_path, tiny_model, tmp_path / "nowhere.jsonl")
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "t", "P": "Gout", "relevant": ["999"]}) + "\n")
    said = refused(tmp_path, tiny_model, tiny_corpus, f"data.tasks={tasks}")
    assert "already holds a run" not in said


def test_evaluate_wants_a_run_or_a_model() -> None:
    assert run("evaluate", "rewriter").exit_code == 2


def test_fetch_of_an_unknown_name_lists_the_known_ones() -> None:
    shown = run("data", "fetch", "nothing")
    assert shown.exit_code == 2
    assert "pubmed-sample" in shown.stderr
