import json
import re

import pytest
from typer.testing import CliRunner

from pipelines.index_cli import index_app
from tests.pipelines.data.corpora import baseline

STUDY = {"protocolSection": {"identificationModule": {"nctId": "NCT00000001", "briefTitle": "T"}}}


def run(*arguments, code=0):
    result = CliRunner().invoke(index_app, list(map(str, arguments)))
    assert result.exit_code == code, result.output + repr(result.exception)
    return re.sub(r"\s+", " ", result.output)


def test_build_look_and_verify(tmp_path):
    files = baseline(tmp_path, 2, 20)
    out = tmp_path / "out"
    arguments = ["build", "pubmed", "--from", *files, "--out", out, "--workers", 1, "--shards", 2]
    assert "38 records are in" in run(*arguments)
    facts = json.loads(run("info", out, "--json"))
    assert (facts["kind"], facts["records"], facts["shards"]) == ("pubmed", 38, 2)
    assert facts["mesh"] == "headings of the corpus"
    assert "38" in run("info", out)
    assert "is whole" in run("verify", out)
    damaged = next(path for path in out.rglob("*") if path.is_file() and path.suffix != ".json")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    assert "is damaged" in run("verify", out, code=1)


def test_trials_and_passages(tmp_path):
    (tmp_path / "page.json").write_text(json.dumps({"studies": [STUDY], "nextPageToken": "x"}))
    run("build", "trials", "--from", tmp_path / "page.json", "--out", tmp_path / "trials")
    assert json.loads(run("info", tmp_path / "trials", "--json"))["records"] == 1
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "corpus.jsonl").write_text('{"id": "1", "title": "", "text": "a lung"}\n')
    run("build", "passages", "--from", tmp_path / "set", "--out", tmp_path / "passages")
    facts = json.loads(run("info", tmp_path / "passages", "--json"))
    assert (facts["kind"], facts["corpus"], facts["records"]) == ("passages", "set", 1)
    assert "is whole" in run("verify", tmp_path / "passages")
    store = next((tmp_path / "passages" / "lexical").glob("shard-*/store"))
    store.write_bytes(store.read_bytes()[:-1] + b"?")
    assert "store is damaged" in run("verify", tmp_path / "passages", code=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "pubmed", "--from", "{tmp}/no.xml", "--out", "{tmp}/o"], "no such file or"),
        (["build", "trials", "--from", "{tmp}", "--out", "{tmp}/o"], "holds no *.json"),
        (["build", "passages", "--from", "{tmp}", "--out", "{tmp}/o"], "holds no corpus.jsonl"),
        (["info", "{tmp}"], "no index at"),
        (["verify", "{tmp}/none"], "no index at"),
        (["build", "passages", "--from", "{tmp}/f", "--out", "/dev/null/o"], "'/dev/null'"),
    ],
)
def test_errors_are_one_message(tmp_path, arguments, message):
    (tmp_path / "f").write_text('{"id": "1", "title": "", "text": "a lung"}\n')
    output = run(*[each.format(tmp=tmp_path) for each in arguments], code=2)
    assert message in output
    assert "Traceback" not in output


def test_help_teaches():
    for arguments in (["build", "pubmed"], ["build", "trials"], ["build", "passages"], ["verify"]):
        assert "Example" in run(*arguments, "--help")
