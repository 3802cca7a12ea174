import pytest

from actors.rollout.sessions.types import Usage
from pipelines.realm.policy.curriculum import Curriculum
from pipelines.realm.policy.reward import Costs, RewardWeights, infrastructure_failed
from pipelines.realm.types import (
    GO_ON,
    Chain,
    Decision,
    Evidence,
    Status,
    Step,
    StepRecord,
    Uncertainty,
)


def chain(*records: StepRecord, status: Status = Status.ANSWERED, written: int = 0) -> Chain:
    return Chain("q", "?", "a", status, records, "", Usage(written_tokens=written), 1.0)


def test_reward_by_hand():
    # .8 - .1 * 2 - .01 * 30 = .3
    assert RewardWeights(0.1, 0.01).reward(0.8, 2, 30.0) == pytest.approx(0.3)


def test_costs_by_hand():
    asked = Uncertainty(0.5, tokens=10)
    records = (
        StepRecord(Step(0, "x", tokens=30), GO_ON, uncertainty=asked),
        StepRecord(
            Step(1, "y", tokens=20), Decision(True), evidence=Evidence("q", kept_tokens=100)
        ),
    )
    # (30 + 10 + 20) * .025 + .66 + 100 * .0005 = 1.5 + .66 + .05
    assert Costs()(chain(*records)) == pytest.approx(2.21)


def test_what_was_written_ahead_and_cut_is_not_charged():
    record = StepRecord(Step(0, "x", tokens=30), GO_ON)
    assert Costs()(chain(record, written=30)) == Costs()(chain(record, written=300))


@pytest.mark.parametrize(
    ("update", "expected"), [(0, 0.5), (10, 0.4), (20, 0.3), (40, 0.1), (41, 0.1), (99, 0.1)]
)
def test_l1_falls_in_a_line_and_stays(update, expected):
    # Over the first 40 of 100 updates: .5 - .4 * update / 40.
    assert Curriculum(0.5, 0.1, 0.4).at(update, 100) == pytest.approx(expected)


def test_no_curriculum_is_the_end_price():
    assert Curriculum(0.5, 0.1, 0.0).at(0, 100) == 0.1


def test_failures_of_engine_and_index_say_nothing_of_the_policy():
    down = StepRecord(Step(0, "x"), Decision(True), evidence=Evidence("q", failure="down"))
    empty = StepRecord(Step(0, "x"), Decision(True), evidence=Evidence("q"))
    assert infrastructure_failed(chain(status=Status.ENGINE_FAILURE))
    assert infrastructure_failed(chain(status=Status.ERROR))
    assert infrastructure_failed(chain(down))
    assert not infrastructure_failed(chain(empty))
    assert not infrastructure_failed(chain(status=Status.STEP_LIMIT))
    assert not infrastructure_failed(chain(status=Status.NO_ANSWER))
