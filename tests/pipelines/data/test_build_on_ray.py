"""Builds as Ray tasks. Each starts a Ray of its own, so each runs a script."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from actors.search.index import verify
from pipelines.data.build_index import build_pubmed_index
from tests.pipelines.data.corpora import baseline

ROOT = Path(__file__).parents[3]


def run(name, *arguments):
    environment = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"}
    process = subprocess.run(
        [sys.executable, Path(__file__).parent / "scripts" / name, *arguments],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return dict(line.split(" ", 1) if " " in line else (line, "") for line in _lines(process))


def _lines(process):
    known = ("broken", "hash", "killed", "nodes", "refused", "workers")
    return [line for line in process.stdout.splitlines() if line.split(" ")[0] in known]


@pytest.mark.long
def test_a_worker_killed_amid_a_part_changes_nothing(tmp_path):
    files = baseline(tmp_path, 6, 1500)
    said = run("killed_worker.py", tmp_path / "ray", *files)
    assert "killed" in said
    whole = build_pubmed_index(files, tmp_path / "here", workers=1)
    assert said["hash"] == whole.content_hash
    assert verify(tmp_path / "ray") == []


@pytest.mark.long
def test_two_nodes_build_the_same_index(tmp_path):
    files = baseline(tmp_path, 4, 200)
    said = run("two_nodes.py", tmp_path / "ray", *files)
    whole = build_pubmed_index(files, tmp_path / "here", workers=1)
    assert said["hash"] == whole.content_hash
    assert (said["nodes"], said["workers"]) == ("2", "2")
    assert "does not see /no/such/folder" in said["refused"]
    assert verify(tmp_path / "ray") == []
    assert "broken.xml: broken XML at line 2" in said["broken"]
