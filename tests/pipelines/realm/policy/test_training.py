import json
import os
import signal
import threading
import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch

from cluster.failures import RunDirError
from pipelines.realm.policy import training
from pipelines.realm.policy.checkpoint import MODEL, PolicyError, load_policy
from pipelines.realm.policy.collector import FleetCollector, LocalCollector, Round
from pipelines.realm.policy.policy import Policy
from pipelines.realm.policy.rollout import Task, summary
from pipelines.realm.policy.settings import PolicySettings
from pipelines.realm.policy.training import train_policy
from pipelines.realm.types import Status
from tests.pipelines.realm.policy.toy_world import ToyWorld, knows, questions

SMALL = PolicySettings(
    updates=4, batch=8, lr=0.003, hidden=(16,), evaluate_every=2, checkpoint_every=1, concurrency=4,
    formulations=("step", "gap"), integrations=("whole",),
)  # fmt: skip
TRAIN, DEV = questions(12), questions(6, prefix="d")


def weights(policy: Policy) -> dict[str, torch.Tensor]:
    return dict(policy.network.state_dict())


def same_weights(first: Policy, second: Policy) -> None:
    for name, value in weights(first).items():
        assert torch.equal(value, weights(second)[name]), name


def records(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_it_learns_when_and_with_which_query(tmp_path):
    settings = replace(SMALL, updates=12, batch=64, lr=0.03, evaluate_every=4, normalise=True)
    settings = replace(settings, l1_start=0.15, l1_end=0.15, baseline="group", samples=4)
    dev = questions(30, prefix="d")
    found = train_policy(settings, ToyWorld, questions(60), dev, tmp_path)
    # Two hops, each known or not: the best is F1 1 with one call for every hop that is not.
    needed = np.mean([sum(not knows(question, hop) for hop in range(2)) for question in dev])
    assert found.metrics["evaluation/f1"] > 0.9
    assert found.metrics["evaluation/calls"] == pytest.approx(needed, abs=0.15)
    assert found.metrics["evaluation/action/step+whole"] == 0.0


def test_what_a_training_leaves(tmp_path):
    found = train_policy(SMALL, ToyWorld, TRAIN, DEV, tmp_path, facts={"set": "toy"})
    held = records(tmp_path)
    assert [row["step"] for row in held] == [1, 2, 3, 4]
    # .5 to .1 over the first half of 4 updates.
    assert [row["train/l1"] for row in held] == pytest.approx([0.5, 0.3, 0.1, 0.1])
    assert {"learner/loss", "learner/entropy", "train/f1", "train/calls"} <= set(held[0])
    assert "evaluation/objective" in held[1]
    assert "evaluation/objective" not in held[0]
    same_weights(found.policy, load_policy(tmp_path))
    card = json.loads((tmp_path / MODEL / "policy.json").read_text())
    assert card["facts"]["set"] == "toy"
    assert card["facts"]["settings"]["updates"] == 4


def test_the_same_settings_give_the_same_policy_and_another_seed_another(tmp_path):
    runs = [
        train_policy(settings, ToyWorld, TRAIN, DEV, tmp_path / str(row))
        for row, settings in enumerate((SMALL, SMALL, replace(SMALL, seed=1)))
    ]
    same_weights(runs[0].policy, runs[1].policy)
    assert any(
        not torch.equal(value, weights(runs[2].policy)[name])
        for name, value in weights(runs[0].policy).items()
    )


class _StoppedError(Exception):
    pass


def test_a_stopped_run_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch):
    whole = train_policy(SMALL, ToyWorld, TRAIN, [], tmp_path / "whole")
    once = training.PolicyTrainer._one_update

    def stopping(self, update):
        if update == 2:
            raise _StoppedError
        return once(self, update)

    monkeypatch.setattr(training.PolicyTrainer, "_one_update", stopping)
    with pytest.raises(_StoppedError):
        train_policy(SMALL, ToyWorld, TRAIN, [], tmp_path / "halves")
    monkeypatch.undo()
    resumed = train_policy(SMALL, ToyWorld, TRAIN, [], tmp_path / "halves", resume=True)
    same_weights(whole.policy, resumed.policy)
    assert records(tmp_path / "whole") == records(tmp_path / "halves")


def test_a_run_is_not_overwritten_or_resumed_by_mistake(tmp_path):
    train_policy(SMALL, ToyWorld, TRAIN, DEV, tmp_path)
    with pytest.raises(RunDirError, match="already holds a run"):
        train_policy(SMALL, ToyWorld, TRAIN, DEV, tmp_path)
    with pytest.raises(RunDirError, match=r"policy\.lr"):
        train_policy(replace(SMALL, lr=0.1), ToyWorld, TRAIN, DEV, tmp_path, resume=True)


def test_episodes_under_failures_are_not_learned_from(tmp_path):
    broken = partial(ToyWorld, status=Status.ENGINE_FAILURE)
    with pytest.raises(PolicyError, match="every episode of 5 updates"):
        train_policy(replace(SMALL, updates=9), broken, TRAIN, DEV, tmp_path / "a")
    rows = records(tmp_path / "a")
    assert all("learner/loss" not in row for row in rows)
    assert all(row["train/failed"] == 8 for row in rows)
    assert all(row["train/f1"] is None for row in rows)


def test_an_index_that_is_down_masks_only_the_chains_that_asked_it(tmp_path):
    found = train_policy(
        replace(SMALL, updates=2), partial(ToyWorld, index_down=True), TRAIN, [], tmp_path
    )
    assert found.metrics["train/failed"] > 0
    assert found.metrics["train/calls"] == 0.0  # of those that count


def test_impossible_settings_and_questions_are_refused(tmp_path):
    bad = replace(SMALL, lr=0, batch=0, baseline="group", wandb="on", without=("verbs",))
    with pytest.raises(PolicyError) as caught:
        train_policy(bad, ToyWorld, TRAIN, DEV, tmp_path)
    for name in ("lr", "batch", "samples", "wandb", "'verbs'"):
        assert name in str(caught.value)
    with pytest.raises(PolicyError, match="no training questions"):
        train_policy(SMALL, ToyWorld, [], DEV, tmp_path)
    with pytest.raises(PolicyError, match=r"in train and in dev, e\.g\. q0"):
        train_policy(SMALL, ToyWorld, TRAIN, TRAIN, tmp_path)


def test_every_question_comes_once_before_any_comes_twice(tmp_path):
    trainer = training.PolicyTrainer(
        replace(SMALL, batch=6, samples=2), None, TRAIN, [], None, None, None
    )
    seen = [task.question.id for update in range(4) for task in trainer.tasks(update)]
    assert sorted(seen) == sorted(2 * [question.id for question in TRAIN])
    assert [task.sample for task in trainer.tasks(0)] == [0, 1] * 3
    later = [task.question.id for update in range(4, 8) for task in trainer.tasks(update)]
    assert later != seen


@dataclass
class HangsOnce(ToyWorld):
    """Blocks in the first chain of the first process that runs one; `mark` says it did."""

    mark: str = ""

    def reasoner(self, question, *, seed):
        if not os.path.exists(self.mark):
            with open(self.mark, "w"):
                pass
            time.sleep(600)
        return super().reasoner(question, seed=seed)


def equal(first, second) -> None:
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert (one.question_id, one.sample) == (other.question_id, other.sample)
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.log_probs, other.log_probs)
        assert (one.f1, one.calls, one.seconds) == (other.f1, other.calls, other.seconds)


def test_episodes_do_not_depend_on_what_runs_beside_them():
    shape = SMALL.shape()
    policy, tasks = Policy(shape, shape.network(0)), [Task(q) for q in TRAIN]
    alone, together = (LocalCollector(ToyWorld, 0, count) for count in (1, 16))
    equal(
        alone.collect(policy, tasks, Round("x")),
        together.collect(policy, list(reversed(tasks)), Round("x"))[::-1],
    )
    other = alone.collect(policy, tasks, Round("y"))
    assert any(
        len(a) != len(b) or (a.actions != b.actions).any()
        for a, b in zip(other, alone.collect(policy, tasks, Round("x")), strict=True)
    )


def test_a_mistake_in_a_chain_ends_the_collection_and_closes_the_chain():
    made = []

    class Broken(ToyWorld):
        def reasoner(self, question, *, seed):
            reasoner = super().reasoner(question, seed=seed)
            made.append(reasoner)

            async def apply(decision):
                raise KeyError("a mistake")

            reasoner.apply = apply
            return reasoner

    shape = SMALL.shape()
    with pytest.raises(KeyError, match="a mistake"):
        LocalCollector(Broken).collect(
            Policy(shape, shape.network(0)), [Task(TRAIN[0])], Round("x")
        )
    assert [reasoner.closed for reasoner in made] == [1]


def test_summary_counts_sound_episodes_only():
    shape = SMALL.shape()
    policy = Policy(shape, shape.network(0))
    rollouts = LocalCollector(partial(ToyWorld, index_down=True)).collect(
        policy, [Task(q) for q in TRAIN], Round("x")
    )
    found = summary(rollouts, shape.actions.names)
    assert found["failed"] == sum(r.failed for r in rollouts) > 0
    assert found["action/go_on"] == 1.0


def test_a_killed_worker_changes_nothing(tmp_path, ray_local):
    """A worker is killed in the middle of the training: it goes on, to the same policy."""
    make = partial(ToyWorld, slow_s=0.05)
    local = train_policy(SMALL, make, TRAIN, DEV, tmp_path / "local")
    fleets = []
    started = FleetCollector.__init__

    def watched(self, *args, **kwargs):
        started(self, *args, **kwargs)
        fleets.append(self)

    def kill_one():
        metrics = tmp_path / "fleet" / "metrics.jsonl"
        while not (metrics.exists() and metrics.read_text().count("\n")):
            time.sleep(0.01)
        os.kill(fleets[0].fleet.pids()[0], signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FleetCollector, "__init__", watched)
        killer = threading.Thread(target=kill_one)
        killer.start()
        found = train_policy(replace(SMALL, workers=2), make, TRAIN, DEV, tmp_path / "fleet")
        killer.join()
    assert fleets[0].restarts == 1
    same_weights(local.policy, found.policy)
    assert records(tmp_path / "local") == records(tmp_path / "fleet")


def test_a_hung_worker_is_replaced_and_its_episodes_collected_again(tmp_path, ray_local):
    shape, mark = SMALL.shape(), tmp_path / "hung"
    policy, tasks = Policy(shape, shape.network(0)), [Task(q) for q in TRAIN]
    fleet = FleetCollector(partial(HangsOnce, mark=str(mark)), 1, call_timeout_s=1.0)
    local = LocalCollector(ToyWorld)
    try:
        found = fleet.collect(policy, tasks, Round("x"))
        assert mark.exists()
        assert fleet.restarts >= 1
        equal(found, local.collect(policy, tasks, Round("x")))
    finally:
        fleet.close()
        local.close()
