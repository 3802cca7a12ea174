import pytest

from actors.search import sharding
from actors.search.index import build_index, open_index
from actors.search.lookup import Atom, Statistics
from actors.search.sharded import ShardedEngine
from actors.search.sharding import Facts, GatheredCorpus, Questions, ShardPlanner
from actors.search.types import Record, SearchRequest
from actors.search.worker import ShardWorker


def test_what_broke_one_batch_is_not_asked_for_the_next():
    asked = []

    def ask(questions):
        asked.append(questions)
        if len(asked) == 1:
            raise RuntimeError("a shard died of it")
        return Facts(
            (1,) * len(questions.counts),
            ((),) * len(questions.variations),
            tuple((1,) * len(atom.stores) for atom in questions.frequencies),
        )

    corpus = GatheredCorpus(frozenset({"title", "abstract"}), Statistics(1, {}))
    planner = ShardPlanner(corpus, ask)
    with pytest.raises(RuntimeError, match="died of it"):
        planner.plan([SearchRequest("poison", 1)])
    assert "poison" in str(asked[0])
    planner.plan([SearchRequest("innocent", 1)])
    assert "innocent" in str(asked[1:])
    assert "poison" not in str(asked[1:])


@pytest.mark.parametrize(("words", "full"), [(598, False), (599, True)])
def test_the_words_of_variations_count_as_facts(monkeypatch, words, full):
    monkeypatch.setattr(sharding, "MAX_FACTS", 600)
    corpus = GatheredCorpus(frozenset({"title"}), Statistics(1, {}))
    rat, begins = Atom(("title",), ("rat",)), (("title",), "a", 600)
    facts = Facts((3,), (tuple(f"a{n}" for n in range(words)),))
    corpus.learn(Questions(counts=(rat,), variations=(begins,)), facts)
    assert corpus.forget_if_full() is full
    assert corpus.count(rat) == (1 if full else 3)  # 1: guessed
    assert corpus.forget_if_full() is False


def test_records_are_fetched_from_the_shards_that_have_them(tmp_path):
    build_index([Record(str(n), f"title {n}") for n in range(1, 8)], tmp_path / "i", shards=3)
    engine = ShardedEngine([open_index(tmp_path / "i", shard=n) for n in range(3)])
    assert engine.fetch(["7", "1", "7", "4"]) == [
        ("title 7", ""), ("title 1", ""), ("title 7", ""), ("title 4", ""),
    ]  # fmt: skip
    assert engine.fetch([]) == []
    assert engine.record("5").title == "title 5"
    with pytest.raises(KeyError, match="no record '9' in the index of 'corpus'"):
        engine.fetch(["1", "9"])
    parts = [ShardWorker(tmp_path / "i", n).fetch(["7", "9", "1", "7"]) for n in range(3)]
    for place, title in enumerate(["title 7", None, "title 1", "title 7"]):
        found = [part[place] for part in parts if part[place] is not None]
        assert found == ([] if title is None else [(title, "")])
