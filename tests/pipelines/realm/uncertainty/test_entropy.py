"""U_ent: entropy of an entity over the index."""

import asyncio
import math

import pytest

from actors.search.types import InfraFailure
from pipelines.realm.types import Passage
from pipelines.realm.uncertainty.entities import find_entities
from pipelines.realm.uncertainty.entropy import EntityEntropy, entity_entropy


class Index:
    """Answers from a table, and counts."""

    def __init__(self, table):
        self.table, self.asked = table, []

    async def search(self, query, k):
        self.asked.append((query, k))
        await asyncio.sleep(0)
        return self.table.get(query, ())


def passage(id, text, score):
    return Passage(id, "", text, score)


def test_entropy_by_hand():
    held = [passage("1", "Paris here", 3.0), passage("2", "and paris", 1.0)]
    other = [passage("3", "Parisian, not it", 9.0), passage("4", "Paris", 0.0)]
    # shares 3/4 and 1/4; the third does not mention it, the fourth has no score
    wanted = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(100)
    assert entity_entropy("Paris", held + other) == pytest.approx(wanted)
    assert entity_entropy("Paris", held[:1]) == 0
    assert entity_entropy("Paris", other) == 1
    assert entity_entropy("Paris", ()) == 1
    even = [passage(str(i), "Paris", 2.0) for i in range(100)]
    assert entity_entropy("Paris", even) == pytest.approx(1)
    assert entity_entropy("Paris", even[:10]) == pytest.approx(0.5)


def test_title_counts_as_mention():
    assert entity_entropy("Lux", [Passage("1", "Lux", "a film", 1.0)]) == 0


def test_mean_over_entities_each_looked_up_once():
    index = Index({"What is Paris?": (passage("1", "Paris", 1.0),)})
    entropy = EntityEntropy(index)

    async def twice():
        step = find_entities("Paris or Lyon")
        first = await asyncio.gather(entropy.of_step(step), entropy.of_step(step))
        return [*first, await entropy.of_step(find_entities("Lyon"))]

    first, second, third = asyncio.run(twice())
    assert (first.value, second.value, third.value) == (0.5, 0.5, 1.0)  # Paris 0, Lyon 1
    assert index.asked == [("What is Paris?", 100), ("What is Lyon?", 100)]
    assert (first.searches, first.cached) == (2, 0)
    assert (second.searches, second.cached, third.cached) == (0, 2, 1)


def test_no_entities_no_value():
    found = asyncio.run(EntityEntropy(Index({})).of_step([]))
    assert found.value is None
    assert not found.failure


def test_a_failing_index_is_told_and_not_kept():
    index = Index({"What is Paris?": InfraFailure("down")})
    entropy = EntityEntropy(index)
    found = asyncio.run(entropy.of_step(find_entities("Paris, Lyon")))
    assert (found.value, found.failure) == (1.0, "down")  # Lyon alone
    index.table = {"What is Paris?": (passage("1", "Paris", 1.0),)}
    assert asyncio.run(entropy.of_step(find_entities("Paris"))).value == 0


def test_keeps_no_more_than_it_may():
    index = Index({})
    entropy = EntityEntropy(index, keep=1)

    async def all_three():
        for name in ("Rome", "Lyon", "Rome"):
            await entropy.of_step(find_entities(f"in {name}"))

    asyncio.run(all_three())
    assert len(index.asked) == 3


def test_over_a_real_index(tmp_path):
    from actors.search.ranking.folder import build_passages_index
    from pipelines.realm.retrieval import open_retriever

    texts = ["Zora wrote Lux in Oslo.", "Lux is a film.", "Oslo is a city.", "Nothing of these."]
    passages = [Passage(str(i), "", text) for i, text in enumerate(texts)]
    build_passages_index(passages, tmp_path / "index", corpus="own")
    retriever = open_retriever(tmp_path / "index")

    async def look():
        step = find_entities("Zora, Oslo, Atlantis")
        return await EntityEntropy(retriever).of_step(step), await retriever.search(
            "What is Oslo?", 100
        )

    found, oslo = asyncio.run(look())
    retriever.close()
    scores = [p.score for p in oslo if "Oslo" in p.text]
    assert len(scores) == 2
    shares = [score / sum(scores) for score in scores]
    of_oslo = -sum(p * math.log(p) for p in shares) / math.log(100)
    assert found.value == pytest.approx((0 + of_oslo + 1) / 3)
