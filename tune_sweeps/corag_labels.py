"""Labels for the configuration agent: Ray Tune over reranker x iterations x c x lambda.

A trial is one configuration over the questions of a rung; it reports mean ROUGE-L after every
block. Between rungs the hopeless are dropped (`halving.py`). A label is on the disk as soon as it
is known, so a sweep that was killed goes on where it was: `Tuner.restore` brings back the trials,
and the trials skip what they find labelled.

Trials hold no model. They call *desks*, actors that the driver starts once: each holds a `Labeller`
with its rerankers, its engine and their caches. A trial needs only memory, so one desk does for
two cores, and the second trial's block waits ready while the first one's is worked on.

    <folder>/sweep.json      what the sweep is; another one is refused
    <folder>/trials/*.jsonl  labels of each configuration as they come
    <folder>/labels.jsonl    all of them, at the end
    <folder>/metrics.jsonl   every report of every trial
    <folder>/tune/           Ray Tune's own files, one experiment a rung

Several nodes need a folder that all of them share, as Ray Tune does.
"""

import hashlib
import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray import tune

from cluster.failures import cause_of
from pipelines.corag.labels import LabelError, configuration_key
from pipelines.corag.space import SearchSpace
from pipelines.corag.types import Configuration
from pipelines.data.chunks import Question
from pipelines.progress import Reporter, SilentReporter
from tune_sweeps.halving import rung_ends, survivors
from tune_sweeps.label_trial import (
    METRIC,
    LabelDesk,
    MakeLabeller,
    key_of,
    label_configuration,
    to_config,
)
from tune_sweeps.reports import SweepReports
from tune_sweeps.sweep_folder import SweepFolder
from tune_sweeps.tune_settings import quiet_tune

log = logging.getLogger(__name__)

TRIAL_BYTES = 200 * 2**20


@dataclass(frozen=True)
class LabelSweepSettings:
    """How much is tried, and on what."""

    settings_per_reranker: int = 8
    """The paper's settings and this many less one, drawn over the space."""
    block: int = 8
    """Questions that a desk works on together; a trial reports after each block."""
    first_rung: int = 16
    """Questions after which the hopeless are dropped for the first time."""
    reduction: float = 2.0
    """After each rung 1/reduction of a reranker's configurations go on, over `reduction` times as
    many questions in all. 1 drops none: every configuration is labelled on every question."""
    keep: int = 2
    """Configurations of each reranker that go on at least, beside the paper's settings."""
    seed: int = 0
    """Of the drawn configurations and the order of the questions."""
    desks: int = 1
    trials_per_desk: int = 2
    desk_cpus: float = 1.0
    """What a desk itself uses; what it starts reserves its own."""
    desk_gpus: float = 0.0
    desk_restarts: int = 3
    start_timeout_s: float = 900.0
    label_timeout_s: float = 3600.0
    """A desk that owes a label and gives none for so long ends the trial."""
    wandb: str = "disabled"
    """`online` | `offline` | `disabled`."""
    project: str = "seekray"

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        least = {
            "settings_per_reranker": 1, "block": 1, "first_rung": 1, "reduction": 1, "keep": 1,
            "desks": 1, "trials_per_desk": 1, "desk_cpus": 0, "desk_gpus": 0, "desk_restarts": 0,
        }  # fmt: skip
        out = [
            f"{name}: {getattr(self, name)} is below {bound}"
            for name, bound in least.items()
            if not getattr(self, name) >= bound
        ]
        if self.wandb not in ("online", "offline", "disabled"):
            out.append(f"wandb: {self.wandb!r} is not one of online, offline, disabled")
        return out


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep. `dropped` of `configurations` did not see all questions."""

    labels: Path
    rows: int
    questions: int
    configurations: int
    dropped: int
    rungs: int
    seconds: float


class LabelSweepError(RuntimeError):
    """Trials failed. All labels that were known are kept; the same command goes on from them."""


def run_label_sweep(
    settings: LabelSweepSettings,
    questions: Sequence[Question],
    space: SearchSpace,
    make_labeller: MakeLabeller,
    folder: str | Path,
    *,
    identity: Mapping[str, str] | None = None,
    reporter: Reporter | None = None,
) -> SweepResult:
    """Labels `questions` under configurations of `space`, or goes on with it, in `folder`.

    Ray must be running. `make_labeller` is called in each desk's process. `identity` names what
    else the labels depend on (model, index, budget): a folder of another sweep is refused.

    Raises `LabelError` for impossible settings or a folder that cannot be used, `LabelSweepError`
    when trials failed or a desk cannot start.
    """
    started = time.monotonic()
    reporter = reporter or SilentReporter()
    if settings.problems():
        raise LabelError("label sweep: " + "; ".join(settings.problems()))
    questions = _shuffled(questions, settings.seed)
    configurations = space.draw(settings.settings_per_reranker, settings.seed)
    about = _identity(settings, questions, space, identity or {})
    ends = rung_ends(len(questions), settings.first_rung, settings.reduction)
    with SweepFolder(folder, about) as sweep, quiet_tune(), _desks(make_labeller, settings) as at:
        going = configurations
        for number, end in enumerate(ends):
            reporter.say(
                f"rung {number + 1}/{len(ends)}: {len(going)} configurations on {end} questions"
            )
            rung = _Rung(sweep, f"rung-{number:02d}", questions[:end], going, settings, at, about)
            means = rung.run()
            if number + 1 < len(ends):
                going = survivors(
                    means,
                    going,
                    reduction=settings.reduction,
                    keep=settings.keep,
                    pinned={space.defaults(reranker) for reranker in space.rerankers},
                )
        labels = sweep.gather([question.id for question in questions], configurations)
        rows = labels.read_bytes().count(b"\n")
    reporter.say(f"{rows} labels of {len(questions)} questions in {labels}")
    return SweepResult(
        labels=labels,
        rows=rows,
        questions=len(questions),
        configurations=len(configurations),
        dropped=len(configurations) - len(going),
        rungs=len(ends),
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True, eq=False)
class _Rung:
    """A Tune experiment: these configurations on these questions."""

    sweep: SweepFolder
    name: str
    questions: Sequence[Question]
    configurations: Sequence[Configuration]
    settings: LabelSweepSettings
    desks: Sequence[Any]
    about: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> dict[Configuration, float]:
        """Mean ROUGE-L of each configuration, once all is labelled. Tune's state may be older than
        the labels, or say of a trial that it is done whose labels were lost: the labels decide."""
        means = self._means()
        if len(means) < len(self.configurations):
            restored = self._fit(restore=True)
            means = self._means()
            if restored and len(means) < len(self.configurations):
                self._fit(restore=False)
                means = self._means()
        missing = [c for c in self.configurations if c not in means]
        if missing:
            raise LabelSweepError(
                f"{self.name}: {len(missing)} configurations are not labelled, the first is "
                f"{configuration_key(missing[0])}; run the same command again"
            )
        return means

    def _means(self) -> dict[Configuration, float]:
        means = {}
        for configuration in self.configurations:
            known = self.sweep.labels(configuration)
            if all(question.id in known for question in self.questions):
                values = [known[question.id].rouge_l for question in self.questions]
                means[configuration] = sum(values) / len(values)
        return means

    def _fit(self, restore: bool) -> bool:
        """Runs the trials; True if a former state of Tune was taken up."""
        trainable = tune.with_resources(
            tune.with_parameters(
                label_configuration,
                desks=list(self.desks),
                questions=list(self.questions),
                paths={configuration_key(c): self.sweep.trial(c) for c in self.configurations},
                block=self.settings.block,
                timeout_s=self.settings.label_timeout_s,
            ),
            tune.PlacementGroupFactory([{"memory": TRIAL_BYTES}]),
        )
        home = self.sweep.tune / self.name
        # Without an experiment state (killed too early) a restored Tuner has no trials at all.
        restore = restore and tune.Tuner.can_restore(str(home))
        restore = restore and any(home.glob("experiment_state-*.json"))
        if restore:
            log.info("%s: going on from %s", self.name, home)
            tuner = tune.Tuner.restore(
                str(home), trainable, resume_unfinished=True, restart_errored=True
            )
        else:
            shutil.rmtree(home, ignore_errors=True)
            tuner = self._new(trainable)
        results = tuner.fit()
        if results.num_errors:
            first = results.errors[0]
            raise LabelSweepError(
                f"{self.name}: {results.num_errors} of {len(results)} trials failed, the first "
                f"because of {cause_of(first)}; labels are kept: mend it and run the same again"
            )
        return restore

    def _new(self, trainable: Any) -> tune.Tuner:
        settings = self.settings
        return tune.Tuner(
            trainable,
            param_space={
                "configuration": tune.grid_search([to_config(c) for c in self.configurations])
            },
            tune_config=tune.TuneConfig(
                metric=METRIC,
                mode="max",
                max_concurrent_trials=settings.desks * settings.trials_per_desk,
                reuse_actors=True,
                trial_dirname_creator=lambda trial: key_of(trial.config),
            ),
            run_config=tune.RunConfig(
                name=self.name,
                storage_path=str(self.sweep.tune),
                callbacks=[
                    SweepReports(
                        self.sweep.path, settings.wandb, settings.project, dict(self.about)
                    )
                ],
                verbose=0,
            ),
        )


@contextmanager
def _desks(make: MakeLabeller, settings: LabelSweepSettings) -> Iterator[list[Any]]:
    """Desks that are up. A lost one is started again by Ray, and its call repeated."""
    actor = ray.remote(LabelDesk).options(
        num_cpus=settings.desk_cpus,
        num_gpus=settings.desk_gpus,
        max_restarts=settings.desk_restarts,
        max_task_retries=settings.desk_restarts,
    )
    desks = [actor.remote(make) for _ in range(settings.desks)]
    try:
        try:
            ray.get([desk.ping.remote() for desk in desks], timeout=settings.start_timeout_s)
        except ray.exceptions.GetTimeoutError as error:
            raise LabelSweepError(
                f"{settings.desks} desks of {settings.desk_cpus} CPUs and {settings.desk_gpus} "
                f"GPUs were not up in {settings.start_timeout_s} s; Ray has "
                f"{ray.available_resources()} free"
            ) from error
        except ray.exceptions.RayError as error:
            raise LabelSweepError(f"a desk cannot start: {cause_of(error)}") from error
        yield desks
    finally:
        for desk in desks:
            ray.kill(desk)


def _shuffled(questions: Sequence[Question], seed: int) -> list[Question]:
    """A random order, the same for the same questions: every rung is a fair sample."""
    ordered = sorted(questions, key=lambda question: question.id)
    if not ordered or len({question.id for question in ordered}) != len(ordered):
        raise LabelError(f"label sweep: {len(ordered)} questions, must be at least 1, each once")
    return [ordered[row] for row in np.random.default_rng(seed).permutation(len(ordered))]


def _identity(
    settings: LabelSweepSettings,
    questions: Sequence[Question],
    space: SearchSpace,
    more: Mapping[str, str],
) -> dict[str, Any]:
    digest = hashlib.sha256()
    for question in questions:
        digest.update(repr((question.id, question.text, question.references)).encode())
    decisive = ("settings_per_reranker", "first_rung", "reduction", "keep", "seed")
    return {
        **{name: getattr(settings, name) for name in decisive},
        "space": space.to_json(),
        "questions": f"{len(questions)} ({digest.hexdigest()[:16]})",
        **more,
    }
