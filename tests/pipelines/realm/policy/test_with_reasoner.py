"""The policy over the real loop: reasoner, segmenter, RSUS, index; the engine is the simulation."""

import asyncio
from functools import partial

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from actors.rollout.types import Sampling
from pipelines.data.multihop import HopSet, PooledPassage
from pipelines.realm.evidence.integrate import EvidenceIntegrator
from pipelines.realm.evidence.relevance import LexicalScorer
from pipelines.realm.indexing import build_hop_index
from pipelines.realm.parts import Limits, Parts
from pipelines.realm.policy.actions import Actions
from pipelines.realm.policy.collector import LocalCollector, Round
from pipelines.realm.policy.decider import PolicyDecider
from pipelines.realm.policy.env import MASK, ReasoningEnv
from pipelines.realm.policy.policy import Policy, PolicyShape
from pipelines.realm.policy.rollout import Task
from pipelines.realm.queries import QueryMaker
from pipelines.realm.reason import Reasoner, reason
from pipelines.realm.retrieval import open_retriever
from pipelines.realm.segment.rules import RuleSegmenter
from pipelines.realm.simulated import SimulatedSessions
from pipelines.realm.types import Formulation, Hop, HopQuestion, Integration, Status
from pipelines.realm.uncertainty.rsus import RsusMeter

PEOPLE = ("Ada Brook", "Ben Carr", "Cleo Dunn", "Dov Ernst", "Eva Frost", "Gus Holt")
TOWNS = ("Amberly", "Brindle", "Corvale", "Dunmere", "Eastwick", "Fernhill")
FILMS = (
    "Red Kite",
    "Blue Harbour",
    "The Long Field",
    "Cold Lantern",
    "Two Doors",
    "Paper Moonlight",
)
SHAPE = PolicyShape(
    Actions((Formulation.ENTITY, Formulation.GAP), (Integration.WHOLE,)), hidden=(8,)
)


def hop_set() -> HopSet:
    passages, asked = [], []
    for row, (film, person, town) in enumerate(zip(FILMS, PEOPLE, TOWNS, strict=True)):
        passages += [
            PooledPassage(f"f{row}", film, f"{film} is a film. It was directed by {person}."),
            PooledPassage(f"p{row}", person, f"{person} is an artist who was born in {town}."),
        ]
        hops = (
            Hop(f"Who directed {film}?", person, f"f{row}"),
            Hop("Where was #1 born?", town, f"p{row}"),
        )
        asked.append(
            HopQuestion(
                f"q{row}",
                f"Where was the director of {film} born?",
                (town,),
                2,
                relevant=frozenset((f"f{row}", f"p{row}")),
                decomposition=hops,
            )
        )
    return HopSet("films", tuple(asked), tuple(passages))


class World:
    """As `pipelines.realm.setup.RealmWorld` is, of light parts. It knows nothing unread."""

    def __init__(self, folder) -> None:
        held = hop_set()
        self.retriever = open_retriever(folder)
        self.engine = SimulatedSessions(held.questions, held.passages, ability=0.0)
        self.parts = Parts(
            RuleSegmenter,
            QueryMaker(),
            self.retriever,
            EvidenceIntegrator(LexicalScorer()),
            RsusMeter(retriever=self.retriever),
        )

    def reasoner(self, question: HopQuestion, *, seed: int) -> Reasoner:
        session = self.engine.open("Go.", Sampling(600, 0.0), key=question.id, seed=seed)
        return Reasoner(question.id, question.text, session, self.parts, Limits(max_steps=20))

    async def close(self) -> None:
        await self.engine.close()
        self.retriever.close()


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    build_hop_index(hop_set(), folder)
    return folder


def always(action: int) -> Policy:
    """A policy that prefers one action."""
    import torch

    held = Policy(SHAPE, SHAPE.network(0))
    with torch.no_grad():
        held.network.when.bias.fill_(-50.0 if action == 0 else 50.0)
        if action:
            held.network.formulation.bias[action - 1] = 50.0
    return held


def collect(index, policy: Policy, turn: Round):
    collector = LocalCollector(partial(World, index), seed=0, concurrency=4)
    try:
        return collector.collect(policy, [Task(q) for q in hop_set().questions], turn)
    finally:
        collector.close()


def test_it_is_an_environment_as_gymnasium_has_them(index):
    env = ReasoningEnv(World(index), hop_set().questions, SHAPE)
    check_env(env, skip_render_check=True)
    env.close()


def test_retrieving_brings_what_going_on_does_not(index):
    none = collect(index, always(0), Round("e", greedy=True))
    every = collect(index, always(2), Round("e", greedy=True))
    assert [r.f1 for r in none] == [0.0] * 6
    assert [r.calls for r in none] == [0] * 6
    assert np.mean([r.f1 for r in every]) > 0.5
    assert all(r.calls > 0 for r in every)
    assert not any(r.failed for r in (*none, *every))


def test_sampled_episodes_repeat_to_the_last_number(index):
    policy = Policy(SHAPE, SHAPE.network(0))
    first, again = (collect(index, policy, Round("update-0")) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
        assert (one.f1, one.calls, one.seconds) == (other.f1, other.calls, other.seconds)
    assert any(len(set(r.actions.tolist())) > 1 for r in first)


def test_the_decider_does_in_the_loop_what_the_collector_did(index):
    policy = always(2)
    expected = collect(index, policy, Round("e", greedy=True))

    async def chains():
        world = World(index)
        found = [
            await reason(world.reasoner(q, seed=0), PolicyDecider(policy))
            for q in hop_set().questions
        ]
        await world.close()
        return found

    for chain, rollout in zip(asyncio.run(chains()), expected, strict=True):
        assert (chain.question_id, chain.calls) == (rollout.question_id, rollout.calls)
        decided = [SHAPE.actions.index(record.decision) for record in chain.steps]
        assert decided[: len(rollout)] == rollout.actions.tolist()


def test_after_the_last_call_only_going_on_is_left(index):
    shape = PolicyShape(SHAPE.actions, max_calls=1)
    env = ReasoningEnv(World(index), hop_set().questions, shape)
    env.reset(seed=0)
    seen, _, ended, _, _ = env.step(2)
    assert not ended
    assert seen[MASK].tolist() == [1, 0, 0]
    while not ended:
        seen, _, ended, _, info = env.step(0)
    assert info["calls"] == 1
    assert info["status"] in set(Status)
    env.close()
