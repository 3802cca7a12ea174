"""Trains a policy out of a configuration of step-wise retrieval."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from configs.load import ConfigError
from configs.realm import RealmConfig
from pipelines.progress import Reporter, SilentReporter
from pipelines.realm.fingerprints import fingerprint
from pipelines.realm.policy.features import CONS, ENT, PARTS, VERB
from pipelines.realm.policy.reward import Costs, measured_seconds
from pipelines.realm.policy.settings import PolicySettings
from pipelines.realm.policy.training import PolicyTraining, train_policy
from pipelines.realm.setup import SIMULATED, WorldMaker, hop_set_of, index_of, questions_of


def settings_of(config: RealmConfig) -> PolicySettings:
    """The settings of the training. Raises `ConfigError` with all that cannot work."""
    policy = config.policy
    settings = PolicySettings(
        updates=policy.updates,
        batch=policy.batch,
        lr=policy.lr,
        hidden=tuple(policy.hidden),
        entropy_weight=policy.entropy,
        baseline=policy.baseline,
        baseline_decay=policy.baseline_decay,
        normalise=policy.normalise,
        samples=policy.samples,
        l1_start=policy.call_cost[0],
        l1_end=policy.call_cost[1],
        l1_share=policy.curriculum,
        l2=policy.second_cost,
        formulations=tuple(policy.formulations),
        integrations=tuple(policy.integrations),
        without=tuple(policy.without),
        fixed_threshold=policy.fixed_threshold,
        max_calls=config.limits.max_calls,
        seed=config.run.seed,
        workers=policy.workers,
        address=config.cluster.address,
        concurrency=config.limits.concurrency,
        evaluate_every=policy.evaluate_every,
        checkpoint_every=policy.checkpoint_every,
        max_restarts=config.cluster.max_restarts,
        wandb=config.tracking.wandb,
        project=config.tracking.project,
    )
    problems = [f"policy.{problem}" for problem in settings.problems()]
    if "rewriter" in settings.formulations and not config.evidence.rewriter:
        problems.append("policy.formulations: rewriter needs a model: name evidence.rewriter")
    if problems:
        raise ConfigError(problems)
    return settings


def train_from(
    config: RealmConfig,
    folder: Path | None = None,
    reporter: Reporter | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> PolicyTraining:
    """Trains on the set's train questions, picks by its dev questions; the policy and its run are
    in `folder`, RUN_DIR/policy by default.

    The simulated reasoner is charged seconds by `Costs`, a model those of the clock. Raises what
    `settings_of`, the setup and `train_policy` raise.
    """
    reporter = reporter or SilentReporter()
    settings = settings_of(config)
    run_dir = Path(config.run_dir).expanduser()
    hop_set = hop_set_of(config)
    simulated = config.reasoner.model == SIMULATED
    train, dev = (questions_of(config, hop_set, part) for part in ("train", "dev"))
    index = index_of(config, hop_set, run_dir, reporter)
    reporter.say(f"{hop_set.name}: {len(train)} questions to train on, {len(dev)} to pick by")
    return train_policy(
        settings,
        WorldMaker(without_parts(config), index),
        train,
        dev,
        folder or run_dir / "policy",
        reporter,
        clock=Costs() if simulated else measured_seconds,
        facts={
            "set": hop_set.name,
            "reasoner": config.reasoner.model,
            "engine": config.data.engine,
            "setup": fingerprint(config, hop_set, index),
        },
        resume=resume,
        overwrite=overwrite,
    )


def without_parts(config: RealmConfig, without: Sequence[str] | None = None) -> RealmConfig:
    """The configuration for a policy that looks at fewer parts of RSUS (those of `policy.without`,
    unless others are given): those are not worked out,
    and not paid for. Where it looks at none, RSUS is never asked for."""
    without = config.policy.without if without is None else without
    rsus = config.rsus
    if set(without) >= set(PARTS):
        return config
    rsus = replace(
        rsus,
        verb_weight=0.0 if VERB in without else rsus.verb_weight,
        ent_weight=0.0 if ENT in without else rsus.ent_weight,
        cons_weight=0.0 if CONS in without else rsus.cons_weight,
    )
    return replace(config, rsus=rsus)
