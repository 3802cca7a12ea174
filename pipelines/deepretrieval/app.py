"""The actors of a rewriter run, and how weights get from the learner to the rollout fleet."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
import torch
from ray.util.placement_group import remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from actors.learner.worker import LearnerWorker
from actors.rollout.types import Sampling
from actors.rollout.worker import RolloutWorker
from actors.search.index import Manifest
from actors.search.worker import SearchWorker
from cluster.fleet import Fleet
from cluster.preflight import (
    Needs,
    colocated_cpus,
    node_resources,
    node_versions,
    own_versions,
    place,
    require,
    resource_problems,
    version_problems,
)
from configs.schema import RewriterConfig
from pipelines.deepretrieval.collect import Collector
from pipelines.deepretrieval.language import LANGUAGES
from pipelines.deepretrieval.reward import Reward
from pipelines.deepretrieval.rollout import Rollout
from pipelines.search.fleet import FleetOptions, SearchFleet

MEAN_GAP = {"float32": 1e-3, "bfloat16": 0.1}
"""Largest mean difference of log-probabilities between learner and engine, by engine dtype."""
SYNCS_ALWAYS_CHECKED = 3


class SyncError(RuntimeError):
    """The rollout engine does not generate with the learner's weights."""


@dataclass
class _Weights:
    """What a restarted rollout worker is given before it works."""

    ref: Any = None
    version: int = 0


@dataclass
class App:
    """The fleets of a run. `learner` is one actor; its loss ends the run (resume goes on)."""

    config: RewriterConfig
    rollout: Fleet
    search: Fleet | SearchFleet
    learner: Any
    collector: Collector
    weights: _Weights = field(default_factory=_Weights)

    def learn(self, method: str, *args: Any) -> Any:
        """Calls the learner and waits, `learner.timeout_s` at most."""
        call = getattr(self.learner, method).remote(*args)
        return ray.get(call, timeout=self.config.learner.timeout_s)

    def sync(self, witness: Rollout | None = None) -> dict[str, float]:
        """Gives the learner's weights to every rollout worker: all of them, or an error.

        `witness` is a rollout whose log-probabilities both sides are then asked for. Raises
        `SyncError` when they differ by more than rounding.
        """
        dtype = getattr(torch, self.config.rollout.dtype)
        ref = self.learner.weights.remote(dtype)
        version = self.learn("ping")
        # Set first: a worker that is replaced while the weights go out gets the new ones, too.
        self.weights.ref, self.weights.version = ref, version
        timeout = self.config.rollout.timeout_s
        versions = self.rollout.broadcast("update_weights", ref, version, timeout_s=timeout)
        if set(versions) != {version}:
            raise SyncError(f"weights {version} were sent, the workers have {versions}")
        return {} if witness is None else self._check(witness)

    def _check(self, witness: Rollout) -> dict[str, float]:
        ids = witness.prompt_ids, witness.completion.token_ids
        ours = torch.tensor(self.learn("token_logprobs", *ids))
        answers = self.rollout.broadcast("token_logprobs", *ids)
        gaps = [float((ours - torch.tensor(theirs)).abs().mean()) for theirs in answers]
        allowed = MEAN_GAP[self.config.rollout.dtype]
        for gap in gaps:
            if not gap <= allowed:  # not a number fails, too
                raise SyncError(
                    f"with weights {self.weights.version} a rollout engine's log-probabilities "
                    f"differ from the learner's by {gap:.3f} on average; rounding is {allowed} "
                    "at most"
                )
        return {"sync/logprob_gap": max(gaps)}


@contextmanager
def app(config: RewriterConfig, model: str, index: Path, *, learning: bool = True) -> Iterator[App]:
    """Checks what the cluster has, starts all actors, and leaves none behind.

    Without `learning` there is no learner. Raises `PreflightError`, wanted against had, before
    anything is started.
    """
    roles = check_resources(config, learning=learning)
    with ExitStack() as stack:
        group = place([roles[name] for name in roles], timeout_s=config.cluster.placement_timeout_s)
        stack.callback(remove_placement_group, group)
        places = {
            name: PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=i)
            for i, name in enumerate(roles)
        }
        search = _search_fleet(config, index, roles, places)
        stack.callback(search.shutdown)
        learner = None
        if learning:
            learner = _learner(config, model, roles, places)
            stack.callback(ray.kill, learner)
        weights = _Weights()
        rollout = stack.enter_context(_rollout_fleet(config, model, roles, places, weights))
        if learner is not None:
            ray.get(learner.ping.remote(), timeout=config.cluster.actor_start_timeout_s)
        collector = Collector(
            rollout_fleet=rollout,
            search_fleet=search,
            sampling=Sampling(
                max_new_tokens=config.rollout.max_new_tokens,
                temperature=config.rollout.temperature,
            ),
            reward=Reward(
                config.reward.shape, config.reward.format_right, config.reward.format_wrong
            ),
            k=config.search.k,
            order=config.search.resolved_order,
            open_think=config.prompt.open_think,
            syntax=LANGUAGES[config.search.engine].syntax,
        )
        yield App(config, rollout, search, learner, collector, weights)


def check_resources(
    config: RewriterConfig, *, learning: bool = True
) -> dict[str, dict[str, float]]:
    """What each actor reserves, by its name; roles that do not fit side by side take turns.

    Raises `PreflightError` for versions that differ and for resources that are not there.
    """
    nodes = node_resources()
    had = sum(node.get("CPU", 0.0) for node in nodes)
    wanted = {f"rollout-{i}": config.rollout.cpus for i in range(config.rollout.workers)}
    wanted |= {f"search-{i}": 1.0 for i in range(config.search.workers)}
    gpus = {f"rollout-{i}": config.rollout.gpus for i in range(config.rollout.workers)}
    if learning:
        wanted["learner"] = config.learner.cpus
        gpus["learner"] = config.learner.gpus
    roles = {
        name: {"CPU": cpus} | ({"GPU": gpus[name]} if gpus.get(name) else {})
        for name, cpus in colocated_cpus(had, wanted).items()
    }
    needs = Needs(
        cpus=sum(role["CPU"] for role in roles.values()), gpus=sum(gpus.values()), bundles=roles
    )
    require(resource_problems(needs, nodes), version_problems(own_versions(), node_versions()))
    return roles


def _placed(
    name: str, roles: dict[str, dict[str, float]], places: dict[str, Any], threads: float
) -> dict[str, Any]:
    """Options of the actor `name`: its reservation, its place and its threads."""
    return {
        "num_cpus": roles[name]["CPU"],
        "num_gpus": roles[name].get("GPU", 0),
        "scheduling_strategy": places[name],
        "runtime_env": _environment(threads),
    }


def _environment(threads: float) -> dict[str, Any]:
    """Ray would set OMP_NUM_THREADS to the reservation; roles that take turns use all threads."""
    threads = max(1, int(threads))
    return {"env_vars": {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}}


def _search_fleet(
    config: RewriterConfig,
    index: Path,
    roles: dict[str, dict[str, float]],
    places: dict[str, Any],
) -> Fleet | SearchFleet:
    if config.search.engine == "pubmed" and len(Manifest.load(index).shards) > 1:
        # Shards lie where there is room; together a replica of each takes one search worker's CPUs.
        return SearchFleet(
            index,
            FleetOptions(
                replicas=config.search.workers,
                cpus=0,
                max_restarts=config.cluster.max_restarts,
                start_timeout_s=config.cluster.actor_start_timeout_s,
                call_timeout_s=config.search.timeout_s,
            ),
        )
    actor = ray.remote(SearchWorker)
    return Fleet(
        "search",
        lambda i: actor.options(**_placed(f"search-{i}", roles, places, 1)).remote(
            str(index), kind=config.search.engine
        ),
        config.search.workers,
        max_restarts=config.cluster.max_restarts,
        start_timeout_s=config.cluster.actor_start_timeout_s,
        call_timeout_s=config.search.timeout_s,
    )


def _learner(
    config: RewriterConfig, model: str, roles: dict[str, dict[str, float]], places: dict[str, Any]
) -> Any:
    actor = ray.remote(LearnerWorker).options(
        **_placed("learner", roles, places, config.learner.cpus)
    )
    return actor.remote(
        model, config.model, config.learner, config.rollout.temperature, config.train.seed
    )


def _rollout_fleet(
    config: RewriterConfig,
    model: str,
    roles: dict[str, dict[str, float]],
    places: dict[str, Any],
    weights: _Weights,
) -> Fleet:
    actor = ray.remote(RolloutWorker)
    options = engine_options(config)

    def bring_up_to_date(worker: Any) -> None:
        if weights.ref is not None:
            call = worker.update_weights.remote(weights.ref, weights.version)
            ray.get(call, timeout=config.rollout.timeout_s)

    return Fleet(
        "rollout",
        lambda i: actor.options(
            **_placed(f"rollout-{i}", roles, places, config.rollout.cpus)
        ).remote(config.rollout.engine, model, options),
        config.rollout.workers,
        max_restarts=config.cluster.max_restarts,
        start_timeout_s=config.cluster.actor_start_timeout_s,
        call_timeout_s=config.rollout.timeout_s,
        on_start=bring_up_to_date,
    )


def engine_options(config: RewriterConfig) -> dict[str, Any]:
    """Keyword arguments of the configured rollout engine."""
    r = config.rollout
    options: dict[str, Any] = {
        "dtype": r.dtype,
        # One more: a whole sample must fit as a prompt, when its log-probabilities are asked for.
        "max_model_len": r.max_prompt_tokens + r.max_new_tokens + 1,
        "threads": max(1, int(r.cpus)),
    }
    if r.engine == "transformers":
        options["device"] = "cuda" if r.gpus else "cpu"
    else:
        options |= {
            "kv_cache_gib": r.kv_cache_gib,
            "gpu_memory_utilization": r.gpu_memory_utilization,
            "eager": r.eager,
            "seed": config.train.seed,
        }
    return options
