"""`seekray search` and `seekray emulate` as a person or a script meets them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from actors.search.emulator.opening import pubmed_service, trials_service
from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.index import build_index
from actors.search.trials.build import build_trials_index
from actors.search.types import MeshHeading, QueryError, Record
from pipelines.cli import app
from pipelines.search.present import caret

runner = CliRunner()
KEYS = ["engine", "query", "translation", "total", "ids", "warnings", "errors"]


@pytest.fixture(autouse=True)
def wide_terminal_and_own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pubmed") / "index"
    gout = (MeshHeading("Gout"),)
    build_index(
        [
            Record("1", "Gout and aspirin", mesh=gout),
            Record("2", "Aspirin in migraine"),
            Record("3", "Gouty arthritis", mesh=gout),
        ],
        folder,
    )
    return folder


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trials") / "index"
    build_trials_index(
        [
            {"nct_id": "NCT00000001", "title": "Aspirin for gout", "phase": "PHASE3"},
            {"nct_id": "NCT00000002", "title": "Aspirin for migraine", "phase": "PHASE2"},
        ],
        folder,
    )
    return folder


def search(*arguments: str) -> Any:
    return runner.invoke(app, ["search", *map(str, arguments)])


def test_json_has_the_same_fields_for_hits_and_for_errors(index):
    found = search("pubmed", "gout[mh]", "--index", index, "--json")
    assert found.exit_code == 0, found.output
    row = json.loads(found.stdout)
    assert list(row) == KEYS
    assert (row["engine"], row["total"], row["ids"]) == ("pubmed", 2, ["3", "1"])
    assert (row["translation"], row["errors"]) == ('"gout"[MeSH Terms]', [])
    bad = search("pubmed", "gout AND #2", "--index", index, "--json")
    assert bad.exit_code == 2
    row = json.loads(bad.stdout)
    assert list(row) == KEYS
    assert (row["total"], row["ids"]) == (None, [])
    assert row["errors"][0].endswith("(at character 9)")


def test_a_person_sees_hits_titles_warnings_and_the_reading(index):
    shown = search("pubmed", "gout[mh] AND aspirin[nosuchtag]", "--index", index)
    assert shown.exit_code == 0, shown.output
    for part in ("read as:", "warning: FieldNotFound", "1 hits", "Gout and aspirin"):
        assert part in shown.stdout


def test_explain_counts_the_hits_of_every_step(index):
    shown = search(
        "pubmed", "(gout[ti] OR gouty[ti]) NOT aspirin[ti]", "--index", index, "--explain"
    )
    lines = [line.strip(" │├└─") for line in shown.stdout.splitlines()]
    for line in (
        "1  NOT", "2  OR", '1  "gout"[Title]', '1  "gouty"[Title]', '2  "aspirin"[Title]',
    ):  # fmt: skip
        assert line in lines


def test_explain_sums_over_shards(tmp_path):
    build_index(
        [Record(str(i), "gout" if i % 2 else "gouty") for i in range(1, 8)], tmp_path, shards=3
    )
    shown = search("pubmed", "gout[ti] OR gouty[ti]", "--index", tmp_path, "--explain")
    lines = [line.strip(" │├└─") for line in shown.stdout.splitlines()]
    for line in ("7  OR", '4  "gout"[Title]', '3  "gouty"[Title]'):
        assert line in lines


def test_a_file_of_queries_gives_one_line_each_in_order(index, tmp_path):
    file = tmp_path / "queries.jsonl"
    rows = [
        {"id": "a", "query": "gout[mh]"},
        {"query": "exp Gout/ and aspirin.ti.", "syntax": "ovid"},
        {"id": 7, "query": "()"},
        {"id": "told", "query": "exp Gout/ not aspirin.ti."},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = search("pubmed", "--queries", file, "--index", index)
    assert shown.exit_code == 0, shown.output
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [line.get("id") for line in lines] == ["a", None, 7, "told"]
    assert [line["ids"] for line in lines] == [["3", "1"], ["1"], [], ["3"]]
    assert [bool(line["errors"]) for line in lines] == [False, False, True, False]
    assert "1 queries had errors" in shown.stderr


def test_a_file_that_is_not_of_queries_says_where(index, tmp_path):
    file = tmp_path / "queries.jsonl"
    file.write_text('{"query": "gout"}\n{"text": "gout"}\n')
    shown = search("pubmed", "--queries", file, "--index", index)
    assert shown.exit_code == 2
    assert "queries.jsonl, line 2" in shown.stderr
    file.write_bytes(b'{"query": "gout"}\n\n{"query": "\xff"}\n')
    shown = search("pubmed", "--queries", file, "--index", index)
    assert shown.exit_code == 2
    assert "queries.jsonl, line 3: not JSON" in shown.stderr


@pytest.mark.parametrize(
    "arguments", [["pubmed"], ["trials", "gout"], ["pubmed", "x", "--queries", "y"]]
)
def test_what_is_missing_or_too_much_is_said(arguments):
    shown = search(*arguments)
    assert shown.exit_code == 2
    assert "Traceback" not in shown.output


def test_an_index_of_another_kind_is_refused(index, trials):
    assert search("trials", "gout", "--index", index).exit_code == 2
    shown = search("pubmed", "gout", "--index", trials)
    assert shown.exit_code == 2
    assert "Traceback" not in shown.output


def test_trials_are_searched_in_their_own_language(trials):
    shown = search("trials", "aspirin AND AREA[Phase]PHASE3", "--index", trials, "--json")
    assert json.loads(shown.stdout)["ids"] == ["NCT00000001"]
    shown = search("trials", "aspirin AND (", "--index", trials)
    assert shown.exit_code == 2
    assert shown.stderr.rstrip().endswith("^")


def test_live_searches_answer_as_local_ones(index, trials):
    config = ServerConfig(pubmed_service(index), trials_service(trials))
    with Emulator(config) as emulator:
        live = search("pubmed", "gout", "--live", "--base-url", emulator.eutils_url, "--json")
        local = search("pubmed", "gout", "--index", index, "--json")
        assert live.exit_code == 0, live.output
        assert json.loads(live.stdout)["ids"] == json.loads(local.stdout)["ids"] == ["3", "1"]
        shown = search("pubmed", "gout", "--live", "--base-url", emulator.eutils_url)
        assert "Gouty arthritis" in shown.stdout
        live = search(
            "trials", "aspirin", "--live", "--base-url", emulator.trials_url, "--json", "-k", "1"
        )
        assert json.loads(live.stdout)["total"] == 2


def test_live_pubmed_is_asked_in_its_own_language_for_ovid_strategies(index, tmp_path):
    file = tmp_path / "queries.jsonl"
    rows = [{"query": "exp Gout/ not aspirin.ti."}, {"query": "gout[ti]"}, {"query": "1. 2"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Emulator(ServerConfig(pubmed_service(index))) as emulator:
        shown = search("pubmed", "--queries", file, "--live", "--base-url", emulator.eutils_url)
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [line["ids"] for line in lines[:2]] == [["3"], ["1"]]


def test_steps_are_shown_of_local_indexes_only(index):
    with Emulator(ServerConfig(pubmed_service(index))) as emulator:
        shown = search("pubmed", "gout", "--live", "--base-url", emulator.eutils_url, "--explain")
    assert shown.exit_code == 2


def test_emulate_serves_until_it_is_told_to_stop(index, tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path))
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pipelines.cli",
            "emulate",
            "pubmed",
            "--index",
            index,
            "--port",
            "0",
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "serving pubmed at" in line)
        url = line.rsplit(" ", 1)[1].strip()
        shown = search("pubmed", "gout[ti]", "--live", "--base-url", url, "--json")
        assert json.loads(shown.stdout)["ids"] == ["1"]
        assert not list(tmp_path.iterdir())  # another index may be served there tomorrow
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()


def test_an_emulator_of_nothing_is_refused(tmp_path):
    shown = runner.invoke(app, ["emulate", "pubmed", "--index", str(tmp_path)])
    assert shown.exit_code == 2
    assert "no index at" in shown.stderr


@pytest.mark.parametrize(
    ("query", "position", "expected"),
    [
        ("abc", 1, "  abc\n   ^"),
        ("a\nb", 2, "  a b\n    ^"),
        ("abc", 9, "  abc\n     ^"),
    ],
)
def test_the_caret_stands_below_the_place(query, position, expected):
    assert caret(query, position) == expected


def test_the_caret_of_a_long_query_shows_what_is_around_it():
    query = "".join(chr(97 + i % 26) for i in range(1000))
    line, below = caret(query, 500).splitlines()
    assert line.strip().startswith("...")
    assert line.endswith("...")
    assert line[below.index("^")] == query[500]
    assert len(line) < 120


def test_errors_without_a_place_are_said_as_they_are():
    from pipelines.search.present import as_json

    assert as_json("trials", "q", QueryError("no", "q"))["errors"] == ["no"]
