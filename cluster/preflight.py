"""Checks before anything starts: what the run wants against what is there.

Every check returns its problems, one line each; `require` raises them together.
"""

import platform
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ray
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cluster.failures import PreflightError

INFEASIBLE_GRACE_S = 5.0


@dataclass(frozen=True)
class Needs:
    """What a run reserves: cores, GPUs, and the bundles that must each fit on one node.
    `cuda` names the roles whose code runs on a GPU; their bundle must reserve one."""

    cpus: float = 0.0
    gpus: float = 0.0
    bundles: Mapping[str, Mapping[str, float]] | None = None
    cuda: Sequence[str] = ()


@dataclass(frozen=True)
class Versions:
    """Interpreter and Ray of one process."""

    node: str
    python: str
    ray: str


def require(*checks: Sequence[str]) -> None:
    """Raises `PreflightError` with the problems of all checks, if there are any."""
    problems = [problem for check in checks for problem in check]
    if problems:
        raise PreflightError(problems)


def resource_problems(needs: Needs, nodes: Sequence[Mapping[str, float]]) -> list[str]:
    """What the nodes (their Ray resources, e.g. {"CPU": 8, "GPU": 1}) cannot give."""
    out = []
    for name, wanted in (("CPU", needs.cpus), ("GPU", needs.gpus)):
        had = sum(node.get(name, 0.0) for node in nodes)
        if wanted > had:
            out.append(f"{name}: wanted {wanted:g}, the cluster has {had:g}")
    for role, bundle in (needs.bundles or {}).items():
        if not any(all(node.get(k, 0.0) >= v for k, v in bundle.items()) for node in nodes):
            had_each = [{k: node.get(k, 0.0) for k in bundle} for node in nodes]
            out.append(f"{role}: wanted {dict(bundle)} on one node, nodes have {had_each}")
        if role in needs.cuda and not bundle.get("GPU"):
            out.append(f"{role}: runs on CUDA, but its bundle {dict(bundle)} reserves no GPU")
    return out


def version_problems(driver: Versions, nodes: Sequence[Versions]) -> list[str]:
    """Nodes whose Ray, or Python up to the minor version, is not the driver's: pickles of one
    cannot be read by the other."""
    out = []
    for node in nodes:
        if node.ray != driver.ray:
            out.append(f"node {node.node}: ray {node.ray}, the driver has {driver.ray}")
        if node.python.split(".")[:2] != driver.python.split(".")[:2]:
            out.append(f"node {node.node}: python {node.python}, the driver has {driver.python}")
    return out


def folder_problems(folder: Path) -> list[str]:
    """Says if a file cannot be made in `folder` (or in the nearest parent that exists)."""
    try:
        with tempfile.TemporaryFile(dir=_existing(folder)) as file:
            file.write(b"0")
    except OSError as error:
        return [f"{folder} cannot be written: {error.strerror or error}"]
    return []


def disk_problems(folder: Path, wanted_bytes: int) -> list[str]:
    """Says if the disk of `folder` has less than `wanted_bytes` free."""
    free = shutil.disk_usage(_existing(folder)).free
    if free >= wanted_bytes:
        return []
    return [f"{folder}: wanted {wanted_bytes / 1e9:.1f} GB free, the disk has {free / 1e9:.1f} GB"]


def colocated_cpus(total: float, wanted: Mapping[str, float]) -> dict[str, float]:
    """Cores that each role reserves. All that it wants if they fit together; else its share of
    `total`: the roles take turns on the same cores, and set their own thread counts."""
    wish = sum(wanted.values())
    scale = min(1.0, total / wish) if wish else 1.0
    if scale == 1.0:
        return dict(wanted)
    return {role: int(cpus * scale * 100) / 100 for role, cpus in wanted.items()}


def node_resources() -> list[dict[str, float]]:
    """Ray resources of the nodes that are alive."""
    return [dict(node["Resources"]) for node in ray.nodes() if node["Alive"]]


def own_versions() -> Versions:
    """Versions of this process."""
    return Versions(platform.node(), platform.python_version(), ray.__version__)


def node_versions(timeout_s: float = 60.0) -> list[Versions]:
    """Versions that workers have on every node, by a task sent to each. Raises `PreflightError`
    for nodes whose worker does not answer."""
    probe = ray.remote(num_cpus=0)(own_versions)
    tasks = {
        node["NodeID"]: probe.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in ray.nodes()
        if node["Alive"]
    }
    ray.wait(list(tasks.values()), num_returns=len(tasks), timeout=timeout_s)
    versions, silent = [], []
    for node, task in tasks.items():
        try:
            versions.append(ray.get(task, timeout=0))
        except Exception as error:
            silent.append(f"node {node[:8]}: no worker answered: {type(error).__name__}")
    require(silent)
    return versions


def place(
    bundles: Sequence[Mapping[str, float]], strategy: str = "PACK", timeout_s: float = 60.0
) -> PlacementGroup:
    """A placement group that is ready. Raises `PreflightError`, wanted against had, after
    `timeout_s`, or within seconds if no node could ever hold a bundle."""
    group = placement_group([dict(bundle) for bundle in bundles], strategy=strategy)
    started = time.monotonic()
    try:
        while True:
            elapsed = time.monotonic() - started
            if group.wait(min(1.0, max(0.0, timeout_s - elapsed))):
                return group
            why = placement_group_table(group)["stats"]["scheduling_state"]
            hopeless = why == "INFEASIBLE" and elapsed > INFEASIBLE_GRACE_S
            if hopeless or elapsed >= timeout_s:
                raise PreflightError(
                    [
                        f"placement is {why} after {elapsed:.0f} s: wanted {strategy} of "
                        f"{[dict(bundle) for bundle in bundles]}, nodes have {_brief_nodes()}, "
                        f"free now {_brief(ray.available_resources())}"
                    ]
                )
    except BaseException:
        remove_placement_group(group)
        raise


def _brief_nodes() -> list[dict[str, float]]:
    return [_brief(node) for node in node_resources()]


def _brief(resources: Mapping[str, float]) -> dict[str, float]:
    """Without what Ray adds: node names, memory, and the shadow resources of placement groups."""
    return {k: v for k, v in resources.items() if not re.match(r"node:|.*memory|.*_group_", k)}


def _existing(folder: Path) -> Path:
    folder = folder.expanduser().absolute()
    while not folder.exists():
        folder = folder.parent
    return folder
