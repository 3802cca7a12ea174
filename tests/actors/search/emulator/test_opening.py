"""The emulator as a command runs it: an index on disk, a fault plan, a port."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from actors.search.emulator.opening import emulate, pubmed_service
from actors.search.index import build_index
from actors.search.types import Record

ROOT = Path(__file__).parents[4]
SCRIPT = """
import sys
from pathlib import Path
from actors.search.emulator.opening import emulate
emulate(
    sys.argv[1], sys.argv[2], port=0, faults=Path(sys.argv[3]), rate_limit=True,
    started=lambda url: print(url, flush=True),
)
print("done")
"""


@pytest.fixture
def folder(tmp_path):
    build_index([Record(id="7", title="Aspirin")], tmp_path / "index", corpus="little")
    return tmp_path / "index"


def test_a_process_serves_an_index_with_faults_and_stops_on_sigterm(folder, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("faults: [{kind: server_error, every: 1, limit: 1, status: 503}]")
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "pubmed", str(folder), str(plan)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    url = process.stdout.readline().strip() + "/entrez/eutils/esearch.fcgi"
    asked = {"term": "aspirin", "retmode": "json"}
    statuses = [httpx.get(url, params=asked).status_code for _ in range(5)]
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=20)
    assert statuses == [503, 200, 200, 200, 429]  # the fault struck before the limit counted
    assert (process.returncode, rest) == (0, "done\n")


def test_einfo_names_the_corpus(folder):
    service = pubmed_service(folder)
    body = service.answer("einfo", {"db": "pubmed", "retmode": "json"}).body
    info = json.loads(body)["einforesult"]["dbinfo"][0]
    assert info["count"] == "1"
    assert info["description"] == "PubMed bibliographic record, of little"
    assert info["dbbuild"].startswith("Build-")


def test_what_cannot_be_served_is_named(folder, tmp_path):
    with pytest.raises(ValueError, match="no emulator of 'gene'"):
        emulate("gene", folder)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        emulate("pubmed", tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"none\.yaml"):
        emulate("pubmed", folder, faults=tmp_path / "none.yaml")
    with pytest.raises(OSError, match=r"cannot listen on 203\.0\.113\.1"):
        emulate("pubmed", folder, host="203.0.113.1")
