"""Where a training step's time goes, and what orchestration adds to the bare engine calls.

    python -m bench.step [--steps 5] [OVERRIDES ...]

Runs whole steps of the basic configuration on Ray (generation streamed into search, update, weight
sync). The workers measure, in the same steps, the seconds spent inside the engines themselves; all
else is orchestration: Ray, streaming, parsing, scoring, and waiting for searches. Rewards are
replaced by random ones, so that an untrained model's steps update on every sample.
"""

import argparse
import dataclasses
import random
import statistics
import time
from collections.abc import Sequence

import ray

from cluster.session import session
from configs.load import load_rewriter
from pipelines.deepretrieval.app import App, app
from pipelines.deepretrieval.environment import Environment, prepare
from pipelines.deepretrieval.rollout import asks
from pipelines.deepretrieval.train import tasks_of_step
from pipelines.progress import RichReporter


def busy(actors: App) -> tuple[float, float]:
    """Seconds in the rollout engine and in the learner so far."""
    generating = sum(actors.rollout.broadcast("busy_s"))
    return generating, float(ray.get(actors.learner.busy_s.remote()))


def one_step(
    actors: App, environment: Environment, step: int, rng: random.Random
) -> dict[str, float]:
    """Runs a step and returns its seconds by part."""
    train = actors.config.train
    before = busy(actors)
    started = time.perf_counter()
    tasks = tasks_of_step(environment.split.train, step, train.tasks_per_step, train.seed)
    prompts = [environment.prompter.ids(task.need, task.id) for task in tasks]
    asked = asks(tasks, prompts, train.samples_per_task, seed=train.seed, purpose=f"bench {step}")
    rollouts = actors.collector.collect(asked)
    collected = time.perf_counter()
    samples = [dataclasses.replace(r.sample(), reward=rng.random()) for r in rollouts]
    actors.learn("update", samples)
    updated = time.perf_counter()
    actors.sync()
    ended = time.perf_counter()
    after = busy(actors)
    engines = after[0] - before[0] + after[1] - before[1]
    wait = actors.collector.timings["time/search_wait"] + actors.collector.timings["time/score"]
    return {
        "generate": actors.collector.timings["time/generate"],
        "search and score after generation": wait,
        "train": updated - collected,
        "sync": ended - updated,
        "step": ended - started,
        "engine calls alone": engines,
        "overhead": (ended - started) / engines - 1,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints medians and spread over the steps."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--config", default="basic/smollm2")
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_args(arguments)
    config = load_rewriter(given.config, given.overrides)
    reporter = RichReporter()
    environment = prepare(config, reporter)
    rng = random.Random(0)
    rows = []
    with (
        session(config.cluster.address, namespace="bench-step"),
        app(config, environment.model, environment.index) as actors,
    ):
        for step in range(given.steps + 1):
            row = one_step(actors, environment, step + 1, rng)
            if step:  # the first step warms up
                rows.append(row)
                reporter.say(f"step {step}: {row['step']:.1f} s, overhead {row['overhead']:.1%}")
    size = f"{config.train.tasks_per_step} tasks x {config.train.samples_per_task} samples"
    reporter.say(f"\n{given.steps} steps of {size}, {config.rollout.engine}, seconds")
    for name in rows[0]:
        values = [row[name] for row in rows]
        middle, low, high = statistics.median(values), min(values), max(values)
        if name == "overhead":
            reporter.say(f"{name:36s} {middle:7.1%}  ({low:.1%} to {high:.1%})")
        else:
            share = middle / statistics.median(row["step"] for row in rows)
            reporter.say(f"{name:36s} {middle:7.2f}  ({low:.2f} to {high:.2f})  {share:6.1%}")


if __name__ == "__main__":
    main()
