"""RSUS and its proxy on the simulated reasoner: the whole way from questions to a meter."""

import asyncio
from statistics import mean

import pytest

from actors.rollout.types import Sampling
from configs.realm import RsusConfig
from pipelines.data.multihop import load_hop_set
from pipelines.realm.indexing import build_hop_index
from pipelines.realm.parts import Parts
from pipelines.realm.reason import Reasoner
from pipelines.realm.retrieval import open_retriever
from pipelines.realm.segment.rules import EverySentence
from pipelines.realm.simulated import SimulatedSessions
from pipelines.realm.uncertainty.command import asking_meter, collect_from_chains, train_and_keep
from pipelines.realm.uncertainty.opening import open_meter
from pipelines.realm.uncertainty.proxy import ProxyError
from pipelines.realm.uncertainty.titles import TitleIndex
from tests.pipelines.realm import pools


class Plain:
    """The step as the query, the passages as they are."""

    async def query(self, state, formulation):
        return state.step.text

    async def take_in(self, question, query, passages, integration):
        return " ".join(p.text for p in passages), tuple(p.id for p in passages)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    lines = pools.rows()
    lines = [
        {**line, "id": f"{copy}{line['id']}", "question": f"{copy}: {line['question']}"}
        for copy in range(12)
        for line in lines
    ]
    hop_set = load_hop_set(pools.write(folder / "set.jsonl", lines))
    build_hop_index(hop_set, folder / "index")
    retriever = open_retriever(folder / "index")
    yield hop_set, retriever
    retriever.close()


def maker(world, meter, ability=None):
    hop_set, retriever = world
    engine = SimulatedSessions(hop_set.questions, hop_set.passages, ability=ability)
    plain = Plain()

    def make(question):
        session = engine.open(question.text, Sampling(400, temperature=0.0), key=question.id)
        parts = Parts(EverySentence, plain, retriever, plain, meter)
        return Reasoner(question.id, question.text, session, parts)

    return make


def test_from_questions_to_a_proxy_in_use(world, tmp_path):
    hop_set, retriever = world
    titles = TitleIndex(passage.title for passage in hop_set.passages)

    def collect():
        make = maker(world, asking_meter(retriever, titles))
        return asyncio.run(collect_from_chains(hop_set.questions, make, titles=titles))

    pairs = collect()
    assert len({pair.chain for pair in pairs}) == len(hop_set.questions)
    assert collect() == pairs  # whatever ends first
    trained = train_and_keep(pairs, tmp_path / "proxy", encoder="hashed")
    assert trained.metrics["test/mae"] < trained.metrics["test/mae_constant"]

    config = RsusConfig(verb="proxy", proxy=str(tmp_path / "proxy"))
    titles = TitleIndex(passage.title for passage in hop_set.passages)
    meter = open_meter(config, retriever=retriever, titles=titles)
    make = maker(world, meter)

    async def one():
        reasoner = make(hop_set.questions[0])
        state = await reasoner.advance()
        return await state.uncertainty()

    found = asyncio.run(one())
    assert found.verb is not None
    assert not found.warnings


def test_who_knows_is_surer(world):
    """Knowledge shows in what the reasoner states, through questions in words and real searches."""
    hop_set, retriever = world

    def stated(knows):
        make = maker(world, asking_meter(retriever), knows)
        found = asyncio.run(collect_from_chains(hop_set.questions, make, rate=0.0))
        return mean(pair.confidence for pair in found)

    assert stated(1.0) > stated(0.0) + 0.15


def test_a_proxy_that_is_not_there():
    with pytest.raises(ProxyError, match=r"rsus\.proxy names no folder"):
        open_meter(RsusConfig(verb="proxy"))
    with pytest.raises(ProxyError, match="is no proxy"):
        open_meter(RsusConfig(proxy="/nowhere"))
