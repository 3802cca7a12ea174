import asyncio
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.types import EngineError
from actors.search.types import InfraFailure
from pipelines.realm.inserts import evidence_block
from pipelines.realm.parts import Limits, Parts
from pipelines.realm.reason import OPENING, Reasoner, reason
from pipelines.realm.types import (
    GO_ON,
    Chain,
    Decider,
    Decision,
    Formulation,
    Integration,
    Status,
    StepState,
)
from tests.pipelines.realm.scripted import (
    FRANCE,
    CountingMeter,
    EveryFullStop,
    FirstOnly,
    Planned,
    ScriptedSession,
    Shelf,
    StepItself,
    Ticking,
    after,
    parts_of,
)

RETRIEVE = Decision(True)
BLOCK = evidence_block(FRANCE.text, ".")
STORY = "I think. It is Rome. So the answer is: Rome."


def session_of(**options: object) -> ScriptedSession:
    """Without evidence the story; after it, the right answer."""
    script = after((BLOCK, "Then. So the answer is: Paris."), start=STORY)
    return ScriptedSession(script, **options)  # type: ignore[arg-type]


def run(
    session: ScriptedSession,
    decider: Decider,
    parts: Parts | None = None,
    limits: Limits | None = None,
) -> Chain:
    reasoner = Reasoner("q1", "Capital?", session, parts or parts_of(), limits)
    return asyncio.run(reason(reasoner, decider))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("late", [0, 2, 12])
def test_a_chain_that_goes_on_is_the_models_own_text(size: int, late: int) -> None:
    session = session_of(size=size)
    decider = Planned()
    chain = run(session, decider, parts_of(late=late))
    assert (chain.answer, chain.status, chain.text) == ("Rome", Status.ANSWERED, STORY)
    assert [r.step.text for r in chain.steps] == ["I think.", " It is Rome.", STORY[20:]]
    assert [state.ended for state in decider.states] == [False, False, True]
    assert [state.boundary for state in decider.states] == [8, 20, len(STORY)]
    assert chain.calls == 0
    assert chain.usage.requests == 1  # one writing from first to last: nothing was sent again
    assert session.closed == 1
    assert chain.warnings == ()


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("late", [0, 2, 12])
def test_evidence_stands_at_the_boundary_and_is_gone_on_from(size: int, late: int) -> None:
    session = session_of(size=size)
    shelf = Shelf()
    decider = Planned(RETRIEVE)
    chain = run(session, decider, parts_of(shelf=shelf, late=late))
    assert chain.text == "I think." + BLOCK + "Then. So the answer is: Paris."
    assert chain.answer == "Paris"
    assert shelf.queries == [("step: I think.", 5)]
    (evidence,) = chain.evidence
    assert evidence.query == "step: I think."
    assert (evidence.text, evidence.kept_ids, evidence.failure) == (FRANCE.text, ("p1",), "")
    # "France: Paris is the capital." has 7 words and marks, Spain's line too; kept are 5.
    assert (evidence.fetched_tokens, evidence.kept_tokens) == (14, 5)
    assert [r.step.text for r in chain.steps] == [
        "I think.",
        "Then.",
        " So the answer is: Paris.",
    ]
    assert [state.since_last for state in decider.states] == [1, 1, 2]
    assert [state.calls for state in decider.states] == [0, 1, 1]
    assert [r.step.index for r in chain.steps] == [0, 1, 2]
    assert chain.usage.requests == 2


def test_a_discarded_step_is_written_again_after_the_evidence() -> None:
    session = session_of()
    decider = Planned(GO_ON, replace(RETRIEVE, discard_step=True, query="Rome?"))
    chain = run(session, decider)
    assert chain.text == "I think." + BLOCK + "Then. So the answer is: Paris."
    assert [r.step.text for r in chain.steps][:3] == ["I think.", " It is Rome.", "Then."]
    assert [r.step.index for r in chain.steps] == [0, 1, 1, 2]
    # What is decided on next no longer knows the discarded step.
    assert [s.text for s in decider.states[2].steps] == ["I think.", "Then."]


@pytest.mark.parametrize(
    ("shelf", "integrator", "said"),
    [
        (Shelf(InfraFailure("index is down")), None, "search: index is down"),
        (Shelf(OSError("no route")), None, "search: no route"),
        (Shelf(gate=asyncio.Event()), None, "search: took over 0.02 s"),
        (Shelf(), FirstOnly(RuntimeError("no scorer")), "sentences: no scorer"),
    ],
)
def test_a_retrieval_that_fails_is_marked_and_the_chain_goes_on_unharmed(
    shelf: Shelf, integrator: FirstOnly | None, said: str
) -> None:
    session = session_of()
    parts = parts_of(shelf=shelf, integrator=integrator)
    chain = run(session, Planned(RETRIEVE), parts, Limits(search_s=0.02))
    assert (chain.text, chain.answer, chain.status) == (STORY, "Rome", Status.ANSWERED)
    assert [e.failure for e in chain.evidence] == [said]
    assert chain.warnings == (f"retrieval: {said}",)
    assert chain.calls == 1


def test_a_retrieval_that_finds_nothing_changes_nothing() -> None:
    chain = run(session_of(), Planned(RETRIEVE), parts_of(shelf=Shelf(())))
    assert (chain.text, chain.warnings) == (STORY, ())
    assert chain.evidence[0].failure == ""


def test_a_query_that_cannot_be_made_is_the_step() -> None:
    shelf = Shelf()
    parts = parts_of(shelf=shelf, formulator=StepItself(EngineError("rewriter is gone")))
    chain = run(session_of(), Planned(Decision(True, Formulation.REWRITER)), parts)
    assert shelf.queries == [("I think.", 5)]
    assert "rewriter is gone" in chain.warnings[0]
    assert chain.answer == "Paris"


def test_retrievals_over_the_limit_are_going_on() -> None:
    chain = run(session_of(), Planned(RETRIEVE, RETRIEVE), None, Limits(max_calls=1))
    assert chain.calls == 1
    assert chain.steps[1].decision == GO_ON
    assert "max_calls" in chain.warnings[0]


def test_the_answer_is_asked_for_at_the_step_limit() -> None:
    session = session_of(replies=("It must be Oslo. So the answer is: Bergen.",))
    chain = run(session, Planned(), None, Limits(max_steps=1, answer_tokens=9))
    assert (chain.status, chain.answer) == (Status.STEP_LIMIT, "Bergen")
    assert chain.text == "I think."  # what was written ahead is gone
    ((suffix, sampling, at),) = session.asked
    assert (suffix, at) == ("\nSo the answer is:", None)
    assert (sampling.max_new_tokens, sampling.temperature) == (9, 0.0)


def test_the_answer_is_asked_for_at_the_token_limit() -> None:
    session = ScriptedSession(lambda text: "word " * 100, size=1, replies=(" Oslo.\n",))
    chain = run(session, Planned(), None, Limits(max_tokens=20))
    assert (chain.status, chain.answer) == (Status.TOKEN_LIMIT, "Oslo")
    assert [r.step.tokens for r in chain.steps] == [20]


def test_a_chain_that_stops_without_an_answer_is_asked_for_it() -> None:
    session = ScriptedSession(lambda text: "No idea."[len(text) :], replies=("",))
    chain = run(session, Planned())
    assert (chain.status, chain.answer) == (Status.NO_ANSWER, "")
    assert chain.warnings == ("no answer, asked or not",)
    session = ScriptedSession(lambda text: "No idea."[len(text) :], ask_fails=True)
    chain = run(session, Planned())
    assert (chain.status, chain.answer) == (Status.ENGINE_FAILURE, "")
    assert "no reply" in chain.warnings[0]


def test_an_empty_chain_is_a_status_too() -> None:
    session = ScriptedSession(lambda text: "", replies=("Oslo",))
    chain = run(session, Planned())
    assert (chain.steps, chain.status, chain.answer) == ((), Status.NO_ANSWER, "Oslo")


@pytest.mark.parametrize("point", [0, 5, 15])
def test_an_engine_that_fails_is_a_status_and_what_was_written_stays(point: int) -> None:
    session = session_of(size=1, fail_after=point)
    chain = run(session, Planned())
    assert (chain.status, chain.answer) == (Status.ENGINE_FAILURE, "")
    assert chain.warnings == ("engine: the cable was cut",)
    assert chain.text == STORY[:point]
    assert len(chain.steps) == (point == 15)
    assert session.closed == 1


def test_an_engine_that_hangs_is_a_status() -> None:
    chain = run(session_of(size=1, hang_after=10), Planned(), None, Limits(piece_s=0.02))
    assert chain.status is Status.ENGINE_FAILURE
    assert len(chain.steps) == 1


def test_a_decision_that_fails_or_hangs_is_going_on() -> None:
    class Broken:
        async def decide(self, state: StepState) -> Decision:
            if state.step.index == 0:
                raise EngineError("no reply")
            await asyncio.Event().wait()
            raise AssertionError

    chain = run(session_of(), Broken(), None, Limits(decide_s=0.02))
    assert (chain.text, chain.answer) == (STORY, "Rome")
    assert chain.warnings == (
        "decision: no reply; went on",
        "decision: took over 0.02 s; went on",
    )


def test_a_mistake_in_a_decider_is_raised_and_the_session_closed() -> None:
    class Wrong:
        async def decide(self, state: StepState) -> Decision:
            raise KeyError("typo")

    session = session_of()
    with pytest.raises(KeyError):
        run(session, Wrong())
    assert session.closed == 1
    assert not session.writing


def test_rsus_is_worked_out_once_a_step_and_only_if_asked_for() -> None:
    meter = CountingMeter(("confidence reply 'banana' has no number",))

    class Asks:
        async def decide(self, state: StepState) -> Decision:
            if state.step.index != 1:
                both = await asyncio.gather(state.uncertainty(), state.uncertainty())
                assert both[0] is both[1]
            assert [u.rsus for u in state.history] == [[], [0.1], [0.1]][state.step.index]
            return GO_ON

    chain = run(session_of(), Asks(), parts_of(meter=meter))
    assert meter.calls == 2
    measured = [r.uncertainty and r.uncertainty.rsus for r in chain.steps]
    assert measured == [0.1, None, 0.2]
    assert chain.warnings == meter.warnings  # said once, however often


def test_an_answer_that_runs_over_a_boundary_is_read_to_its_end() -> None:
    story = "So the answer is: J. K. Rowling. Next."
    for size in (1, 4, 100):
        session = ScriptedSession(lambda text: story[len(text) :], size=size)
        chain = run(session, Planned(), parts_of(late=0))
        assert chain.answer == "J. K. Rowling"
        assert len(chain.steps) == 1


def test_a_thought_is_no_answer() -> None:
    story = "So the answer is: no. </think>So the answer is: yes."
    session = ScriptedSession(lambda text: story[len(text) :])
    chain = run(session, Planned(), replace(parts_of(), thinking=True))
    assert (chain.answer, chain.status) == ("yes", Status.ANSWERED)
    # Evidence within the thought does not end it.
    script = after(
        (BLOCK, "Then the answer is: B. </think>So the answer is: A."), start="I think. Hm."
    )
    session = ScriptedSession(script)
    chain = run(session, Planned(RETRIEVE), replace(parts_of(), thinking=True))
    assert chain.answer == "A"


def test_retrieval_after_the_answer_lets_the_chain_go_on() -> None:
    chain = run(session_of(), Planned(GO_ON, GO_ON, RETRIEVE))
    assert chain.text == STORY + BLOCK + "Then. So the answer is: Paris."
    assert (chain.answer, chain.calls) == ("Paris", 1)
    session = ScriptedSession(after((BLOCK, "Fine."), start=STORY))
    chain = run(session, Planned(GO_ON, GO_ON, RETRIEVE))
    assert (chain.answer, chain.status) == ("Rome", Status.ANSWERED)  # the first one stands
    assert not session.asked


def test_an_answer_goes_with_its_discarded_step() -> None:
    discard = replace(RETRIEVE, discard_step=True)
    session = ScriptedSession(after((BLOCK, "Fine."), start=STORY), replies=("Oslo",))
    chain = run(session, Planned(GO_ON, GO_ON, discard))
    assert chain.text == STORY[:20] + BLOCK + "Fine."
    assert (chain.answer, chain.status) == ("Oslo", Status.NO_ANSWER)


def test_retrieval_before_the_first_step_is_recorded_as_the_opening() -> None:
    opening = evidence_block(FRANCE.text)
    script = after((opening, "So the answer is: Paris."), start=STORY)
    session = ScriptedSession(script)

    class Opens(Planned):
        async def open(self, question: str) -> Decision:
            return Decision(True, integration=Integration.WHOLE, query=question)

    decider = Opens()
    chain = run(session, decider)
    assert chain.text == opening + "So the answer is: Paris."
    assert (chain.steps[0].step.index, chain.steps[0].step.text) == (OPENING, "")
    assert chain.evidence[0].query == "Capital?"
    assert [s.index for s in decider.states[0].steps] == [0]
    assert (decider.states[0].calls, decider.states[0].since_last) == (1, 1)


def test_an_opening_needs_a_query_and_comes_first() -> None:
    async def misuse() -> None:
        with pytest.raises(ValueError, match="needs a query"):
            await Reasoner("q", "?", session_of(), parts_of()).begin(RETRIEVE)
        reasoner = Reasoner("q", "?", session_of(), parts_of())
        with pytest.raises(RuntimeError, match="advance"):
            await reasoner.apply(GO_ON)
        assert await reasoner.advance() is not None
        with pytest.raises(RuntimeError, match="before advance"):
            await reasoner.begin(GO_ON)
        with pytest.raises(RuntimeError, match="apply"):
            await reasoner.advance()

    asyncio.run(misuse())


def test_a_chain_may_be_finished_at_any_time() -> None:
    async def early() -> Chain:
        reasoner = Reasoner("q", "Capital?", session_of(replies=("Oslo",)), parts_of())
        assert await reasoner.advance() is not None
        chain = await reasoner.finish()
        assert await reasoner.finish() is chain
        assert await reasoner.advance() is None
        return chain

    chain = asyncio.run(early())
    assert (chain.text, chain.answer, chain.status) == ("I think.", "Oslo", Status.NO_ANSWER)


def test_times_are_the_clocks() -> None:
    chain = run(session_of(), Planned(RETRIEVE), parts_of(clock=Ticking()))
    first, second, third = chain.steps
    for record in chain.steps:
        assert record.write_s >= 1
        assert record.decide_s == 1  # one reading to the next
    assert first.evidence is not None
    assert (first.evidence.search_s, first.evidence.integrate_s) == (1, 1)
    assert first.resume_s >= 1
    assert (second.resume_s, third.resume_s) == (0, 0)
    assert 0 <= first.started_s < second.started_s < third.started_s < chain.seconds


def test_a_prefetcher_is_told_of_steps_and_asked_for_hits() -> None:
    class Ahead(Shelf):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[tuple[str, bool]] = []

        def has(self, query: str, k: int) -> bool:
            return (query, k) == ("known", 5)

        def observe(self, question: str, step: str, k: int, *, complete: bool = False) -> None:
            self.seen.append((step, complete))

    shelf = Ahead()
    decider = Planned(replace(RETRIEVE, query="known"), replace(RETRIEVE, query="new"))
    chain = run(session_of(size=3), decider, parts_of(shelf=shelf))
    assert [e.prefetched for e in chain.evidence] == [True, False]
    assert shelf.seen[:4] == [("I t", False), ("I thin", False), ("I think. ", False),
                              ("I think. It ", False)]  # fmt: skip
    assert ("I think.", True) in shelf.seen


@given(st.lists(st.sampled_from("grd"), max_size=8), st.integers(1, 9), st.integers(0, 9))
def test_the_text_is_the_kept_steps_and_the_evidence_whatever_is_decided(
    plan: list[str], size: int, late: int
) -> None:
    """g: go on, r: retrieve, d: retrieve and discard. What is written says how often there was
    evidence, so each text can be told."""
    pieces = {"g": GO_ON, "r": RETRIEVE, "d": replace(RETRIEVE, discard_step=True)}

    def script(text: str) -> str:
        rounds = text.count("</retrieved>")
        own = text.rsplit("\n", 1)[-1]
        return f"a{rounds}. b{rounds}. c{rounds}."[len(own) :]

    session = ScriptedSession(script, size=size)
    chain = run(session, Planned(*(pieces[name] for name in plan)), parts_of(late=late))
    expected = ""
    for record in chain.steps:
        kept = "" if record.evidence and record.decision.discard_step else record.step.text
        expected += kept
        if record.evidence:
            expected += evidence_block(FRANCE.text, expected[-1:])
    assert chain.text == expected
    assert chain.calls == sum(1 for r in chain.steps if r.decision.retrieve)
    names = [record.step.text.strip() for record in chain.steps]
    rounds, letters = 0, iter("abc")
    for name, record in zip(names, chain.steps, strict=True):
        assert name == f"{next(letters)}{rounds}."
        if record.decision.retrieve:
            rounds, letters = rounds + 1, iter("abc")
    assert all(math.isclose(sum(r.step.logprobs), -0.1 * r.step.tokens) for r in chain.steps)


@pytest.mark.parametrize(
    "wrong", [{"max_steps": 0}, {"max_calls": -1}, {"k": 0}, {"piece_s": 0}, {"search_s": -1.0}]
)
def test_limits_that_make_no_chain_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)  # type: ignore[arg-type]


def test_a_chain_without_a_meter_says_what_is_missing() -> None:
    class Asks:
        async def decide(self, state: StepState) -> Decision:
            await state.uncertainty()
            return GO_ON

    parts = Parts(EveryFullStop, StepItself(), Shelf(), FirstOnly())
    with pytest.raises(ValueError, match="a meter"):
        run(session_of(), Asks(), parts)
