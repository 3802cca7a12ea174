import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from actors.rollout.sessions.types import EngineError
from pipelines.realm.reason import Reasoner
from pipelines.realm.run_many import run_chains
from pipelines.realm.types import Chain, Decision, Status
from tests.pipelines.realm.scripted import Planned, ScriptedSession, Shelf, parts_of


@dataclass(frozen=True)
class Ask:
    id: str
    text: str = "Capital?"


class Always:
    async def decide(self, state) -> Decision:  # type: ignore[no-untyped-def]
        return Decision(not state.evidence)


def story(text: str) -> str:
    own = text.rsplit("\n", 1)[-1]
    return "Hm. So the answer is: Rome."[len(own) :]


async def collected(asks: list[Ask], make, decider, concurrency: int) -> list[Chain]:  # type: ignore[no-untyped-def]
    return [chain async for chain in run_chains(asks, make, decider, concurrency)]


def test_no_chain_waits_for_anothers_retrieval() -> None:
    async def run() -> list[str]:
        gate = asyncio.Event()
        ended = []

        def make(ask: Ask) -> Reasoner:
            held = ask.id == "held"
            parts = parts_of(shelf=Shelf(gate=gate if held else None))
            return Reasoner(ask.id, ask.text, ScriptedSession(story), parts)

        asks = [Ask("held"), *(Ask(str(i)) for i in range(5))]
        async for chain in run_chains(asks, make, Always(), 2):
            ended.append(chain.question_id)
            if len(ended) == 5:  # all others ended while it stood at the search
                gate.set()
        return ended

    assert asyncio.run(run()) == ["0", "1", "2", "3", "4", "held"]


@pytest.mark.parametrize("concurrency", [1, 2, 7])
def test_one_chains_failure_is_its_own_status(
    concurrency: int, caplog: pytest.LogCaptureFixture
) -> None:
    class Typo:
        async def decide(self, state) -> Decision:  # type: ignore[no-untyped-def]
            if state.question == "typo":
                raise KeyError("typo")
            return Decision(False)

    async def make(ask: Ask) -> Reasoner:
        if ask.id == "refused":
            raise EngineError("no place left")
        if ask.id == "impossible":
            raise ValueError("no such question")
        fails = 2 if ask.id == "cut" else None
        session = ScriptedSession(story, fail_after=fails)
        return Reasoner(ask.id, "typo" if ask.id == "mistake" else ask.text, session, parts_of())

    ids = ["a", "refused", "impossible", "cut", "mistake", "b", "c"]
    chains = asyncio.run(collected([Ask(i) for i in ids], make, Typo(), concurrency))
    status = {chain.question_id: chain.status for chain in chains}
    assert sorted(status) == sorted(ids)
    assert {i for i, s in status.items() if s is Status.ANSWERED} == {"a", "b", "c"}
    assert {i for i, s in status.items() if s is Status.ENGINE_FAILURE} == {"refused", "cut"}
    assert {i for i, s in status.items() if s is Status.ERROR} == {"impossible", "mistake"}
    told = {chain.question_id: chain.warnings for chain in chains}
    assert told["impossible"] == ("ValueError: no such question",)
    assert told["refused"] == ("EngineError: no place left",)
    assert "mistake" in caplog.text
    assert "KeyError" in caplog.text


def test_questions_are_taken_as_places_become_free() -> None:
    taken: list[str] = []
    open_now: list[int] = []

    def asks() -> Iterator[Ask]:
        for i in range(9):
            taken.append(str(i))
            yield Ask(str(i))

    async def run() -> None:
        done = 0

        def make(ask: Ask) -> Reasoner:
            return Reasoner(ask.id, ask.text, ScriptedSession(story), parts_of())

        async for _ in run_chains(asks(), make, Planned(), 3):
            open_now.append(len(taken) - done)
            done += 1

    asyncio.run(run())
    assert len(taken) == 9
    assert max(open_now) <= 3


def test_closing_stops_what_runs_and_frees_its_sessions() -> None:
    sessions: dict[str, ScriptedSession] = {}

    def make(ask: Ask) -> Reasoner:
        hang = None if ask.id == "0" else 4
        sessions[ask.id] = ScriptedSession(story, size=1, hang_after=hang)
        return Reasoner(ask.id, ask.text, sessions[ask.id], parts_of())

    async def run() -> None:
        chains = run_chains([Ask(str(i)) for i in range(4)], make, Planned(), 4)
        first = await anext(chains)
        assert first.question_id == "0"
        await chains.aclose()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert [session.closed for session in sessions.values()] == [1, 1, 1, 1]
    assert not any(session.writing for session in sessions.values())


def test_no_questions_and_no_places() -> None:
    assert asyncio.run(collected([], lambda ask: None, Planned(), 3)) == []
    with pytest.raises(ValueError, match="concurrency is 0"):
        asyncio.run(collected([Ask("a")], lambda ask: None, Planned(), 0))
