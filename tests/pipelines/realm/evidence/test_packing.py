import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.expansion.lexical import LexicalReranker
from actors.expansion.types import OrderScore, QueryOrders, RerankerError
from pipelines.corag.types import TreeSettings
from pipelines.data.tokens import TokenCounter
from pipelines.realm.evidence.integrate import EvidenceIntegrator
from pipelines.realm.evidence.packing import CoragPacker
from pipelines.realm.evidence.relevance import LexicalScorer
from pipelines.realm.types import Integration, Passage
from tests.tiny import write_model

GOUT = Passage("g", "Gout", "Zinc was given for gout. It did not help the patients at all.")
IRON = Passage("i", "Iron", "Iron is a metal. It rusts in wet air.")


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> TokenCounter:
    return TokenCounter(write_model(Path(tmp_path_factory.mktemp("model"))))


def packer(counter: TokenCounter, budget: int = 64, **options: object) -> CoragPacker:
    return CoragPacker(LexicalReranker(), counter, budget=budget, chunk_tokens=24, **options)  # type: ignore[arg-type]


def test_the_chunk_that_answers_is_packed_first(counter: TokenCounter):
    text, ids = asyncio.run(packer(counter).pack("zinc for gout", [IRON, GOUT]))
    assert text.startswith("Gout: Zinc was given for gout.")
    assert ids[0] == "g"


def test_the_best_order_of_all_is_found_where_all_can_be_tried(counter: TokenCounter):
    # One chunk a passage; with iterations to spare the tree tries every order that fits, and picks
    # by the reranker's own reward: no set of chunks may score better than the chosen one.
    short = [Passage(str(n), "", text) for n, text in enumerate(("zinc", "gout", "sea", "air"))]
    wide = packer(counter, settings=TreeSettings(iterations=200, pick="reward"))
    text, ids = asyncio.run(wide.pack("zinc gout", short))
    reranker = LexicalReranker()
    texts = {p.id: p.text for p in short}
    orders = [(a,) for a in texts] + [(a, b) for a in texts for b in texts if a != b]
    (scores,) = reranker.score([QueryOrders("zinc gout", texts, (ids, *orders))])
    assert scores[0].value == max(score.value for score in scores)
    assert text == "\n".join(texts[id] for id in ids)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("abg .\nzé"), max_size=120), max_size=4),
    st.integers(32, 90),
)
def test_never_over_the_budget(counter: TokenCounter, texts: list[str], budget: int):
    passages = [Passage(str(n), "Gout", text) for n, text in enumerate(texts)]
    text, ids = asyncio.run(packer(counter, budget).pack("a gout", passages))
    assert counter.count(text) <= budget
    assert set(ids) <= {p.id for p in passages}


def test_many_at_once_get_what_each_gets_alone(counter: TokenCounter):
    asked = [("zinc", [GOUT, IRON]), ("rust", [GOUT, IRON]), ("metal", [IRON])]

    async def together() -> list[tuple[str, tuple[str, ...]]]:
        held = packer(counter)
        return list(await asyncio.gather(*(held.pack(*each) for each in asked)))

    assert asyncio.run(together()) == [asyncio.run(packer(counter).pack(*each)) for each in asked]


class Refusing(LexicalReranker):
    """Cannot score one query."""

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        if any(part.query == "bad" for part in batch):
            raise RerankerError("no scores for this")
        return super().score(batch)


def test_a_query_that_cannot_be_scored_costs_no_other(counter: TokenCounter):
    held = CoragPacker(Refusing(), counter, budget=64)

    async def run() -> list[object]:
        asked = (held.pack(query, [GOUT]) for query in ("zinc", "bad", "gout"))
        return list(await asyncio.gather(*asked, return_exceptions=True))

    first, bad, last = asyncio.run(run())
    assert isinstance(bad, RerankerError)
    assert isinstance(first, tuple)
    assert isinstance(last, tuple)


def test_nothing_to_pack_and_no_room(counter: TokenCounter):
    assert asyncio.run(packer(counter).pack("q", [])) == ("", ())
    assert asyncio.run(packer(counter).pack("q", [Passage("e", "", " ")])) == ("", ())
    with pytest.raises(ValueError, match="evidence budget is 8 tokens"):
        packer(counter, budget=8)
    with pytest.raises(ValueError, match="chunk_tokens is 2"):
        CoragPacker(LexicalReranker(), counter, chunk_tokens=2)


def test_it_is_one_of_the_integrations(counter: TokenCounter):
    integrator = EvidenceIntegrator(LexicalScorer(), packer=packer(counter), count=counter.count)
    assert integrator.integrations == frozenset(Integration)
    text, ids = asyncio.run(integrator.take_in("q", "zinc", [GOUT, IRON], Integration.CORAG))
    assert ids
    assert integrator.totals[Integration.CORAG].kept_tokens == counter.count(text) <= 64
