"""The loop on a real (tiny) model, whose keys and values are kept from one writing to the next."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from actors.rollout.sessions.hf_sessions import TransformersSessions
from actors.rollout.types import Sampling
from pipelines.realm.inserts import evidence_block
from pipelines.realm.parts import Limits
from pipelines.realm.reason import Reasoner, reason
from pipelines.realm.types import GO_ON, Chain, Decision
from tests.actors.rollout.sessions.lively import write_lively_model
from tests.pipelines.realm.scripted import FRANCE, EveryFullStop, Planned, parts_of

PROMPT = "P: Gout, I: Aspirin. Think, then answer."
SAMPLING = Sampling(60, temperature=0.0)


class EveryTenth(EveryFullStop):
    """Ends a step after every ten characters, known three characters later."""

    def feed(self, text: str) -> list[int]:
        seen = self._seen
        self._seen += len(text)
        first, last = max(seen - 3, 0) // 10 + 1, max(self._seen - 3, 0) // 10
        return [10 * i for i in range(first, last + 1)]

    def finish(self) -> list[int]:
        return []


def chains_of(model: Path, *plans: Planned) -> list[Chain]:
    """A chain for each plan, all at once on one engine."""

    async def run() -> list[Chain]:
        engine = TransformersSessions(str(model), threads=1)
        parts = replace(parts_of(), segmenter=EveryTenth)
        limits = Limits(max_tokens=60, answer_tokens=4)
        try:
            chains = [
                Reasoner(str(i), "Q?", engine.open(PROMPT, SAMPLING, key=str(i)), parts, limits)
                for i in range(len(plans))
            ]
            led = (reason(chain, plan) for chain, plan in zip(chains, plans, strict=True))
            return list(await asyncio.gather(*led))
        finally:
            await engine.close()

    return asyncio.run(run())


async def _alone(model: Path) -> str:
    engine = TransformersSessions(str(model), threads=1)
    try:
        session = engine.open(PROMPT, SAMPLING)
        async for _ in session.write():
            pass
        return session.text
    finally:
        await engine.close()


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lively_model(tmp_path_factory.mktemp("model") / "lively")


@pytest.fixture(scope="module")
def alone(lively: Path) -> str:
    return asyncio.run(_alone(lively))


def test_a_model_that_is_led_writes_what_it_writes_alone(lively: Path, alone: str) -> None:
    (chain,) = chains_of(lively, Planned())
    assert len(chain.steps) > 2
    assert chain.text == alone
    assert "".join(record.step.text for record in chain.steps) == alone
    tokens = sum(record.step.tokens for record in chain.steps)
    assert tokens == chain.usage.written_tokens
    for record in chain.steps:
        assert len(record.step.logprobs) == record.step.tokens
        assert all(logprob <= 0 for logprob in record.step.logprobs)


def test_evidence_goes_in_at_the_boundary_and_the_prefix_stays_computed(
    lively: Path, alone: str
) -> None:
    plan = Planned(GO_ON, Decision(True))
    (chain,) = chains_of(lively, plan)
    boundary = plan.states[1].boundary
    block = evidence_block(FRANCE.text, alone[:boundary])
    assert chain.text.startswith(alone[:boundary] + block)
    usage = chain.usage
    # Of what stood before the second writing, the prompt and two steps had been computed.
    kept = sum(record.step.tokens for record in chain.steps[:2])
    assert usage.requests >= 2
    assert usage.cached_tokens >= kept
    assert chain.steps[1].resume_s > 0


def test_chains_at_once_are_chains_alone(lively: Path) -> None:
    def plans() -> list[Planned]:
        return [Planned(), Planned(Decision(True)), Planned(GO_ON, GO_ON, Decision(True))]

    together = [chain.text for chain in chains_of(lively, *plans())]
    apart = [chains_of(lively, plan)[0].text for plan in plans()]
    assert together == apart
    assert len(set(together)) == 3
