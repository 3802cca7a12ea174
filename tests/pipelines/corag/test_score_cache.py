import logging
import sqlite3
import threading

import pytest

from actors.expansion.types import OrderScore
from pipelines.corag.score_cache import OrderKeys, ScoreCache, ScoreCacheError
from tests.pipelines.corag.scoring_toys import chunks

SCORES = {bytes([i]): OrderScore(0.1 * i, i, i > 1) for i in range(4)}


def test_keys_stand_for_reranker_query_and_texts_in_order():
    keys = OrderKeys("r", "q", chunks(3))
    assert keys((0, 1)) == OrderKeys("r", "q", chunks(2))((0, 1))
    different = [
        keys((0, 1)),
        keys((1, 0)),
        keys((0,)),
        keys((0, 1, 2)),
        OrderKeys("r2", "q", chunks(2))((0, 1)),
        OrderKeys("r", "q2", chunks(2))((0, 1)),
        OrderKeys("rq", "", chunks(2))((0, 1)),
        OrderKeys("r", "q", chunks(2, mark="x"))((0, 1)),
    ]
    assert len(set(different)) == len(different)


def test_the_least_recently_used_go_first():
    cache = ScoreCache(max_entries=2)
    cache.put_many({key: SCORES[key] for key in (b"\0", b"\1")})
    assert cache.get(b"\0") == SCORES[b"\0"]
    cache.put_many({b"\2": SCORES[b"\2"]})
    assert cache.get_many(SCORES) == {key: SCORES[key] for key in (b"\0", b"\2")}
    assert len(cache) == 2
    with pytest.raises(ValueError, match="max_entries is 0"):
        ScoreCache(max_entries=0)


def test_a_file_keeps_all_exactly(tmp_path):
    path = tmp_path / "new" / "scores.sqlite"
    with ScoreCache(max_entries=1, path=path) as cache, ScoreCache(path=path) as other:
        cache.put_many(SCORES)
        assert other.get_many(SCORES) == SCORES  # another process's scores are seen at once
        assert cache.get_many(SCORES) == SCORES
        assert len(cache) == 1
    many = {i.to_bytes(4, "big"): OrderScore(i / 2000, i) for i in range(2000)}
    with ScoreCache(max_entries=1, path=path) as cache:
        cache.put_many(many)
        assert cache.get_many(many) == many
        assert cache.get(b"none") is None
    with ScoreCache(path=path) as cache:
        assert len(cache) == 0
        cache.get_many(SCORES)
        assert len(cache) == 4  # what was read is in memory from then on


def test_threads_share_a_file(tmp_path):
    path = tmp_path / "scores.sqlite"
    ScoreCache(path=path).close()

    def fill(part: int) -> None:
        with ScoreCache(path=path) as cache:
            for i in range(20):
                cache.put_many({bytes([part, i]): OrderScore(i / 20, part)})

    threads = [threading.Thread(target=fill, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ScoreCache(path=path) as cache:
        keys = [bytes([part, i]) for part in range(4) for i in range(20)]
        assert len(cache.get_many(keys)) == 80


def test_a_file_that_is_no_cache_is_one_clear_error(tmp_path):
    (tmp_path / "text").write_text("not a database, and long enough to be one " * 30)
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE scores(name TEXT)")
    other.close()
    for path in (tmp_path / "text", tmp_path / "other", tmp_path, tmp_path / "text" / "below"):
        with pytest.raises(ScoreCacheError, match=str(path)):
            ScoreCache(path=path)


def test_a_file_that_fails_later_is_done_without(tmp_path, caplog):
    cache = ScoreCache(path=tmp_path / "scores.sqlite")
    vandal = sqlite3.connect(tmp_path / "scores.sqlite")
    vandal.execute("DROP TABLE scores")
    vandal.commit()
    with caplog.at_level(logging.WARNING):
        cache.put_many(SCORES)
        cache.put_many(SCORES)
        assert cache.get_many([*SCORES, b"unknown"]) == SCORES
    assert caplog.text.count("going on without the file") == 1
