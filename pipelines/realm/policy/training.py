"""Trains a policy.

    training = train_policy(settings, make_world, train, dev, "runs/policy", reporter)

Collect a batch with the policy as it is, update once, evaluate and checkpoint on the way. All that
is random is a function of the seed and the number of the update, so a resumed run, and one whose
workers were lost, repeats what it would have done.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml  # type: ignore[import-untyped]

from cluster.checkpoint import Checkpoint, CheckpointStore
from cluster.run_dir import RunDir
from cluster.tracking import JsonlTracker, Trackers, WandbTracker
from pipelines.progress import Reporter, SilentReporter
from pipelines.realm.policy.checkpoint import MODEL, PolicyError, load_policy, save_policy
from pipelines.realm.policy.collector import (
    Collector,
    FleetCollector,
    LocalCollector,
    MakeWorld,
    Round,
)
from pipelines.realm.policy.policy import Policy
from pipelines.realm.policy.reward import Clock, Costs, RewardWeights
from pipelines.realm.policy.rollout import Rollout, Task, summary
from pipelines.realm.policy.settings import PolicySettings
from pipelines.realm.types import HopQuestion
from pipelines.seeds import seed_of
from pipelines.threads import torch_threads

if TYPE_CHECKING:
    from pipelines.realm.policy.learner import ReinforceLearner

OPTIMISER = "optimiser.pt"
EVALUATION = "evaluation"
OBJECTIVE = f"{EVALUATION}/objective"
FAILED_IN_A_ROW = 5
_PLACES = ("workers", "worker_cpus", "address", "concurrency", "max_restarts", "call_timeout_s")
_TRACKING = ("wandb", "project")


@dataclass(frozen=True, eq=False)
class PolicyTraining:
    """A finished training: the policy of the best evaluation (the last one where nothing was
    evaluated), its update, and its metrics."""

    policy: Policy
    folder: Path
    update: int
    metrics: dict[str, float]


def train_policy(
    settings: PolicySettings,
    make_world: MakeWorld,
    train: Sequence[HopQuestion],
    dev: Sequence[HopQuestion],
    folder: str | Path,
    reporter: Reporter | None = None,
    *,
    clock: Clock | None = None,
    facts: Mapping[str, Any] | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> PolicyTraining:
    """Trains on `train`, picks by `dev` (may be empty), and leaves the policy in `folder/model`
    with `metrics.jsonl`, checkpoints and W&B files beside it.

    `clock` charges seconds (default: `reward.Costs`, which repeats); `facts` go into the policy's
    card and must be the same on resuming. Raises `PolicyError` for impossible settings, no
    questions, or infrastructure that fails under every episode; else what `RunDir`, `Fleet` and
    `CheckpointStore` raise.
    """
    reporter = reporter or SilentReporter()
    if problems := settings.problems():
        raise PolicyError("policy training: " + "; ".join(problems))
    if not train:
        raise PolicyError("policy training: there are no training questions")
    if shared := {q.id for q in train} & {q.id for q in dev}:
        raise PolicyError(
            f"policy training: {len(shared)} questions are in train and in dev, e.g. {min(shared)}"
        )
    with ExitStack() as stack:
        run = stack.enter_context(
            RunDir.create(folder, _yaml(settings, facts), resume=resume, overwrite=overwrite)
        )
        stack.enter_context(torch_threads(1))
        collector = stack.enter_context(_collector(settings, make_world, clock))
        checkpoints = CheckpointStore(run.checkpoints, settings.keep_last)
        found = checkpoints.latest()
        run.rewind(found.step if found else -1)
        trackers = Trackers(
            JsonlTracker(run.metrics),
            WandbTracker(run.path, settings.wandb, settings.project, config=asdict(settings)),
        )
        stack.callback(trackers.close)
        trainer = PolicyTrainer(settings, collector, train, dev, checkpoints, trackers, reporter)
        trainer.restore(found)
        trainer.run()
        best = checkpoints.best() or checkpoints.latest()
        if best is None:
            raise PolicyError(f"{run.checkpoints} lost its checkpoints while training ran")
        policy, metrics = load_policy(best.path), best.state["metrics"]
        card = {"settings": asdict(settings), "update": best.step, "metrics": metrics}
        save_policy(policy, run.path / MODEL, {**card, **(facts or {})})
        return PolicyTraining(policy, run.path, best.step, metrics)


class PolicyTrainer:
    """The loop over a collector and a learner."""

    def __init__(
        self,
        settings: PolicySettings,
        collector: Collector,
        train: Sequence[HopQuestion],
        dev: Sequence[HopQuestion],
        checkpoints: CheckpointStore,
        trackers: Trackers,
        reporter: Reporter,
    ) -> None:
        from pipelines.realm.policy.learner import make_learner

        self.settings, self.collector = settings, collector
        self.train, self.dev = tuple(train), tuple(dev)
        self.checkpoints, self.trackers, self.reporter = checkpoints, trackers, reporter
        self.shape = settings.shape()
        self.learner: ReinforceLearner = make_learner(self.shape, settings)
        self.done = 0
        self._failed_in_a_row = 0

    def restore(self, found: Checkpoint | None) -> None:
        """Goes on from a checkpoint."""
        if found is None:
            return
        import torch

        from pipelines.realm.policy.learner import network_of, optimiser_of

        network_of(self.learner).load_state_dict(load_policy(found.path).network.state_dict())
        held = torch.load(found.path / OPTIMISER, weights_only=True)
        optimiser_of(self.learner).load_state_dict(held)
        self.learner.baseline.value = found.state["baseline"]
        self.done = found.step
        self.checkpoints.rewind(found.step)
        self.reporter.say(f"going on after update {self.done}")

    def run(self) -> None:
        """All updates that are left."""
        last = self.settings.updates
        with self.reporter.bar("policy", last) as bar:
            while self.done < last:
                metrics = self._one_update(self.done)
                self.done += 1
                ended = self.done == last
                if self.dev and (ended or self.done % self.settings.evaluate_every == 0):
                    metrics |= self._evaluate()
                self.trackers.log(self.done, metrics)
                if OBJECTIVE in metrics or ended or self.done % self.settings.checkpoint_every == 0:
                    self._save(metrics)
                bar.update(
                    self.done, f"F1 {metrics['train/f1']:.3f}, {metrics['train/calls']:.2f} calls"
                )

    def tasks(self, update: int) -> list[Task]:
        """The tasks of an update: the questions in a new order every time they are through."""
        count = self.settings.batch // self.settings.samples
        chosen = []
        for place in range(update * count, (update + 1) * count):
            lap, row = divmod(place, len(self.train))
            order = np.random.default_rng(seed_of(self.settings.seed, "order", lap))
            chosen.append(self.train[int(order.permutation(len(self.train))[row])])
        return [Task(q, sample) for q in chosen for sample in range(self.settings.samples)]

    def _one_update(self, update: int) -> dict[str, float]:
        from pipelines.realm.policy.learner import policy_of, update_learner

        l1 = self.settings.curriculum.at(update, self.settings.updates)
        weights = RewardWeights(l1, self.settings.l2)
        policy = policy_of(self.learner, self.shape)
        rollouts = self.collector.collect(policy, self.tasks(update), Round(f"update-{update}"))
        usable = [rollout for rollout in rollouts if not rollout.failed and len(rollout)]
        self._watch(rollouts)
        rewards = [weights.reward(r.f1, r.calls, r.seconds) for r in usable]
        metrics = {f"train/{k}": v for k, v in summary(rollouts, self.shape.actions.names).items()}
        metrics["train/l1"] = l1
        if usable:
            if self.learner.baseline.value is None:  # the first update
                self._calibrate(usable)
            learned = update_learner(self.learner, usable, rewards, self.shape)
            metrics |= {"train/reward": float(np.mean(rewards))}
            metrics |= {f"learner/{name}": value for name, value in learned.items()}
        return metrics

    def _calibrate(self, rollouts: Sequence[Rollout]) -> None:
        import torch

        from pipelines.realm.policy.learner import network_of

        seen = np.concatenate([rollout.observations for rollout in rollouts])
        network_of(self.learner).calibrate(torch.from_numpy(seen))

    def _watch(self, rollouts: Sequence[Rollout]) -> None:
        """Episodes under which the infrastructure failed are not learned from; nothing but such
        ends the run."""
        failed = [rollout for rollout in rollouts if rollout.failed]
        self._failed_in_a_row = self._failed_in_a_row + 1 if len(failed) == len(rollouts) else 0
        if failed:
            self.reporter.say(
                f"update {self.done + 1}: engine or index failed under {len(failed)} of "
                f"{len(rollouts)} episodes; they are not learned from"
            )
        if self._failed_in_a_row == FAILED_IN_A_ROW:
            raise PolicyError(
                f"engine or index failed under every episode of {FAILED_IN_A_ROW} updates in a "
                f"row, e.g. {failed[0].question_id} (status {failed[0].status}): mend it, then "
                "resume"
            )

    def _evaluate(self) -> dict[str, float]:
        from pipelines.realm.policy.learner import policy_of

        rollouts = self.collector.collect(
            policy_of(self.learner, self.shape),
            [Task(question) for question in self.dev],
            Round(EVALUATION, greedy=True),
        )
        found = summary(rollouts, self.shape.actions.names)
        weights = RewardWeights(self.settings.l1_end, self.settings.l2)
        found["objective"] = weights.reward(found["f1"], found["calls"], found["seconds"])  # type: ignore[arg-type]
        return {f"{EVALUATION}/{name}": value for name, value in found.items()}

    def _save(self, metrics: dict[str, float]) -> None:
        import torch

        from pipelines.realm.policy.learner import optimiser_of, policy_of

        def write(folder: Path) -> None:
            save_policy(policy_of(self.learner, self.shape), folder)
            torch.save(optimiser_of(self.learner).state_dict(), folder / OPTIMISER)

        state = {"metrics": metrics, "baseline": self.learner.baseline.value}
        self.checkpoints.save(self.done, write, state)
        if np.isfinite(metrics.get(OBJECTIVE, float("nan"))):
            self.checkpoints.offer_best(self.done, OBJECTIVE, metrics[OBJECTIVE])


@contextmanager
def _collector(
    settings: PolicySettings, make_world: MakeWorld, clock: Clock | None
) -> Iterator[Collector]:
    clock = clock or Costs()
    collector: Collector
    if not settings.workers:
        collector = LocalCollector(make_world, settings.seed, settings.concurrency, clock)
        try:
            yield collector
        finally:
            collector.close()
        return

    from cluster.session import session

    with session(settings.address) as here:
        wanted = settings.workers * settings.worker_cpus
        if here.cpus < wanted:
            raise PolicyError(
                f"{settings.workers} workers want {wanted:g} CPUs and Ray has {here.cpus:g}: "
                "lower workers or worker_cpus"
            )
        collector = FleetCollector(
            make_world,
            settings.workers,
            settings.seed,
            settings.concurrency,
            clock,
            cpus=settings.worker_cpus,
            max_restarts=settings.max_restarts,
            call_timeout_s=settings.call_timeout_s,
        )
        try:
            yield collector
        finally:
            collector.close()


def _yaml(settings: PolicySettings, facts: Mapping[str, Any] | None) -> str:
    """Where it runs and is tracked may change on resuming, nothing else (`run_dir.MAY_CHANGE`)."""
    held = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(settings).items()}
    sections = {
        "cluster": {name: held.pop(name) for name in _PLACES},
        "tracking": {name: held.pop(name) for name in _TRACKING},
        "policy": held,
        "facts": dict(facts or {}),
    }
    return str(yaml.safe_dump(sections, sort_keys=False))
