"""The emulator over real sockets: forms, limits, faults, control, shutdown."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from actors.search.emulator.eutils import EUtils
from actors.search.emulator.faults import Fault, Faults, parse_faults, read_faults
from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.http import Response

SEARCH = "/entrez/eutils/esearch.fcgi"
ASKED = {"db": "pubmed", "term": "stroke", "retmode": "json"}


@pytest.fixture
def serve(library):
    running = []

    def start(**settings) -> Emulator:
        emulator = Emulator(ServerConfig(eutils=EUtils(library), **settings)).__enter__()
        running.append(emulator)
        return emulator

    yield start
    for emulator in running:
        emulator.__exit__(None, None, None)


def get(emulator, **parameters):
    return httpx.get(emulator.url + SEARCH, params=ASKED | parameters, timeout=10)


def test_get_and_post_answer_alike(echo_emulator):
    emulator = echo_emulator
    asked = ASKED | {"term": 'stroke "+%#&maxdate=2030" é'}
    posted = httpx.post(emulator.url + SEARCH, data=asked)
    assert posted.headers["content-type"] == "application/json; charset=UTF-8"
    assert posted.json() == get(emulator, **asked).json()
    assert posted.json()["esearchresult"]["querytranslation"] == asked["term"]


def test_of_a_parameter_given_twice_the_last_counts_but_every_id(emulator):
    url = emulator.eutils_url + "/efetch.fcgi?retmode=xml&retmode=text&rettype=uilist&id=101&ID=102"
    assert httpx.get(url).text == "101\n102\n"


def test_a_megabyte_of_query_is_read_and_six_are_refused(echo_emulator):
    emulator = echo_emulator
    long = httpx.post(emulator.url + SEARCH, data=ASKED | {"term": "x" * 10**6})
    assert len(long.json()["esearchresult"]["querytranslation"]) == 10**6
    too_long = httpx.post(emulator.url + SEARCH, data=ASKED | {"term": "x" * 6 * 10**6})
    assert too_long.status_code == 413
    assert "5000000 bytes" in too_long.text


def test_what_is_not_there_says_what_is(emulator):
    assert "esearch.fcgi" in httpx.get(emulator.url + "/search").text
    assert httpx.get(emulator.url + "/entrez/eutils/nothing.fcgi").status_code == 404
    assert httpx.put(emulator.url + SEARCH).status_code == 405
    wrong = httpx.post(emulator.url + SEARCH, json=ASKED)
    assert (wrong.status_code, "application/x-www-form-urlencoded" in wrong.text) == (400, True)
    assert httpx.head(emulator.url + SEARCH, params=ASKED).content == b""


def test_trials_are_mounted_below_api_v2():
    class Trials:
        def get(self, path, params):
            return Response(200, "application/json", json.dumps([path, params]).encode())

    with Emulator(ServerConfig(trials=Trials())) as emulator:
        found = httpx.get(emulator.trials_url + "/studies/NCT01", params={"fields": "a|b"})
        assert found.json() == ["/studies/NCT01", {"fields": "a|b"}]
        assert httpx.get(emulator.url + SEARCH).status_code == 404


def test_rate_limit_as_the_service_words_it(serve):
    emulator = serve(rate_limit=True, api_keys=frozenset({"good"}))
    with httpx.Client() as client:
        answers = [client.get(emulator.url + SEARCH, params=ASKED) for _ in range(4)]
        assert [a.status_code for a in answers] == [200, 200, 200, 429]
        assert answers[3].json() == {
            "error": "API rate limit exceeded",
            "api-key": "127.0.0.1",
            "count": "4",
            "limit": "3",
        }
        assert answers[3].headers["retry-after"] == "1"
        keyed = [
            client.get(emulator.url + SEARCH, params=ASKED | {"api_key": "good"}).status_code
            for _ in range(11)
        ]
        assert keyed == [200] * 10 + [429]
        bad = client.get(emulator.url + SEARCH, params=ASKED | {"api_key": "bad"})
    assert bad.status_code == 400
    assert bad.json()["error"] == "API key invalid"


def test_every_kind_of_fault_does_what_it_says(serve):
    rules = tuple(
        Fault(kind, every=1, limit=1, seconds=0.3 if kind == "slow" else 7)
        for kind in ("rate_limit", "server_error", "cut", "malformed", "empty", "slow")
    )
    emulator = serve(faults=Faults(rules))
    limited = get(emulator)
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "7")
    assert get(emulator).status_code == 500
    with pytest.raises(httpx.RemoteProtocolError, match=r"incomplete|closed"):
        get(emulator)
    malformed = get(emulator)
    assert malformed.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        malformed.json()
    empty = get(emulator)
    assert (empty.status_code, empty.content) == (200, b"")
    began = time.monotonic()
    assert get(emulator).json()["esearchresult"]["count"] == "2"
    assert time.monotonic() - began >= 0.3
    assert get(emulator).status_code == 200
    report = httpx.get(emulator.url + "/_seekray/requests").json()
    assert report["faults"] == dict.fromkeys((r.kind for r in rules), 1)
    assert report["total"] == 7
    assert report["statuses"] == {"429": 1, "500": 1, "200": 5}


def test_faults_repeat_by_seed_and_come_about_as_often_as_told():
    def draws(seed):
        faults = Faults((Fault("empty", probability=0.3),), seed)
        return [bool(faults.strike("/x")) for _ in range(2000)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert 500 < sum(draws(1)) < 700
    every = Faults((Fault("cut", every=3, path="/a"),))
    assert [bool(every.strike(path)) for path in ("/a", "/b", "/a", "/a", "/a")] == [
        False, False, False, True, False,
    ]  # fmt: skip


def test_fault_plans_from_files(tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("seed: 3\nfaults:\n  - {kind: slow, probability: 0.5, seconds: 2}\n")
    found = read_faults(plan)
    assert (found.seed, found.rules) == (3, (Fault("slow", probability=0.5, seconds=2),))
    (tmp_path / "plan.json").write_text('{"faults": [{"kind": "cut", "every": 2}]}')
    assert read_faults(tmp_path / "plan.json").rules == (Fault("cut", every=2),)
    for text in ("faults: [{kind: boom, every: 1}]", "faults: [{kind: cut}]", "a: [", "faults: 1"):
        plan.write_text(text)
        with pytest.raises(ValueError, match=r"plan\.yaml"):
            read_faults(plan)
    with pytest.raises(ValueError, match="nowhere"):
        read_faults(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="seed and faults"):
        parse_faults({"fault": []})


def test_the_control_endpoint_counts_starts(serve):
    emulator = serve()
    for _ in range(3):
        get(emulator)
    report = httpx.get(emulator.url + "/_seekray/requests").json()
    starts = [request["start"] for request in report["requests"]]
    assert (len(starts), starts == sorted(starts)) == (3, True)
    assert abs(starts[0] - time.time()) < 60
    assert report["busiest_second"] == 3
    assert "stroke" not in json.dumps(report)
    assert httpx.delete(emulator.url + "/_seekray/requests").json()["total"] == 0


def test_many_threads_get_right_answers(emulator):
    wrong = []

    def ask():
        with httpx.Client() as client:
            for _ in range(20):
                found = client.get(emulator.url + SEARCH, params=ASKED).json()
                if found["esearchresult"]["idlist"] != ["101", "102"]:
                    wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_port_is_free_again_and_a_taken_one_is_named(serve, library):
    emulator = serve()
    port = int(emulator.url.rsplit(":", 1)[1])
    with pytest.raises(OSError, match=rf"cannot listen on 127.0.0.1:{port}.*--port"):
        Emulator(ServerConfig(port=port)).__enter__()
    emulator.__exit__(None, None, None)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))


SCRIPT = """
from actors.search.emulator.server import ServerConfig, serve
serve(ServerConfig(), lambda url: print(url, flush=True))
print("done")
"""


def test_sigterm_ends_it_gracefully():
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[4],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[4])},
    )
    url = process.stdout.readline().strip()
    assert httpx.get(url + "/").status_code == 404
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=20)
    assert (process.returncode, rest) == (0, "done\n")


def test_a_failure_is_logged_without_what_was_asked(caplog):
    class Broken:
        def get(self, path, parameters):
            raise OSError(f"disk gone at {parameters}")

    with Emulator(ServerConfig(trials=Broken())) as emulator, caplog.at_level("ERROR"):
        asked = {"query.term": "a secret need", "api_key": "0123key"}
        answer = httpx.get(emulator.url + "/api/v2/studies", params=asked)
    assert answer.status_code == 500
    (record,) = [r for r in caplog.records if r.name == "actors.search.emulator.app"]
    assert record.getMessage().startswith("/api/v2/studies failed: OSError at\n")
    assert "in get" in record.getMessage()
    assert "secret" not in caplog.text
    assert "0123key" not in caplog.text


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"faults": [{"kind": "slow", "probability": "often"}]}, "probability is 'often', not a"),
        ({"faults": [{"kind": "cut", "every": True}]}, "every is True, not a number"),
        ({"seed": "x"}, "seed is 'x', not a whole number"),
    ],
)
def test_values_of_a_wrong_kind_in_a_plan_are_named(plan, told):
    with pytest.raises(ValueError, match=told):
        parse_faults(plan)
