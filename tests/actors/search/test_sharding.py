import pytest

from actors.search.lookup import Statistics
from actors.search.sharding import Facts, GatheredCorpus, ShardPlanner
from actors.search.types import SearchRequest


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
