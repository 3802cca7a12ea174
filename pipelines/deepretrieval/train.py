"""The rewriter's training loop.

Sample tasks, generate, search (overlapped), score, update, hand over the weights; evaluate and
checkpoint on the way. Steps count warm-up first, then reinforcement. Everything random is a
function of the seed and the step, so a resumed run repeats what it would have done.
"""

import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ray

from actors.learner.types import Demonstration
from cluster.checkpoint import Checkpoint, CheckpointStore
from cluster.preflight import disk_problems, require
from cluster.run_dir import RunDir, read_jsonl
from cluster.session import session
from cluster.tracking import JsonlTracker, Trackers, WandbTracker
from configs.load import to_yaml
from configs.schema import RewriterConfig
from pipelines.data.task import Task
from pipelines.deepretrieval.app import SYNCS_ALWAYS_CHECKED, App, app
from pipelines.deepretrieval.environment import Environment, prepare
from pipelines.deepretrieval.evaluate import (
    PSEUDO,
    TRAINED,
    UNTRAINED,
    WARMED_UP,
    Evaluations,
    baseline_rows,
    evaluate_policy,
    policy_row,
    pseudo_document_row,
)
from pipelines.deepretrieval.failures import TrainingError
from pipelines.deepretrieval.plots import draw_curves
from pipelines.deepretrieval.report import write_report
from pipelines.deepretrieval.reward import INFRA_FAILURE
from pipelines.deepretrieval.rollout import Rollout, asks, sample_row, summary
from pipelines.deepretrieval.warmup import demonstrations
from pipelines.progress import Reporter

UPDATE_GRACE_S = 300.0
SAMPLES_KEPT = 32


def train(
    config: RewriterConfig, reporter: Reporter, *, resume: bool = False, overwrite: bool = False
) -> Path:
    """Trains a rewriter and returns its run folder.

    An interrupted run (Ctrl-C, SIGTERM, kill) goes on with `resume`. Errors are those of `RunDir`,
    `prepare`, `app` and `CheckpointStore`, each with its remedy.
    """
    with RunDir.create(config.run_dir, to_yaml(config), resume=resume, overwrite=overwrite) as run:
        environment = prepare(config, reporter)
        require(disk_problems(run.path, _checkpoint_bytes(environment.model, config)))
        checkpoints = CheckpointStore(run.checkpoints, config.train.keep_last)
        found = checkpoints.latest()
        run.rewind(found.step if found else -1)
        trackers = Trackers(
            JsonlTracker(run.metrics),
            WandbTracker(
                run.path,
                config.tracking.wandb,
                config.tracking.project,
                config.tracking.name,
                asdict(config),
            ),
        )
        try:
            with (
                session(config.cluster.address, namespace=run.path.name) as here,
                app(config, environment.model, environment.index) as actors,
            ):
                where = "this machine" if here.started else here.address
                reporter.say(f"Ray on {where}: {here.cpus:g} CPUs, {here.gpus:g} GPUs")
                trainer = Trainer(config, environment, actors, run, checkpoints, trackers, reporter)
                trainer.run(found)
        finally:
            trackers.close()
        return run.path


class Trainer:
    """The loop over an environment and its actors, writing to one run folder."""

    def __init__(
        self,
        config: RewriterConfig,
        environment: Environment,
        actors: App,
        run: RunDir,
        checkpoints: CheckpointStore,
        trackers: Trackers,
        reporter: Reporter,
    ) -> None:
        self.config, self.environment, self.actors = config, environment, actors
        self.run_dir, self.checkpoints = run, checkpoints
        self.trackers, self.reporter = trackers, reporter
        self.evaluations = Evaluations(run.path / "evaluations.json")
        self.tasks = environment.split.train
        self.held_out = environment.split.test
        self.done = 0
        self.saved = -1
        self._pending: tuple[int, Any, dict[str, float]] | None = None

    @property
    def warmup_steps(self) -> int:
        """Steps of warm-up, which come first."""
        return self.config.warmup.steps

    @property
    def last_step(self) -> int:
        """Warm-up and reinforcement steps together."""
        return self.warmup_steps + self.config.train.steps

    def run(self, found: Checkpoint | None) -> None:
        """All that is left to do, from the checkpoint `found`."""
        try:
            self._restore(found)
            self._before()
            if self.done < self.warmup_steps:
                self._warm_up()
            if self.warmup_steps and self.done == self.warmup_steps:
                self._evaluate(WARMED_UP)
                self._checkpoint()
            self._reinforce()
            self._checkpoint()
            self._evaluate(TRAINED)
        except BaseException as error:
            self._rescue(error)
            raise
        self.actors.learn("export", self.run_dir.path / "model")
        self._draw()
        write_report(self.run_dir.path, self.config, self.evaluations.rows, self.environment)

    def _restore(self, found: Checkpoint | None) -> None:
        step = found.step if found else -1
        self.evaluations.rewind(step)
        self.checkpoints.rewind(step)
        if found is None:
            return
        self.actors.learn("load", found.path / "learner")
        if self.actors.learn("ping") != found.step:
            raise TrainingError(f"checkpoint {found.path} is not of step {found.step}")
        if found.step == self.warmup_steps:
            self.actors.learn("end_warmup")
        self.actors.sync()
        self.done = self.saved = found.step
        self.reporter.say(f"resuming after step {found.step}")

    def _before(self) -> None:
        """Everything that is measured before the first step."""
        if self.done:
            return
        rows = self.evaluations.rows
        self._evaluate(UNTRAINED)
        if PSEUDO not in rows:
            pseudo = pseudo_document_row(
                self.actors, self.environment, self.config, self.held_out, self.config.train.seed
            )
            self.evaluations.put(pseudo)
        for row in baseline_rows(self.actors, self.config, self.held_out):
            self.evaluations.put(row)
        self.trackers.log(0, {f"recall/{row.name}": row.recall for row in rows.values()})

    # --- warm-up ---------------------------------------------------------------------------------

    def _warm_up(self) -> None:
        total = self.warmup_steps
        with self.reporter.bar("warm-up", total) as bar:
            for step in range(self.done + 1, total + 1):
                demos = self._demonstrations(step)
                metrics = self._learn(step, {}, "imitate", demos, self.config.warmup.lr)
                bar.update(step, f"loss {metrics['warmup/loss']:.2f}")
        self.actors.learn("end_warmup")
        self.actors.sync()

    def _demonstrations(self, step: int) -> list[Demonstration]:
        prompter = self.environment.prompter
        eos = prompter.tokenizer.eos_token_id
        made = demonstrations(
            self.tasks,
            self.config.warmup.batch,
            f"{self.config.train.seed}/warmup/{step}",
            open_think=self.config.prompt.open_think,
            language=prompter.language,
        )
        return [
            Demonstration(prompter.ids(task.need, task.id), (*prompter.encode(text), eos))
            for task, text in made
        ]

    # --- reinforcement ---------------------------------------------------------------------------

    def _reinforce(self) -> None:
        t = self.config.train
        started = time.monotonic()
        if self.saved == self.done and not self._measured(self.done):
            self._due(self.done)
        with self.reporter.bar("training", t.steps) as bar:
            for step in range(self.done + 1, self.last_step + 1):
                metrics = self._step(step)
                at = step - self.warmup_steps
                note = f"recall {metrics['recall/mean']:.3f}  reward {metrics['reward/mean']:+.2f}"
                bar.update(at, note)
                if t.max_minutes and time.monotonic() - started > 60 * t.max_minutes:
                    self.reporter.say(f"stopping after {at} steps: {t.max_minutes:g} minutes")
                    return
                self._due(step)

    def _due(self, step: int) -> None:
        """The evaluation and the checkpoint that belong to a step; the last one has its own."""
        t, at = self.config.train, step - self.warmup_steps
        if not 0 < at < t.steps:
            return
        if t.eval_every and at % t.eval_every == 0:
            self._evaluate(f"step {at}")
        if t.checkpoint_every and at % t.checkpoint_every == 0:
            self._checkpoint()

    def _step(self, step: int) -> dict[str, float]:
        started = time.perf_counter()
        rollouts = self._rollouts(step)
        samples = [r.sample() for r in rollouts if r.status != INFRA_FAILURE]
        if not samples:
            raise TrainingError(f"step {step}: every search failed; see the search workers' log")
        at = step - self.warmup_steps
        self._keep_samples(step, rollouts)
        metrics = summary(rollouts) | self.actors.collector.timings
        metrics |= {
            "train/rl_step": at,
            "infra/restarts": self.actors.rollout.restarts + self.actors.search.restarts,
        }
        metrics = self._learn(step, metrics, "update", samples)
        synced = time.perf_counter()
        every = self.config.rollout.check_sync_every
        due = at <= SYNCS_ALWAYS_CHECKED or (every and at % every == 0)
        after = self.actors.sync(witness=rollouts[0] if due else None)
        after["time/sync"] = time.perf_counter() - synced
        after["time/step"] = time.perf_counter() - started
        self.trackers.log(step, after)
        return metrics | after

    def _learn(
        self, step: int, metrics: dict[str, float], method: str, *args: Any
    ) -> dict[str, float]:
        """One step of the learner, recorded at once. An interruption finds it in `_pending`."""
        started = time.perf_counter()
        self._pending = step, None, metrics
        update = getattr(self.actors.learner, method).remote(*args)
        self._pending = step, update, metrics
        metrics = metrics | ray.get(update, timeout=self.config.learner.timeout_s)
        metrics["time/train"] = time.perf_counter() - started
        self.trackers.log(step, metrics)
        self._pending, self.done = None, step
        return metrics

    def _rollouts(self, step: int) -> list[Rollout]:
        t = self.config.train
        tasks = tasks_of_step(self.tasks, step - self.warmup_steps, t.tasks_per_step, t.seed)
        prompts = [self.environment.prompter.ids(task.need, task.id) for task in tasks]
        asked = asks(tasks, prompts, t.samples_per_task, seed=t.seed, purpose=f"step {step}")
        return self.actors.collector.collect(asked)

    def _keep_samples(self, step: int, rollouts: Sequence[Rollout]) -> None:
        rows = [sample_row(rollout) for rollout in rollouts[:SAMPLES_KEPT]]
        path = self.run_dir.samples / f"step-{step:06d}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        every = self.config.train.eval_every
        if every and (step - self.warmup_steps) % every == 0:
            values = [list(row.values()) for row in rows]
            self.trackers.table("samples", list(rows[0]), values, step)

    # --- evaluation, checkpoints, ends -----------------------------------------------------------

    def _measured(self, step: int) -> bool:
        records = read_jsonl(self.run_dir.metrics)
        return any(r["step"] == step and "held_out/recall/mean" in r for r in records)

    def _evaluate(self, name: str) -> None:
        """Evaluates the present weights; the rows of the table are kept under their names."""
        if name in self.evaluations.rows:
            return
        t = self.config.train
        full = name in (UNTRAINED, WARMED_UP, TRAINED)
        with self.reporter.bar(f"evaluating: {name}", len(self.held_out)) as bar:
            rollouts = evaluate_policy(
                self.actors,
                self.environment,
                self.held_out,
                seeds=t.final_eval_samples if full else t.eval_samples,
                seed=t.seed,
                temperature=t.eval_temperature,
                progress=bar.update,
            )
        ranks = not self.environment.prompter.language.boolean
        row = policy_row(name, rollouts, step=self.done, ranks=ranks)
        self.reporter.say(
            f"{name}: Recall@{self.config.search.k} {row.recall:.3f}, "
            f"format errors {row.format_errors:.1%}, reward {row.reward:+.2f}"
        )
        measured = {f"held_out/{key}": value for key, value in summary(rollouts).items()}
        self.trackers.log(self.done, measured)
        if full:
            self.evaluations.put(row)
        if self.done and self.checkpoints.would_be_best("held_out/recall/mean", row.recall):
            self._checkpoint()
            self.checkpoints.offer_best(self.done, "held_out/recall/mean", row.recall)

    def _checkpoint(self) -> None:
        if self.done in (self.saved, 0):
            return
        self.checkpoints.save(
            self.done, self._save, {"step": self.done, "seed": self.config.train.seed}
        )
        self.saved = self.done
        self._draw()

    def _save(self, folder: Path) -> None:
        self.actors.learn("save", folder / "learner")
        if not (folder / "learner" / "learner.json").exists():
            raise TrainingError(
                f"the learner wrote its checkpoint on another machine than the driver's: {folder}; "
                "put run_dir on storage that all nodes share"
            )

    def _rescue(self, error: BaseException) -> None:
        """Whatever ended the run: what the learner has finished is kept, if the learner lives."""
        try:
            if self._pending is not None:
                step, update, metrics = self._pending
                version = ray.get(self.actors.learner.ping.remote(), timeout=UPDATE_GRACE_S)
                if version == step:
                    learned = ray.get(update, timeout=UPDATE_GRACE_S) if update else {}
                    self.trackers.log(step, metrics | learned)
                    self.done = step
            self._checkpoint()
        except Exception as failure:
            self.reporter.say(f"no checkpoint could be written: {failure}")
        if isinstance(error, KeyboardInterrupt) or self.done:
            self.reporter.say(f"stopped after step {self.done}; go on with --resume")

    def _draw(self) -> None:
        try:
            draw_curves(self.run_dir.path, self.warmup_steps, self.config.search.k)
        except OSError as error:
            self.reporter.say(f"no plot: {error}")


def tasks_of_step(tasks: Sequence[Task], step: int, count: int, seed: int) -> list[Task]:
    """The tasks of a 1-based step: one pass over all tasks after another.

    Each pass has an order drawn by seed and pass, in which the tasks of a step that began in the
    pass before come late enough not to come twice in that step (if there are `count` or more).
    """
    chosen: list[Task] = []
    at = (step - 1) * count
    while len(chosen) < count:
        turn, offset = divmod(at, len(tasks))
        part = _pass(tasks, turn, count, seed)[offset : offset + count - len(chosen)]
        chosen += part
        at += len(part)
    return chosen


def _pass(tasks: Sequence[Task], turn: int, count: int, seed: int) -> list[Task]:
    """The order of pass `turn`. Each depends on how the one before it ended."""
    order: list[Task] = []
    for now in range(turn + 1):
        carried = now * len(tasks) % count
        before = {task.id for task in order[-carried:]} if carried else set()
        order = list(tasks)
        random.Random(f"{seed}/epoch/{now}").shuffle(order)
        if 0 < carried < len(tasks):
            fresh = [task for task in order if task.id not in before][: count - carried]
            first = {task.id for task in fresh}
            order = [*fresh, *(task for task in order if task.id not in first)]
    return order


def _checkpoint_bytes(model: str, config: RewriterConfig) -> int:
    """Disk that the checkpoints of a local model take: weights and two Adam moments in float32, for
    the critic as well, of the last ones, the best and the one being written."""
    folder = Path(model)
    if not folder.is_dir():
        return 0
    stored = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    in_fp32 = stored * 2
    networks = 2 if config.learner.algorithm == "ppo" else 1
    reference = in_fp32 if config.learner.kl_coef > 0 else 0
    one = 3 * in_fp32 * networks + reference
    return one * (config.train.keep_last + 2)
