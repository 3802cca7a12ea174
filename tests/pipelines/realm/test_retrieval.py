import asyncio
import shutil
import threading

import pytest

from actors.search.ranking.failures import PassagesError, PassagesMismatchError
from actors.search.types import InfraFailure, QueryError, SearchResult
from pipelines.data.multihop import load_hop_set
from pipelines.realm.indexing import build_hop_index
from pipelines.realm.retrieval import SearchingRetriever, open_retriever
from tests.pipelines.realm.pools import rows, write
from tests.tiny_embedder import write_embedder


@pytest.fixture(scope="module")
def hop_set(tmp_path_factory):
    return load_hop_set(write(tmp_path_factory.mktemp("set") / "films.jsonl", rows()))


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    from actors.search.dense.embed import Embedder

    return Embedder(write_embedder(tmp_path_factory.mktemp("embedder") / "tiny"))


@pytest.fixture(scope="module")
def folder(hop_set, embedder, tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "films"
    assert build_hop_index(hop_set, path, embedder=embedder).count == len(hop_set.passages)
    return path


class Gate:
    """An engine that stops in its first search until it is let go, and notes its batches."""

    def __init__(self, fails=(), stops=True):
        self.batches, self.fails = [], set(fails)
        self.entered, self.go = threading.Event(), threading.Event()
        if not stops:
            self.go.set()

    def search_many(self, requests):
        self.batches.append([request.query for request in requests])
        self.entered.set()
        assert self.go.wait(30)
        if self.fails & {request.query for request in requests}:
            raise OSError("the disk is gone")
        return [SearchResult((request.query,), 1, scores=(2.0,)) for request in requests]

    def fetch(self, ids):
        return [(f"title {id}", f"text {id}") for id in ids]


def ids(found):
    return [passage.id for passage in found]


def test_searches_find_the_passages_with_title_text_and_score(folder):
    with open_retriever(folder) as retriever:
        found = asyncio.run(retriever.search("Who directed Red Lantern?", 2))
    assert found[0].id == "q1#0"
    assert found[0].title == "Red Lantern"
    assert found[0].text == "Red Lantern is a film directed by Ben Stone."
    assert found[0].score > found[1].score > 0


def test_all_kinds_give_what_their_engine_gives(folder, embedder):
    from actors.search.ranking.folder import open_engine
    from actors.search.types import SearchRequest

    for kind in ("bm25", "dense", "hybrid"):
        engine = open_engine(folder, kind, embedder=embedder)
        with open_retriever(folder, kind, embedder=embedder) as retriever:
            for query in ("Silver Tide", "born in Castine", "moving pictures"):
                expected = engine.search(SearchRequest(query, 4))
                assert ids(asyncio.run(retriever.search(query, 4))) == list(expected.ids)


def test_an_index_without_vectors_or_of_another_corpus_is_refused(hop_set, tmp_path):
    manifest = build_hop_index(hop_set, tmp_path / "lexical")
    with pytest.raises(PassagesError, match="build the index with an embedding model"):
        open_retriever(tmp_path / "lexical", "dense")
    with pytest.raises(PassagesMismatchError, match="wanted was the corpus"):
        open_retriever(tmp_path / "lexical", corpus_hash="0" * 64)
    with pytest.raises(PassagesError, match=r"passages\.json"):
        open_retriever(tmp_path / "nothing")
    open_retriever(tmp_path / "lexical", corpus_hash=manifest.corpus_hash).close()


def test_queries_without_words_bring_nothing(folder):
    with open_retriever(folder) as retriever:
        for query in ("", "   ", "?!", "the of and", "x" * 300_000):
            assert asyncio.run(retriever.search(query, 3)) == ()
        assert asyncio.run(retriever.search("Silver Tide", 0)) == ()


def test_what_comes_while_a_search_runs_is_one_batch():
    gate = Gate()
    retriever = SearchingRetriever(gate, max_batch=3)

    async def run():
        first = asyncio.create_task(retriever.search("a", 1))
        await asyncio.to_thread(gate.entered.wait, 30)
        rest = [asyncio.create_task(retriever.search(query, 1)) for query in "bcbd"]
        await asyncio.sleep(0)
        gate.go.set()
        return [await task for task in (first, *rest)]

    found = asyncio.run(run())
    assert [ids(each) for each in found] == [["a"], ["b"], ["c"], ["b"], ["d"]]
    assert found[1][0].text == "text b"
    assert gate.batches == [["a"], ["b", "c"], ["d"]]  # three of them, two alike; then the last
    assert (retriever.counts.searches, retriever.counts.batches) == (5, 3)
    retriever.close()


def test_a_retriever_serves_one_loop_after_the_other_and_two_at_once(folder):
    with open_retriever(folder) as retriever:
        queries = ("Silver Tide", "Cold Ember")
        alone = [asyncio.run(retriever.search(query, 3)) for query in queries]
        found = [None, None]

        def other(place):
            found[place] = asyncio.run(retriever.search(queries[place], 3))

        threads = [threading.Thread(target=other, args=(place,)) for place in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == alone


def test_a_failing_query_fails_alone():
    retriever = SearchingRetriever(gate := Gate(fails=["bad"]))

    async def run():
        first = asyncio.create_task(retriever.search("first", 1))
        await asyncio.to_thread(gate.entered.wait, 30)
        rest = [asyncio.create_task(retriever.search(query, 1)) for query in ("good", "bad")]
        await asyncio.sleep(0)
        gate.go.set()
        await first
        return await asyncio.gather(*rest)

    good, bad = asyncio.run(run())
    assert ids(good) == ["good"]
    assert bad == InfraFailure("OSError: the disk is gone")
    assert retriever.counts.failures == 1
    retriever.close()


def test_outcomes_that_are_no_results():
    class Odd:
        def search_many(self, requests):
            outcomes = {"down": InfraFailure("down"), "syntax": QueryError("syntax", "syntax")}
            return [outcomes[request.query] for request in requests]

        def fetch(self, ids):
            return []

    with SearchingRetriever(Odd()) as retriever:
        assert asyncio.run(retriever.search("down", 1)) == InfraFailure("down")
        assert asyncio.run(retriever.search("syntax", 1)) == ()


def test_a_passage_that_cannot_be_fetched_is_an_infrastructure_failure():
    class Torn(Gate):
        def fetch(self, ids):
            raise KeyError(ids[0])

    with SearchingRetriever(Torn(stops=False)) as retriever:
        found = asyncio.run(retriever.search("a", 1))
    assert isinstance(found, InfraFailure)


def test_an_engine_that_hangs_is_left_alone_and_tried_again():
    retriever = SearchingRetriever(gate := Gate(), timeout_s=1.0)
    assert asyncio.run(retriever.search("a", 1)) == InfraFailure("the index gave no answer in 1 s")
    assert gate.batches == [["a"]]  # it is still in there
    retriever._engine = Gate(stops=False)
    assert ids(asyncio.run(retriever.search("b", 1))) == ["b"]
    gate.go.set()
    assert ids(asyncio.run(retriever.search("c", 1))) == ["c"]
    assert gate.batches == [["a"]]
    retriever.close()


def test_a_hang_that_the_caller_did_not_wait_out_is_seen_all_the_same():
    retriever = SearchingRetriever(gate := Gate(), timeout_s=0.5)

    async def run():
        first = asyncio.create_task(retriever.search("a", 1))
        await asyncio.to_thread(gate.entered.wait, 30)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        retriever._engine = Gate(stops=False)
        while isinstance(found := await retriever.search("b", 1), InfraFailure):
            pass
        return found

    assert ids(asyncio.run(run())) == ["b"]
    gate.go.set()
    retriever.close()


def test_an_engine_of_one_thread_is_not_entered_twice():
    retriever = SearchingRetriever(gate := Gate(), timeout_s=0.1, again=False)
    for query in "ab":
        assert isinstance(asyncio.run(retriever.search(query, 1)), InfraFailure)
    assert gate.batches == [["a"]]
    gate.go.set()

    async def until_it_answers():
        while isinstance(found := await retriever.search("c", 1), InfraFailure):
            pass
        return found

    assert ids(asyncio.run(until_it_answers())) == ["c"]
    assert ["b"] not in gate.batches  # nobody waited for it any more
    retriever.close()


def test_a_search_that_is_given_up_does_not_run():
    retriever = SearchingRetriever(gate := Gate())

    async def run():
        first = asyncio.create_task(retriever.search("a", 1))
        await asyncio.to_thread(gate.entered.wait, 30)
        second = asyncio.create_task(retriever.search("b", 1))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        gate.go.set()
        await first
        return await retriever.search("c", 1)

    assert ids(asyncio.run(run())) == ["c"]
    assert gate.batches == [["a"], ["c"]]
    retriever.close()


def test_after_close_every_search_is_a_failure_and_what_waited_is_answered():
    ended = threading.Event()
    retriever = SearchingRetriever(gate := Gate(), on_close=ended.set)

    async def run():
        waiting = asyncio.create_task(retriever.search("a", 1))
        await asyncio.to_thread(gate.entered.wait, 30)
        retriever.close()
        retriever.close()
        gate.go.set()
        return await waiting, await retriever.search("b", 1)

    answered, refused = asyncio.run(run())
    assert ids(answered) == ["a"]
    assert refused == InfraFailure("the index is closed")
    assert ended.wait(30)


def test_settings_that_make_no_retriever():
    with pytest.raises(ValueError, match="max_batch is 0"):
        SearchingRetriever(Gate(), max_batch=0)
    with pytest.raises(ValueError, match="timeout_s is 0"):
        SearchingRetriever(Gate(), timeout_s=0)


def test_an_index_that_is_whole_is_not_built_again_and_one_of_others_is_refused(hop_set, tmp_path):
    first = build_hop_index(hop_set, tmp_path / "index")
    before = (tmp_path / "index" / "passages.json").stat().st_mtime_ns
    assert build_hop_index(hop_set, tmp_path / "index") == first
    assert (tmp_path / "index" / "passages.json").stat().st_mtime_ns == before
    other = load_hop_set(write(tmp_path / "other.jsonl", rows()[:2]))
    with pytest.raises(PassagesMismatchError, match="choose another folder"):
        build_hop_index(other, tmp_path / "index")


def test_an_index_that_goes_away_is_a_failure_or_still_answers(hop_set, tmp_path):
    """Files that are mapped stay readable on Linux; nothing may raise either way."""
    build_hop_index(hop_set, tmp_path / "index")
    with open_retriever(tmp_path / "index") as retriever:
        shutil.rmtree(tmp_path / "index")
        found = asyncio.run(retriever.search("Lost Harbour", 1))
    assert isinstance(found, InfraFailure) or ids(found) == ["q2#0"]
