"""Completions on disk."""

import multiprocessing
import sqlite3

import pytest

from actors.rollout.types import Sampling
from pipelines.corag.answer_cache import AnswerCache, AnswerCacheError, Written, answer_key

GREEDY = Sampling(max_new_tokens=8, temperature=0.0)


def test_what_is_put_is_there_after_reopening(tmp_path):
    cache = AnswerCache(tmp_path / "sub" / "answers.sqlite")
    keys = [answer_key("m", [i], GREEDY) for i in range(1200)]
    for i in (0, 7, 1199):
        cache.put(keys[i], Written(f"text {i}", i, i == 7))
    cache.put(keys[7], Written("another", 1, False))  # the first stays
    cache.close()
    found = AnswerCache(tmp_path / "sub" / "answers.sqlite").get(keys)
    assert found == {keys[i]: Written(f"text {i}", i, i == 7) for i in (0, 7, 1199)}


def test_keys_tell_apart_what_makes_another_text():
    sampled = Sampling(max_new_tokens=8, temperature=0.7)
    keys = [
        answer_key("m", [1, 2], GREEDY),
        answer_key("n", [1, 2], GREEDY),
        answer_key("m", [12], GREEDY),
        answer_key("m", [1, 2], Sampling(max_new_tokens=9, temperature=0.0)),
        answer_key("m", [1, 2], sampled, 0),
        answer_key("m", [1, 2], sampled, 1),
    ]
    assert len(set(keys)) == len(keys)
    assert answer_key("m", (1, 2), GREEDY, 5) == keys[0]  # greedy: the seed changes nothing


def _put_many(path, start):
    cache = AnswerCache(path)
    for i in range(start, start + 100):
        cache.put(answer_key("m", [i], GREEDY), Written(str(i), 1, False))


def test_several_processes_write_at_once(tmp_path):
    path = tmp_path / "answers.sqlite"
    context = multiprocessing.get_context("fork")
    AnswerCache(path)
    writers = [context.Process(target=_put_many, args=(path, start)) for start in (0, 50, 100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(AnswerCache(path)) == 200


def test_a_forked_process_opens_its_own_connection(tmp_path):
    cache = AnswerCache(tmp_path / "answers.sqlite")
    child = multiprocessing.get_context("fork").Process(
        target=cache.put, args=(b"child", Written("from the child", 1, False))
    )
    child.start()
    child.join()
    assert cache.get([b"child"])[b"child"].text == "from the child"


def test_a_file_that_is_no_cache_is_named(tmp_path):
    path = tmp_path / "answers.sqlite"
    path.write_bytes(b"no database, but long enough to be read as one" * 100)
    with pytest.raises(AnswerCacheError, match=r"answers\.sqlite.*remove the file"):
        AnswerCache(path)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE written (other TEXT)")
    with pytest.raises(AnswerCacheError, match=r"other\.sqlite"):
        AnswerCache(other).get([b"x"])
