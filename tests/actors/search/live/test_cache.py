import random
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from actors.search.live.cache import AnswerCache, cache_key


def key(n: int) -> bytes:
    return cache_key("http://s", "esearch.fcgi", [("term", str(n))])


def test_a_key_knows_the_answer_and_not_the_asker():
    one = cache_key("http://s", "e", [("term", "a"), ("retmax", "5"), ("api_key", "k")])
    assert one == cache_key("http://s", "e", [("retmax", "5"), ("email", "x"), ("term", "a")])
    others = [
        cache_key("http://t", "e", [("term", "a"), ("retmax", "5")]),
        cache_key("http://s", "f", [("term", "a"), ("retmax", "5")]),
        cache_key("http://s", "e", [("term", "A"), ("retmax", "5")]),
        cache_key("http://s", "e", [("term", "a"), ("retmax", "6")]),
        cache_key("http://s", "e", [("term", 'a"],["retmax","5')]),
    ]
    assert len({one, *others}) == 6


def test_answers_come_back_and_expire(tmp_path):
    now = [1000.0]
    cache = AnswerCache(tmp_path / "deep" / "cache.sqlite", expiry_s=60, clock=lambda: now[0])
    assert cache.get(key(1)) is None
    cache.put(key(1), b"body" * 100)
    cache.put(key(2), b"")
    assert cache.get(key(1)) == b"body" * 100
    assert cache.get(key(2)) == b""
    cache.close()
    assert cache.get(key(1)) == b"body" * 100  # opened again
    now[0] += 60
    assert cache.get(key(1)) == b"body" * 100
    now[0] += 0.5
    assert cache.get(key(1)) is None
    cache.put(key(1), b"new")
    assert cache.get(key(1)) == b"new"
    cache.drop(key(1))
    assert cache.get(key(1)) is None


def test_the_oldest_go_first_and_the_bound_holds(tmp_path):
    now = [0.0]
    cache = AnswerCache(tmp_path / "c", max_bytes=10_000, clock=lambda: now[0])
    bodies = {n: random.Random(n).randbytes(1000) for n in range(30)}
    for n, body in bodies.items():
        now[0] += 1
        cache.put(key(n), body)
        assert cache.volume() <= 10_000
    kept = [n for n in bodies if cache.get(key(n)) is not None]
    assert kept == list(range(21, 30))  # nine of 1011 compressed bytes each
    assert all(cache.get(key(n)) == bodies[n] for n in kept)
    cache.put(key(99), random.Random(99).randbytes(20_000))  # larger than all
    assert cache.get(key(99)) is None
    assert cache.volume() == sum(1 for _ in kept) * 1011


@pytest.mark.parametrize("damage", ["overwritten", "middle", "text"])
def test_a_corrupt_file_is_moved_aside_and_begun_anew(tmp_path, damage, caplog):
    path = tmp_path / "cache.sqlite"
    cache = AnswerCache(path)
    for n in range(300):
        cache.put(key(n), random.Random(n).randbytes(300))
    cache.close()
    whole = path.read_bytes()
    if damage == "overwritten":
        path.write_bytes(random.Random(0).randbytes(len(whole)))
    elif damage == "middle":
        path.write_bytes(whole[:4096] + random.Random(0).randbytes(len(whole) - 4096))
    else:
        path.write_bytes(b"this is no database, it only sits in its place\n" * 50)
    again = AnswerCache(path)
    for n in range(300):
        assert again.get(key(n)) in (None, random.Random(n).randbytes(300))
    again.put(key(1), b"fresh")
    assert again.get(key(1)) == b"fresh"
    assert [one.name for one in tmp_path.glob("*.corrupt-*")] == ["cache.sqlite.corrupt-1"]
    assert "moved to" in caplog.text


def test_a_cache_that_cannot_be_written_fails_no_search(tmp_path, caplog):
    (tmp_path / "file").write_text("not a folder")
    cache = AnswerCache(tmp_path / "file" / "cache.sqlite")
    cache.put(key(1), b"x")
    cache.put(key(1), b"x")
    assert cache.get(key(1)) is None
    assert cache.volume() == 0
    assert caplog.text.count("answers are not cached") == 1


def test_another_schema_is_begun_anew(tmp_path):
    cache = AnswerCache(tmp_path / "c")
    cache.put(key(1), b"old")
    cache.close()
    with sqlite3.connect(tmp_path / "c") as db:
        db.execute("PRAGMA user_version = 77")
    db.close()
    assert AnswerCache(tmp_path / "c").get(key(1)) is None


WRITER = """
import random, sys
from actors.search.live.cache import AnswerCache, cache_key
cache = AnswerCache(sys.argv[1], max_bytes=60_000)
for n in range(150):
    name = cache_key("s", "e", [("n", str(n % 40))])
    body = random.Random(n % 40).randbytes(1000)
    assert cache.get(name) in (None, body)
    cache.put(name, body)
    assert cache.get(name) == body
assert not cache._complained
"""


def test_processes_and_threads_share_a_file(tmp_path):
    root = Path(__file__).parents[4]
    command = [sys.executable, "-c", WRITER, str(tmp_path / "c")]
    others = [subprocess.Popen(command, cwd=root) for _ in range(2)]
    shared = AnswerCache(tmp_path / "c", max_bytes=60_000)
    wrong = []

    def work() -> None:
        for n in range(100):
            name = cache_key("s", "e", [("n", str(n % 40))])
            body = random.Random(n % 40).randbytes(1000)
            shared.put(name, body)
            if shared.get(name) != body:
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.wait() for one in others] == [0, 0]
    assert wrong == []
    assert shared.volume() == 40 * 1011
