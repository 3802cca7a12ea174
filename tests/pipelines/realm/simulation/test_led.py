"""The simulated reasoner under the real loop, rules, queries and BM25 index."""

import asyncio

import pytest

from actors.rollout.types import Sampling
from pipelines.data.multihop import HopSet, PooledPassage
from pipelines.realm.deciders.timing import FixedInterval, Ircot, NoRetrieval
from pipelines.realm.evidence.integrate import EvidenceIntegrator
from pipelines.realm.evidence.relevance import LexicalScorer
from pipelines.realm.indexing import build_hop_index
from pipelines.realm.parts import Parts
from pipelines.realm.queries import QueryMaker
from pipelines.realm.reason import Reasoner
from pipelines.realm.retrieval import open_retriever
from pipelines.realm.run_many import run_chains
from pipelines.realm.segment.rules import RuleSegmenter
from pipelines.realm.simulated import SimulatedSessions
from pipelines.realm.simulation.ability import Ability
from pipelines.realm.types import Formulation, Integration, Status
from tests.pipelines.realm.simulation.hop_toys import toys

COUNT = 12
ABILITY = Ability(knows=0.3, reads=1.0, distracted=0.0, stubborn=0.0)


@pytest.fixture(scope="module")
def led(tmp_path_factory):
    questions, passages = toys(COUNT)
    pool = tuple(PooledPassage(p.id, p.title, p.text) for p in passages)
    folder = tmp_path_factory.mktemp("index")
    build_hop_index(HopSet("toys", questions, pool), folder)

    def run(decider):
        sessions = SimulatedSessions(questions, pool, ability=ABILITY)

        async def chains():
            with open_retriever(folder) as retriever:
                parts = Parts(
                    RuleSegmenter, QueryMaker(), retriever, EvidenceIntegrator(LexicalScorer())
                )

                def made(question):
                    session = sessions.open(question.text, Sampling(2000, 0.0), key=question.id)
                    return Reasoner(question.id, question.text, session, parts)

                return [chain async for chain in run_chains(questions, made, decider)]

        found = sorted(asyncio.run(chains()), key=lambda chain: chain.question_id)
        assert {chain.status for chain in found} == {Status.ANSWERED}
        answers = {question.id: question.answers[0] for question in questions}
        known = {question.id: all(sessions.knows(question)) for question in questions}
        right = {chain.question_id: chain.answer == answers[chain.question_id] for chain in found}
        return found, right, known

    return run


def test_without_retrieval_it_is_right_on_what_it_knows(led):
    found, right, known = led(NoRetrieval())
    assert right == known
    assert sum(chain.calls for chain in found) == 0
    assert 0 < sum(right.values()) < COUNT


def test_with_the_right_queries_at_every_step_it_is_right(led):
    every = FixedInterval(1, formulation=Formulation.ENTITY, integration=Integration.WHOLE)
    found, right, _ = led(every)
    assert all(right.values())
    assert max(chain.calls for chain in found) <= 10


def test_ircot_comes_to_an_end_and_is_better_than_nothing(led):
    found, right, known = led(Ircot())
    assert sum(right.values()) > sum(known.values())
    assert max(chain.calls for chain in found) <= 12
