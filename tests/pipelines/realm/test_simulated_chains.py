"""The loop on the simulated reasoner, a real index and real searches."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from actors.rollout.types import Sampling
from pipelines.data.multihop import HopSet, load_hop_set
from pipelines.realm.deciders.registry import make_decider, method_of
from pipelines.realm.evidence.texts import whole
from pipelines.realm.indexing import build_hop_index
from pipelines.realm.parts import Limits, Parts
from pipelines.realm.prompt import reasoning_prompt
from pipelines.realm.reason import Reasoner
from pipelines.realm.retrieval import open_retriever
from pipelines.realm.run_many import run_chains
from pipelines.realm.segment.rules import RuleSegmenter
from pipelines.realm.simulated import SimulatedSessions
from pipelines.realm.types import (
    Chain,
    Formulation,
    HopQuestion,
    Integration,
    Passage,
    Status,
    StepState,
    Uncertainty,
)
from tests.pipelines.realm.pools import rows, write


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> tuple[HopSet, Path]:
    folder = tmp_path_factory.mktemp("pool")
    hop_set = load_hop_set(write(folder / "pool.jsonl", rows()))
    build_hop_index(hop_set, folder / "index")
    return hop_set, folder / "index"


class Whole:
    async def take_in(
        self, question: str, query: str, passages: Sequence[Passage], integration: Integration
    ) -> tuple[str, tuple[str, ...]]:
        return whole(passages), tuple(passage.id for passage in passages)


class AsIs:
    async def query(self, state: StepState, formulation: Formulation) -> str:
        return state.step.text.strip()


class Unsure:
    async def measure(self, state: StepState) -> Uncertainty:
        return Uncertainty(1.0)


def run(
    pool: tuple[HopSet, Path], spec: str, *, knows: float, black_box: bool = False
) -> list[Chain]:
    hop_set, folder = pool
    method = method_of(spec)

    async def chains() -> list[Chain]:
        engine = SimulatedSessions(
            hop_set.questions, hop_set.passages, ability=knows, black_box=black_box
        )
        parts = Parts(RuleSegmenter, AsIs(), open_retriever(folder), Whole(), Unsure())

        def make(question: HopQuestion) -> Reasoner:
            prompt = reasoning_prompt(question.text, style=method.style)
            sampling = Sampling(1024, stop=prompt.stop)
            session = engine.open(prompt.text, sampling, key=question.id)
            return Reasoner(question.id, question.text, session, parts, Limits(k=3))

        decider = make_decider(spec)
        return [chain async for chain in run_chains(hop_set.questions, make, decider, 3)]

    return sorted(asyncio.run(chains()), key=lambda chain: chain.question_id)


@pytest.mark.parametrize(
    "spec", ["none", "single", "fixed:k=1", "fixed:k=2", "ircot:sentences=0", "threshold",
             "random:rate=.5", "search-tags", "flare", "dragin"]
)  # fmt: skip
def test_every_baseline_leads_every_chain_to_its_answer(
    pool: tuple[HopSet, Path], spec: str
) -> None:
    chains = run(pool, spec, knows=1.0)
    assert [chain.status for chain in chains] == [Status.ANSWERED] * 4
    golds = {question.id: question.answers[0] for question in pool[0].questions}
    assert {chain.question_id: chain.answer for chain in chains} == golds
    again = run(pool, spec, knows=1.0)
    assert [c.text for c in again] == [c.text for c in chains]
    for chain in chains:
        assert not any(evidence.failure for evidence in chain.evidence)


def test_what_is_not_known_has_to_be_retrieved(pool: tuple[HopSet, Path]) -> None:
    golds = [question.answers[0] for question in pool[0].questions]

    def right(spec: str) -> int:
        chains = run(pool, spec, knows=0.0)
        return sum(c.answer == gold for c, gold in zip(chains, golds, strict=True))

    assert right("none") <= 1  # of four: a guess may hit
    assert right("fixed:k=1") >= 3  # a guess that was made before its passage came may stay


@pytest.mark.parametrize("spec", ["fixed:k=2", "search-tags", "threshold"])
def test_a_black_box_gives_the_same_chains(pool: tuple[HopSet, Path], spec: str) -> None:
    white = run(pool, spec, knows=0.5)
    black = run(pool, spec, knows=0.5, black_box=True)
    assert [c.text for c in black] == [c.text for c in white]
    assert all(not record.step.logprobs for chain in black for record in chain.steps)
