import logging
import pickle
import socket
import threading
import time
import traceback

import pytest

from actors.search.live.cache import AnswerCache
from actors.search.live.errors import ServiceError
from actors.search.live.eutils import EutilsClient, carries_secrets
from actors.search.live.pacing import Pacer
from actors.search.live.retry import RetryPolicy
from actors.search.live.secret import ApiKey, scrub
from actors.search.live.service import Service
from tests.actors.search.live.corpus_server import pubmed
from tests.actors.search.live.real_server import RealServer, Reply, most_in_any_window

KEY = "s3cret+key/0123456789abcdef"
QUICK = RetryPolicy(attempts=5, base_s=0.01, deadline_s=20)
HTML = b"<!DOCTYPE html><html><body>WWW Error 500 Diagnostic</body></html>"
FAULTS = {
    "429": Reply(b'{"error":"API rate limit exceeded"}', 429, {"Retry-After": "0"}),
    "500": Reply(HTML, 500),
    "503": Reply(b"", 503),
    "200 with a page": Reply(HTML),
    "200 with an error": Reply(b'{"error":"API rate limit exceeded","api-key":"x"}'),
    "cut JSON": Reply(b'{"esearchresult": {"count": "3", "idli'),
    "empty": Reply(b""),
    "cut body": Reply(b'{"esearchresult": {}}', fault="cut"),
    "dropped": Reply(fault="drop"),
    "slow": Reply(HTML, delay=0.6),
}


def client(server, **options):
    options = {"policy": QUICK, "pacer": Pacer(1000), "timeout_s": 0.3, **options}
    return EutilsClient(server.url, **options)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_tried_again_and_changes_nothing(fault):
    faults = [fault, fault]
    server = RealServer(lambda call: faults.pop() if faults else pubmed(call))
    with server.running():
        answer = client(server).esearch("n3")
    assert (answer.count, answer.ids) == (3, ("300000", "300001", "300002"))
    assert len(server.calls) == 3
    assert len({call.body for call in server.calls}) == 1


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_outage_is_a_failure_that_names_the_service(fault):
    server = RealServer(lambda call: fault)
    policy = RetryPolicy(attempts=2, base_s=0.01, deadline_s=20)
    with server.running(), pytest.raises(ServiceError) as caught:
        client(server, policy=policy).esearch("n3")
    assert str(caught.value).startswith(f"E-utilities ({server.url}/esearch.fcgi): gave up after 2")
    assert len(server.calls) == 2


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ServiceError, match=r"ConnectError.*\(3x\)"):
        EutilsClient(url, policy=RetryPolicy(attempts=3, base_s=0.01)).esearch("n3")


def test_an_answer_that_trickles_ends_at_the_deadline():
    class Trickle(Reply):
        pass

    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            try:
                while True:
                    peer.sendall(b" ")
                    time.sleep(0.05)
            except OSError:
                pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    begun = time.monotonic()
    with listener, pytest.raises(ServiceError, match="trickled"):
        EutilsClient(
            f"http://127.0.0.1:{listener.getsockname()[1]}",
            policy=RetryPolicy(deadline_s=0.5, base_s=0.01),
            timeout_s=5,
        ).esearch("n3")
    assert time.monotonic() - begun < 2


def test_retry_after_holds_every_caller_back():
    replies = [Reply(b"", 429, {"Retry-After": "1"})]
    server = RealServer(lambda call: replies.pop() if replies else pubmed(call))
    with server.running():
        shared = client(server, timeout_s=5)
        first = threading.Thread(target=shared.esearch, args=("n1",))
        first.start()
        while not server.calls or replies:
            time.sleep(0.01)
        time.sleep(0.1)
        shared.esearch("n2")
        first.join()
    assert len(server.calls) == 3
    assert all(call.at - server.calls[0].at >= 1.0 for call in server.calls[1:])


def test_starts_keep_the_limit_as_the_server_sees_them():
    seen: set[str] = set()

    def first_fails(call):
        term = call.parameters["term"]
        if term in seen:
            return pubmed(call)
        seen.add(term)
        return Reply(b"", 500)

    server = RealServer(first_fails)
    with server.running():
        shared = client(server, pacer=Pacer(10), timeout_s=5)
        threads = [
            threading.Thread(target=lambda n=n: [shared.esearch(f"n{n}") for _ in range(4)])
            for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    starts = [call.at for call in server.calls]
    assert len(starts) == 24 + 6
    assert most_in_any_window(starts) <= 10
    assert max(starts) - min(starts) < 15


def test_without_a_key_three_a_second_and_ten_with_it(monkeypatch):
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    assert EutilsClient("http://127.0.0.1:1/a").service.pacer.limit == 3
    assert (
        EutilsClient("http://127.0.0.1:1/a").service.pacer
        is EutilsClient("http://127.0.0.1:1/a").service.pacer
    )
    monkeypatch.setenv("NCBI_API_KEY", KEY)
    assert EutilsClient("http://127.0.0.1:1/a").service.pacer.limit == 10
    assert EutilsClient("http://example.org/a").service.pacer.limit == 3  # not in clear text


def test_where_a_key_may_go():
    assert carries_secrets("https://eutils.ncbi.nlm.nih.gov/entrez/eutils")
    assert carries_secrets("http://localhost:80")
    assert carries_secrets("http://[::1]:80")
    assert not carries_secrets("http://10.0.0.7")
    assert not carries_secrets("http://eutils.ncbi.nlm.nih.gov")


def test_good_answers_are_kept_and_only_those(tmp_path):
    replies = [Reply(b'{"esearchresult":{"ERROR":"Empty term and query_key - nothing todo"}}')]
    server = RealServer(lambda call: replies.pop() if replies else pubmed(call))
    with server.running():
        cache = AnswerCache(tmp_path / "c")
        one = client(server, cache=cache, email="a@b.c")
        with pytest.raises(Exception, match="Empty term"):
            one.esearch("n3")
        first = one.esearch("n3")
        assert one.esearch("n3") == first
        assert client(server, cache=cache, tool="other").esearch("n3") == first
        assert len(server.calls) == 2
        one.esearch("n3", usehistory=True)
        one.esearch("n3", usehistory=True)
        one.epost(["1"])
        one.epost(["1"])
        assert len(server.calls) == 6
        # what has gone bad on disk is asked for again
        with cache._lock:
            cache._db.execute("UPDATE answers SET body = x'00'")
        assert one.esearch("n3") == first
        assert len(server.calls) == 7
    assert one.esearch("n3") == first  # the server is gone
    with pytest.raises(ServiceError):
        one.esearch("n4")


def locals_of_our_frames(error):
    """What a traceback with local variables prints, this file's own frame left out."""
    frames = error.__traceback__.tb_next
    shown = traceback.TracebackException(type(error), error, frames, capture_locals=True)
    return "".join(shown.format())


def test_the_key_is_in_the_body_and_nowhere_else(tmp_path, monkeypatch, caplog, capfd):
    """Everything that failing and working calls leave behind is searched for the key."""
    monkeypatch.setenv("NCBI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    echo = b'{"error":"API key invalid","api-key":"%s","type":"api"}' % KEY.encode()
    texts = []
    faults = [FAULTS[name] for name in ("429", "cut body", "dropped", "200 with a page")]
    for reply in [*faults, Reply(echo, 400), Reply(echo), Reply(b"<p>" + KEY.encode())]:
        broken = [reply]
        server = RealServer(lambda call, broken=broken: broken.pop() if broken else pubmed(call))
        always = RealServer(lambda call, reply=reply: reply)
        with server.running(), always.running():
            for one in (server, always):
                live = client(one, policy=RetryPolicy(attempts=2, base_s=0.0), pacer=Pacer(1000))
                live.service.cache = AnswerCache(tmp_path / "cache.sqlite")
                try:
                    live.esearch("n3")
                except ServiceError as error:
                    logging.getLogger("test").exception("failed")
                    texts += [str(error), repr(error), repr(live.__dict__)]
                    texts += [repr(vars(live.service)), repr(pickle.dumps(error))]
                    texts += [locals_of_our_frames(error)]
        for call in (*server.calls, *always.calls):
            assert call.method == "POST"
            assert call.parameters["api_key"] == KEY
            assert KEY not in call.path + call.query
    assert len(texts) > 30
    assert any("[API key]" in text for text in texts)
    texts += [caplog.text, *capfd.readouterr()]
    assert caplog.text.count("HTTP Request: POST") > 10
    for text in texts:
        assert KEY not in text
        assert "s3cret" not in text
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"s3cret" not in path.read_bytes()


def test_a_key_is_not_pickled_and_not_shown():
    key = ApiKey(KEY)
    assert KEY not in repr(key) + str(key) + f"{key}"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(key)
    assert scrub(f"a={KEY}&b={'s3cret%2Bkey%2F0123456789abcdef'}", key) == "a=[API key]&b=[API key]"
    assert scrub('{"api-key":"other"} api_key=another&x', None) == (
        '{"api-key":"[API key]"} api_key=[API key]&x'
    )


@pytest.mark.parametrize("url", ["ftp://x", "x/y", "http://", "http://u:p@h/", "http://h/?a=b"])
def test_a_base_url_must_be_plain(url):
    with pytest.raises(ValueError, match="not a plain"):
        Service("S", url, pacer=Pacer(1))


def test_a_redirect_is_not_followed():
    server = RealServer(lambda call: Reply(b"", 301, {"Location": "http://127.0.0.1:1/"}))
    with server.running(), pytest.raises(ServiceError, match="has moved"):
        client(server).esearch("n3")
    assert len(server.calls) == 1
