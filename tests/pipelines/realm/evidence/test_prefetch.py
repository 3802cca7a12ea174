import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.search.ranking.analysis import Analysis
from actors.search.ranking.bm25 import Bm25Engine
from actors.search.ranking.folder import build_passages_index, open_engine
from actors.search.types import InfraFailure, SearchRequest
from pipelines.realm.evidence.guesses import StepGuesser
from pipelines.realm.evidence.prefetch import Found, SpeculativeCache, same_words
from pipelines.realm.queries import QueryMaker
from pipelines.realm.types import Passage, Step, StepState, Uncertainty


@dataclass
class Shelf:
    """Finds a passage that tells the query; searches of `held` wait until they are let go."""

    asked: list[str] = field(default_factory=list)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    down: bool = False
    wide: int = 1

    async def search(self, query: str, k: int) -> Found:
        self.asked.append(query)
        if query in self.held:
            await self.held[query].wait()
        if self.down:
            return InfraFailure("the index is down")
        return tuple(Passage(f"{query}{n}", query, f"of {query}, {k}") for n in range(self.wide))


async def unmeasured() -> Uncertainty:
    raise AssertionError("queries need no uncertainty")


NO_SESSION: Any = None


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_hit_is_what_the_search_would_have_brought():
    async def run() -> None:
        shelf = Shelf()
        cache = SpeculativeCache(shelf, grace_s=0)
        cache.prefetch(["guess"], 5)
        await settled()
        assert cache.has("guess", 5)
        assert not cache.has("guess", 4)
        assert await cache.search("guess", 5) == await Shelf().search("guess", 5)
        assert await cache.search("guess", 4) == await Shelf().search("guess", 4)
        assert await cache.search("guess", 5) == await Shelf().search("guess", 5)
        assert shelf.asked == ["guess", "guess"]
        totals = cache.totals
        assert (totals.hits, totals.late, totals.repeats, totals.misses) == (1, 0, 1, 1)
        assert (totals.searches, totals.hit_rate, totals.started) == (3, 1 / 3, 1)

    asyncio.run(run())


def test_a_search_waits_for_its_own_prefetch_and_for_no_other():
    async def run() -> None:
        shelf = Shelf()
        shelf.held = {"slow": asyncio.Event()}
        cache = SpeculativeCache(shelf, grace_s=0)
        cache.prefetch(["slow"], 5)
        await settled()
        other = await asyncio.wait_for(cache.search("other", 5), 30)  # "slow" still runs
        assert other == await Shelf().search("other", 5)
        own = asyncio.create_task(cache.search("slow", 5))
        await settled()
        assert not own.done()
        shelf.held["slow"].set()
        assert await own == await Shelf().search("slow", 5)
        assert shelf.asked == ["slow", "other"]
        assert (cache.totals.late, cache.totals.misses) == (1, 1)

    asyncio.run(run())


def test_no_prefetch_starts_while_a_search_runs():
    async def run() -> None:
        shelf = Shelf()
        shelf.held = {"real": asyncio.Event()}
        cache = SpeculativeCache(shelf, grace_s=0)
        real = asyncio.create_task(cache.search("real", 5))
        await settled()
        cache.prefetch(["later"], 5)
        await settled()
        assert shelf.asked == ["real"]
        shelf.held["real"].set()
        await real
        await settled()
        assert shelf.asked == ["real", "later"]

    asyncio.run(run())


def test_a_search_that_comes_at_once_goes_before_the_guesses():
    async def run() -> None:
        shelf = Shelf()
        cache = SpeculativeCache(shelf, grace_s=0.01)
        cache.prefetch(["guess"], 5)
        await settled()
        assert shelf.asked == []
        await cache.search("real", 5)
        assert shelf.asked == ["real"]
        for _ in range(1000):
            if len(shelf.asked) > 1:
                break
            await asyncio.sleep(0.01)
        assert shelf.asked == ["real", "guess"]

    asyncio.run(run())


def test_prefetches_run_one_at_a_time_the_newest_first():
    async def run() -> None:
        shelf = Shelf()
        shelf.held = {"0": asyncio.Event()}
        cache = SpeculativeCache(shelf, waiting=2, grace_s=0)
        cache.prefetch(["0"], 5)
        await settled()
        for guess in ("1", "2", "3", "3", "0", " "):
            cache.prefetch([guess], 5)
        await settled()
        assert shelf.asked == ["0"]
        shelf.held["0"].set()
        await settled()
        assert shelf.asked == ["0", "3", "2"]
        assert cache.totals.dropped == 1

    asyncio.run(run())


def test_prefetches_may_have_a_retriever_of_their_own():
    async def run() -> None:
        shelf, other = Shelf(), Shelf()
        cache = SpeculativeCache(shelf, background=other, grace_s=0)
        cache.prefetch(["a"], 5)
        await settled()
        assert await cache.search("a", 5) == await Shelf().search("a", 5)
        assert (shelf.asked, other.asked) == ([], ["a"])

    asyncio.run(run())


def test_failures_are_not_kept():
    class Broken(Shelf):
        async def search(self, query: str, k: int) -> Found:
            raise OSError("the disk is gone")

    async def run() -> None:
        shelf = Shelf(down=True)
        cache = SpeculativeCache(shelf, grace_s=0)
        cache.prefetch(["a"], 5)
        await settled()
        assert isinstance(await cache.search("a", 5), InfraFailure)
        shelf.down = False
        assert await cache.search("a", 5) == await Shelf().search("a", 5)
        assert cache.totals.failed == 1

        broken = SpeculativeCache(Shelf(), background=Broken(), grace_s=0)
        broken.prefetch(["a"], 5)
        await settled()
        assert broken.totals.failed == 1
        assert await broken.search("a", 5) == await Shelf().search("a", 5)

    asyncio.run(run())


def test_a_prefetch_that_fails_on_the_way_is_asked_anew():
    async def run() -> None:
        shelf = Shelf(down=True)
        shelf.held = {"a": asyncio.Event()}
        cache = SpeculativeCache(shelf, background=shelf, grace_s=0)
        cache.prefetch(["a"], 5)
        await settled()
        real = asyncio.create_task(cache.search("a", 5))
        await settled()
        shelf.held["a"].set()
        assert isinstance(await real, InfraFailure)
        assert shelf.asked == ["a", "a"]
        assert (cache.totals.late, cache.totals.misses) == (0, 1)

    asyncio.run(run())


@given(st.lists(st.sampled_from("abcdef"), max_size=30))
def test_memory_is_bounded(queries: list[str]):
    async def run() -> None:
        cache = SpeculativeCache(Shelf(wide=3), capacity=7, grace_s=0)
        for query in queries:
            assert await cache.search(query, 3) == await Shelf(wide=3).search(query, 3)
            assert sum(len(held.passages) for held in cache._held.values()) <= 7
        assert cache.totals.searches == len(queries)

    asyncio.run(run())


def test_closing_leaves_nothing_behind():
    async def run() -> None:
        shelf = Shelf()
        shelf.held = {"b": asyncio.Event()}
        cache = SpeculativeCache(shelf, grace_s=0)
        cache.prefetch(["b"], 5)
        await settled()
        cache.prefetch(["c", "d"], 5)
        shelf.held["b"].set()
        await cache.close()
        assert shelf.asked == ["b"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="capacity is 0"):
        SpeculativeCache(Shelf(), capacity=0)


def test_what_is_guessed_while_a_step_is_written():
    async def run() -> None:
        shelf = Shelf()
        maker = lambda question, step: f"{question} {step.strip()}"  # noqa: E731
        cache = SpeculativeCache(
            shelf, guess=StepGuesser((lambda q, s: s.strip(), maker), early=1), grace_s=0
        )
        step = ""
        for piece in ("Ada wrote", " it in St.", " Ives", ". ", "Then"):
            step += piece
            cache.observe("Who?", step, 5)
            await settled()
        assert shelf.asked == ["Ada wrote it in St.", "Ada wrote it in St. Ives."]
        cache.observe("Who?", "Ada wrote it in St. Ives. ", 5, complete=True)
        await settled()
        assert shelf.asked[2:] == ["Who? Ada wrote it in St. Ives."]

    asyncio.run(run())


def test_guesses():
    guess = StepGuesser((lambda question, step: step.strip(),))
    assert guess("q", "It is so.", False) == ["It is so."]
    assert guess("q", 'He said "no!" ', False) == ['He said "no!"']
    assert guess("q", "It is\n", False) == ["It is"]
    assert guess("q", "It is", False) == []
    assert guess("q", "It is", True) == ["It is"]
    assert guess("q", " \n", True) == []
    with pytest.raises(ValueError, match="way of making queries"):
        StepGuesser(())


def test_guesses_are_the_queries_that_the_step_would_make():
    step = "Okay. First I need to find the director of Jaws. "
    state = StepState("When was he born?", (Step(0, step),), (), 1, unmeasured, NO_SESSION, 0)
    made = [asyncio.run(QueryMaker().query(state, f)) for f in QueryMaker().formulations]
    guessed = StepGuesser()("When was he born?", step, False)
    assert set(guessed) == set(made)
    assert "What is the director of Jaws?" in guessed


WORDS = ["gout", "Zinc", "the", "of", "iron", "irons", "and"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Bm25Engine:
    folder = Path(tmp_path_factory.mktemp("index")) / "index"
    texts = ["zinc for gout", "iron and zinc", "gout of iron gout", "iron iron iron", "sea"]
    passages = [Passage(f"p{n}", "", text) for n, text in enumerate(texts)]
    build_passages_index(passages, folder, corpus="toy")
    opened = open_engine(folder, "bm25")
    assert isinstance(opened, Bm25Engine)
    return opened


@given(query=st.lists(st.sampled_from(WORDS), max_size=5), noise=st.lists(st.integers(0, 9)))
def test_queries_of_the_same_words_have_equal_results(
    engine: Bm25Engine, query: list[str], noise: list[int]
):
    """What `same_words` calls equal is equal to the last bit, for the real engine."""
    key = same_words(Analysis().words)
    other = list(query)
    for at in noise:  # stop words, case and punctuation make no other key
        other.insert(at % (len(other) + 1), ("the", "OF,", "and")[at % 3])
    first, second = " ".join(query), " ".join(other).upper() + "?"
    assert key(first) == key(second)
    found = [engine.search(SearchRequest(text, 3, syntax="bag")) for text in (first, second)]
    assert getattr(found[0], "ids", None) == getattr(found[1], "ids", None)
    assert getattr(found[0], "scores", None) == getattr(found[1], "scores", None)
