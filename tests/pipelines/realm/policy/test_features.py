import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.policy.features import ABLATIONS, PARTS, Features, rsus_of
from pipelines.realm.types import Evidence, Step, StepState, Uncertainty


def state(*texts: str, question: str = "Who?", evidence=(), history=()) -> StepState:
    async def never() -> Uncertainty:
        raise AssertionError("asked")

    steps = tuple(Step(i, text) for i, text in enumerate(texts))
    return StepState(question, steps, evidence, 1, never, None, 0, history=history)


def values(features: Features, *args) -> dict[str, float]:
    return dict(zip(features.names, features.vector(*args).tolist(), strict=True))


def test_columns_by_hand():
    now = Uncertainty(0.7, verb=0.9, ent=None, cons=0.4)
    seen = values(
        Features(),
        state(
            "First, the film.",
            "I think the director might be Ann Lee, born 1954?",
            question="Which film has the director Ann Lee?",
            evidence=(Evidence("q", text="Ann Lee", fetched_tokens=10, kept_tokens=4),),
            history=(Uncertainty(0.3), Uncertainty(0.2)),
        ),
        now,
    )
    assert seen["step.hedges"] == pytest.approx(2 / 3)  # "I think", "might"
    assert seen["step.digits"] == 1
    assert seen["step.asks"] == 1
    assert seen["step.names"] == 0.25  # "Ann Lee", of 4 at most
    # Content words: think, director, might, ann, lee, born, 1954; of the question: 3 of 7.
    assert seen["step.of_question"] == pytest.approx(3 / 7)
    assert seen["verb.value"] == pytest.approx(0.9)
    assert (seen["ent.value"], seen["ent.there"]) == (0.5, 0)
    assert seen["history.calls"] == pytest.approx(0.2)
    assert seen["history.evidence_used"] == pytest.approx(2 / 7)
    assert seen["history.evidence_kept"] == pytest.approx(0.4)
    assert seen["history.rsus_before"] == pytest.approx(0.2)
    assert seen["history.rsus_most"] == pytest.approx(0.3)
    assert seen["rsus.value"] == pytest.approx(0.7)
    assert seen["rsus.over_threshold"] == 1


def test_rsus_without_a_part_is_renormalised():
    parts = Uncertainty(0.9, verb=0.5, ent=0.2, cons=None)
    # Without verb: only ent is there.
    assert rsus_of(parts, ["verb"]) == pytest.approx(0.2)
    # Without cons, which was not worked out: (.4 * .5 + .35 * .2) / .75
    assert rsus_of(parts, ["cons"]) == pytest.approx(0.27 / 0.75)
    assert rsus_of(parts, ["verb", "ent"]) == 0.5
    assert rsus_of(parts) == 0.9


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablated_group_has_no_say(name):
    features = Features((name,))
    assert not any(column.startswith(f"{name}.") for column in features.names)
    assert len(features) < len(Features())
    if name in PARTS:
        one, other = (Uncertainty(0.5, 0.3, 0.3, 0.3), Uncertainty(0.5, 0.3, 0.3, 0.3))
        other = Uncertainty(0.9, **{**dict.fromkeys(PARTS, 0.3), name: 0.99})
        a, b = (features.vector(state("x"), now) for now in (one, other))
        np.testing.assert_array_equal(a, b)


def test_rsus_is_not_needed_where_all_its_parts_are_left_out():
    features = Features(PARTS)
    assert not features.needs_uncertainty
    assert not any(name.startswith("rsus") for name in features.names)
    assert Features(("history",)).needs_uncertainty


def test_an_unknown_ablation_is_refused():
    with pytest.raises(ValueError, match="'entity' is not one of verb, ent, cons, history"):
        Features(("entity",))


@given(st.lists(st.text(), max_size=4), st.text(), st.text(), st.floats())
def test_every_text_gives_finite_numbers_within_the_space(texts, question, evidence, rsus):
    features = Features()
    found = features.vector(
        state(*texts, question=question, evidence=(Evidence("q", text=evidence),)),
        Uncertainty(rsus),
    )
    assert found.shape == (len(features),)
    assert ((found >= 0) & (found <= 1)).all()


def test_hostile_texts_take_linear_time():
    # A pattern that backtracks would hang on these for minutes: pytest's time-out ends it.
    for text in ("Aa " * 50_000, "a" * 200_000, "I think " * 30_000, "A " * 100_000):
        Features().vector(state(text), None)
