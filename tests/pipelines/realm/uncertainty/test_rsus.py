"""RSUS: how its parts are put together, and what happens where one is missing."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.search.types import InfraFailure
from pipelines.realm.types import Uncertainty
from pipelines.realm.uncertainty.costs import Part
from pipelines.realm.uncertainty.rsus import (
    UNKNOWN,
    RsusMeter,
    RsusSettings,
    Weights,
    combine,
    leaves_open,
)
from tests.pipelines.realm.uncertainty.asked import AskedSession, Spread, state_of

TEN = Spread(Oslo=10)  # entropy ln 10 / ln 100 = .5


def measure(meter, session, **state):
    return asyncio.run(meter.measure(state_of(session, **state)))


def test_weighted_sum_by_hand():
    parts = {Part.VERB: 0.8, Part.ENT: 0.5, Part.CONS: 0.2}
    assert combine(parts, Weights()) == pytest.approx(0.4 * 0.8 + 0.35 * 0.5 + 0.25 * 0.2)
    without = {**parts, Part.CONS: None}
    assert combine(without, Weights()) == pytest.approx((0.32 + 0.175) / 0.75)
    assert combine({Part.ENT: 0.3}, Weights()) == pytest.approx(0.3)
    assert combine({}, Weights()) == UNKNOWN


SHARE = st.floats(0, 1)


@given(SHARE | st.none(), SHARE | st.none(), SHARE, SHARE)
def test_leaving_consistency_out_never_changes_the_side(verb, ent, cons, threshold):
    parts = {Part.VERB: verb, Part.ENT: ent}
    if not leaves_open(verb, ent, Weights(), threshold):
        short = combine(parts, Weights())
        whole = combine({**parts, Part.CONS: cons}, Weights())
        assert (short > threshold) == (whole > threshold)


def test_open_only_where_consistency_can_decide():
    # with U_ent = .5 the others sum to .4 v + .175, and U_cons adds 0 to .25
    assert not leaves_open(0.5, 0.5, Weights(), 0.65)  # .375 to .625
    assert leaves_open(0.6, 0.5, Weights(), 0.65)  # .415 to .665
    assert not leaves_open(1.0, 0.8, Weights(), 0.65)  # .68 to .93
    assert leaves_open(None, None, Weights(), 0.65)


def test_all_parts_and_what_they_cost():
    session = AskedSession("20", ("in Oslo now", "in Oslo later", "Rome"))
    meter = RsusMeter(retriever=TEN)
    found = measure(meter, session)
    # {oslo, now} {oslo, later}: 1/2; the other two pairs 0: agreement 1/6
    assert (found.verb, found.ent) == pytest.approx((0.8, 0.5))
    assert found.cons == pytest.approx(5 / 6)
    assert found.rsus == pytest.approx(0.32 + 0.175 + 0.25 * 5 / 6)
    assert found.tokens == 1 + 7
    assert found.warnings == ()
    costs = meter.costs
    assert (costs[Part.VERB].calls, costs[Part.ENT].calls, costs[Part.CONS].calls) == (1, 1, 1)
    assert (costs[Part.VERB].tokens, costs[Part.CONS].tokens, costs.tokens) == (1, 7, 8)
    assert (costs.steps, costs.skipped) == (1, 0)
    assert costs.to_json()["parts"]["cons"]["calls"] == 1


def test_asks_at_the_boundary():
    session = AskedSession("20", ("a b", "a b", "a b"))
    meter = RsusMeter(retriever=TEN)
    state = state_of(session)
    session.text += " It goes on being written."
    asyncio.run(meter.measure(state))
    assert [at for *_, at in session.asked] == [len("In Oslo.")] * 2
    assert [n for _, _, n, _, _ in session.asked] == [1, 3]


def test_consistency_is_skipped_where_the_rest_has_settled_it():
    session = AskedSession("95")
    meter = RsusMeter(retriever=TEN)
    found = measure(meter, session)
    assert found.cons is None
    assert found.rsus == pytest.approx((0.4 * 0.05 + 0.35 * 0.5) / 0.75)
    assert meter.costs.skipped == 1
    assert len(session.asked) == 1
    always = RsusMeter(RsusSettings(consistency="always"), retriever=TEN)
    assert measure(always, session).cons == 0


def test_samples_are_the_same_for_the_same_step():
    sessions = [AskedSession("20"), AskedSession("20")]
    for session in sessions:
        measure(RsusMeter(retriever=TEN), session)
    assert sessions[0].asked == sessions[1].asked
    other = AskedSession("20")
    measure(RsusMeter(retriever=TEN, seed=1), other)
    assert other.asked != sessions[0].asked


@pytest.mark.parametrize("reply", ["fairly high", "", "1000"])
def test_garbage_for_a_confidence_is_a_warning(reply):
    meter = RsusMeter(retriever=TEN)
    found = measure(meter, AskedSession(reply))
    assert found.verb is None
    assert found.rsus == pytest.approx((0.35 * 0.5 + 0.25 * 0) / 0.6)
    assert "no number" in found.warnings[0]
    assert meter.costs[Part.VERB].failures == 1


def test_a_dead_engine_is_a_warning():
    meter = RsusMeter(retriever=TEN)
    found = measure(meter, AskedSession(None, None))
    assert (found.verb, found.cons) == (None, None)
    assert found.rsus == pytest.approx(0.5)  # U_ent alone
    assert all("the line is dead" in warning for warning in found.warnings)
    assert len(found.warnings) == 2


def test_an_engine_that_never_answers_is_given_up():
    meter = RsusMeter(RsusSettings(part_timeout_s=0.02), retriever=TEN)
    found = measure(meter, AskedSession(..., ...))
    assert (found.verb, found.ent, found.cons) == (None, pytest.approx(0.5), None)
    assert [warning.split(":")[0] for warning in found.warnings] == ["verb", "cons"]
    assert "0.02 s" in found.warnings[0]


def test_an_index_that_is_down_is_a_warning():
    index = Spread()
    index.failure = InfraFailure("no route")
    meter = RsusMeter(retriever=index)
    found = measure(meter, AskedSession("20"))
    assert found.ent is None
    assert found.rsus == pytest.approx(0.4 * 0.8 / 0.65)
    assert "no route" in found.warnings[0]
    assert meter.costs[Part.ENT].failures == 1


def test_nothing_at_all_is_neither_sure_nor_unsure():
    index = Spread()
    index.failure = InfraFailure("no route")
    assert measure(RsusMeter(retriever=index), AskedSession(None, None)).rsus == UNKNOWN


def test_a_step_without_entities_is_no_fault():
    found = measure(RsusMeter(retriever=TEN), AskedSession("90"), text="that is so.")
    assert (found.ent, found.warnings) == (None, ())
    assert found.rsus == pytest.approx(0.1)


def test_continuations_without_words_are_a_warning():
    found = measure(RsusMeter(retriever=TEN), AskedSession("20", ("", "Oslo", " ")))
    assert found.cons is None
    assert "fewer than two" in found.warnings[0]


@pytest.mark.parametrize(("off", "asked"), [("verb", [""]), ("ent", None), ("cons", None)])
def test_a_weight_of_zero_switches_a_part_off(off, asked):
    session = AskedSession("20")
    meter = RsusMeter(RsusSettings(weights=Weights(**{off: 0.0})), retriever=TEN)
    found = measure(meter, session)
    assert getattr(found, off) is None
    assert found.warnings == ()
    assert meter.costs[Part(off)].steps == 0
    if asked is not None:
        assert [suffix for suffix, *_ in session.asked] == asked


class Guess:
    """A proxy that says one thing."""

    def __init__(self):
        self.told = []

    async def uncertainty(self, text, entities, recent):
        self.told.append((text, entities, recent))
        return 0.7


def test_the_proxy_stands_in_for_garbage_and_failures():
    for reply in ("high", None):
        proxy = Guess()
        found = measure(RsusMeter(retriever=TEN, proxy=proxy), AskedSession(reply))
        assert found.verb == 0.7
        assert "verb: by the proxy" in found.warnings
    assert proxy.told == [("In Oslo.", 1, pytest.approx(0.5))]
    asking = RsusMeter(RsusSettings(verbal="ask"), retriever=TEN, proxy=proxy)
    assert measure(asking, AskedSession("high")).verb is None


def test_the_proxy_alone_asks_nothing():
    session, proxy = AskedSession("20"), Guess()
    settings = RsusSettings(verbal="proxy", weights=Weights(cons=0))
    meter = RsusMeter(settings, retriever=TEN, proxy=proxy)
    before = [Uncertainty(0.5, ent=0.9), Uncertainty(0.5), Uncertainty(0.5, ent=0.1)]
    found = measure(meter, session, history=before)
    assert (found.verb, found.tokens, found.warnings, session.asked) == (0.7, 0, (), [])
    assert proxy.told[0][2] == pytest.approx(0.3)  # of .1 and .5; the middle one has none
    assert meter.costs[Part.PROXY].steps == 1


def test_settings_that_cannot_work_are_all_named():
    bad = RsusSettings(
        threshold=2, weights=Weights(-1), verbal="guess", consistency="no", part_timeout_s=0
    )
    assert len(bad.problems()) == 5
    with pytest.raises(ValueError, match="weights: all are 0"):
        RsusMeter(RsusSettings(weights=Weights(0, 0, 0)))
    with pytest.raises(ValueError, match="train one"):
        RsusMeter(RsusSettings(verbal="proxy"))
