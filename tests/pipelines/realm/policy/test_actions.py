import pytest

from pipelines.realm.policy.actions import Actions
from pipelines.realm.types import GO_ON, Decision, Formulation, Integration


def test_the_order_of_the_actions_is_formulation_by_integration():
    actions = Actions.of(("step", "gap"), ("sentences", "whole"))
    assert actions.names == (
        "go_on", "step+sentences", "step+whole", "gap+sentences", "gap+whole",
    )  # fmt: skip
    assert actions.decision(0) == GO_ON
    assert actions.decision(3) == Decision(True, Formulation.GAP, Integration.SENTENCES)


def test_an_action_and_its_decision_name_each_other():
    actions = Actions()
    assert len(actions) == 1 + 4 * 3
    assert [actions.index(actions.decision(i)) for i in range(len(actions))] == list(range(13))


@pytest.mark.parametrize("index", [-1, 13])
def test_no_action_outside_the_space(index):
    with pytest.raises(IndexError, match=str(index)):
        Actions().decision(index)


def test_names_that_are_unknown_empty_or_twice_are_refused():
    with pytest.raises(ValueError, match=r"formulation 'gist' is not one of step, entity, gap"):
        Actions.of(("gist",), ("whole",))
    with pytest.raises(ValueError, match="integrations"):
        Actions.of(("step",), ())
    with pytest.raises(ValueError, match="each once"):
        Actions.of(("step", "step"), ("whole",))
