"""The paper's ablations: one setting at a time, as Ray Tune grids, with a plot each.

    python -m tune_sweeps.corag_ablations data.questions=bioasq_golden.jsonl --out runs/ablations
    python -m tune_sweeps.corag_ablations --sweeps c lambda -c basic/corag data.max_questions=40 ...

A trial is an evaluation of tree search at one value. All trials share scores, answers and (but for
the chunk size) the index. Every row is on the disk as soon as it is known: the same command goes on
where a killed one stopped, and does nothing again.

    <out>/config.yaml          what all points have in common
    <out>/<sweep>/<value>/     one point: results.jsonl, report.md, ...
    <out>/<sweep>.png          ROUGE-L, reward and seconds over the values
    <out>/ablations.json, .md  all points
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from configs.corag import CoragConfig
from configs.load import load_corag, to_yaml
from pipelines.corag.report import Summary
from pipelines.files import write_whole
from pipelines.progress import Reporter, RichReporter
from tune_sweeps.tune_settings import quiet_tune

METHOD = "corag"
CONFIG = "config.yaml"


@dataclass(frozen=True, slots=True)
class Sweep:
    """One setting and the values it takes; `override` has the setting's place for a value."""

    name: str
    override: str
    values: tuple[str, ...]

    def overrides(self, value: str) -> list[str]:
        """The configuration's overrides at a value."""
        return [self.override.format(value)]


SWEEPS: dict[str, Sweep] = {
    sweep.name: sweep
    for sweep in (
        Sweep("budget", "budget.evaluate=[{}]", ("1024", "2048", "8192")),
        Sweep("c", "tree.c={}", ("0", "0.1", "0.3", "1", "2", "3")),
        Sweep("lambda", "tree.cost_weight={}", ("0", "0.1", "0.2", "0.3")),
        Sweep("reranker", "reranker.name={}", ()),  # those of `labels.rerankers`
        Sweep("chunk-size", "data.chunk_tokens={}", ("256", "512", "1024")),
    )
}


class AblationError(RuntimeError):
    """Points that could not be evaluated. All rows that were known are kept."""


def run_ablations(
    config: CoragConfig,
    sweeps: Sequence[Sweep],
    out: Path,
    reporter: Reporter,
    *,
    cpus: float | None = None,
) -> dict[str, dict[str, Summary]]:
    """Evaluates every value of every sweep, or what is missing of it, and draws. Gives sweep ->
    value -> summary. `cpus` are those of a trial (default: all that Ray has). Raises
    `AblationError`."""
    from cluster.session import session
    from pipelines.corag.indexing import index_of

    out = out.expanduser().absolute()
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / CONFIG, to_yaml(with_whole_paths(config)))
    found: dict[str, dict[str, Summary]] = {}
    with session(config.cluster.address, namespace="corag-ablations") as ray:
        for sweep in sweeps:
            reporter.say(f"{sweep.name}: {', '.join(sweep.values)}")
            for value in sweep.values:  # before the trials, which would each make it
                index_of(point_config(out, sweep, value), out, reporter)
            with quiet_tune():
                _grid(sweep, out, ray.cpus if cpus is None else cpus)
            found[sweep.name] = {value: _point(out, sweep, value) for value in sweep.values}
            _draw(sweep, found[sweep.name], out)
    _write(found, out)
    return found


def with_whole_paths(config: CoragConfig) -> CoragConfig:
    """`config` with what exists on the disk named from the root: trials run in folders of their
    own."""

    def whole(path: str) -> str:
        given = Path(path).expanduser()
        return str(given.absolute()) if path and given.exists() else path

    return replace(
        config,
        data=replace(
            config.data, questions=whole(config.data.questions), index=whole(config.data.index)
        ),
        model=replace(config.model, path=whole(config.model.path)),
        embedder=replace(config.embedder, model=whole(config.embedder.model)),
        reranker=replace(config.reranker, path=whole(config.reranker.path)),
        agent=replace(config.agent, path=whole(config.agent.path)),
    )


def chosen_sweeps(config: CoragConfig, names: Sequence[str]) -> list[Sweep]:
    """The sweeps of these names (none: all), that of rerankers with the configured ones."""
    unknown = [name for name in names if name not in SWEEPS]
    if unknown:
        raise AblationError(f"no sweep {unknown[0]!r}; there is: {', '.join(SWEEPS)}")
    own = Sweep("reranker", SWEEPS["reranker"].override, config.labels.rerankers)
    wanted = [SWEEPS[name] for name in names or SWEEPS]
    return [own if sweep.name == "reranker" else sweep for sweep in wanted]


def _grid(sweep: Sweep, out: Path, cpus: float) -> None:
    from ray import tune

    trainable = tune.with_resources(
        tune.with_parameters(evaluate_point, sweep=sweep, out=str(out)), {"cpu": cpus}
    )
    results = tune.Tuner(
        trainable,
        param_space={"value": tune.grid_search(list(sweep.values))},
        tune_config=tune.TuneConfig(metric="rouge_l", mode="max", reuse_actors=True),
        run_config=tune.RunConfig(
            name=f"ablation-{sweep.name}", storage_path=str(out / "tune"), verbose=0
        ),
    ).fit()
    if results.num_errors:
        raise AblationError(
            f"{sweep.name}: {results.num_errors} of {len(results)} values failed, the first "
            f"because of {results.errors[0]}; what was known is kept: run the same again"
        )


def evaluate_point(given: Mapping[str, str], *, sweep: Sweep, out: str) -> None:
    """A trial: the evaluation at one value, and its means as the report."""
    from ray import tune

    from pipelines.corag.evaluate import evaluate
    from pipelines.progress import SilentReporter

    config = point_config(Path(out), sweep, given["value"])
    (summary,) = evaluate(config, SilentReporter(), shared=Path(out)).summaries
    tune.report({name: mean.value for name, mean in summary.measures.items()})


def point_config(out: Path, sweep: Sweep, value: str) -> CoragConfig:
    """The configuration of one point."""
    return load_corag(
        out / CONFIG,
        [
            *_fixed_budget(sweep, load_corag(out / CONFIG)),
            *sweep.overrides(value),
            f"run.methods=[{METHOD}]",
            f"run_dir={_home(out, sweep, value)}",
            "tracking.wandb=disabled",  # many short runs would only be noise there
        ],
    )


def _fixed_budget(sweep: Sweep, config: CoragConfig) -> list[str]:
    return [] if sweep.name == "budget" else [f"budget.evaluate=[{config.budget.tokens}]"]


def _home(out: Path, sweep: Sweep, value: str) -> Path:
    return out / sweep.name / value


def _point(out: Path, sweep: Sweep, value: str) -> Summary:
    from pipelines.corag.report import read_report

    (summary,) = read_report(_home(out, sweep, value) / "report.json")
    return summary


def _draw(sweep: Sweep, points: Mapping[str, Summary], out: Path) -> None:
    from pipelines.corag.plots import draw_sweep

    draw_sweep(
        sweep.name,
        {value: summary.measures for value, summary in points.items()},
        out / f"{sweep.name}.png",
        seconds={v: s.total_s for v, s in points.items() if s.total_s is not None},
    )


def _write(found: Mapping[str, Mapping[str, Summary]], out: Path) -> None:
    """Adds these sweeps to those that the files have already."""
    path = out / "ablations.json"
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, points in found.items():
        known[name] = {value: asdict(summary) for value, summary in points.items()}
    write_whole(path, json.dumps(known, indent=1) + "\n")
    lines = [
        "| sweep | value | questions | ROUGE-1 | ROUGE-2 | ROUGE-L | 95% | reward | sequences |",
        "|---|---|--:|--:|--:|--:|---|--:|--:|",
    ]
    for name, points in known.items():
        for value, point in points.items():
            means = point["measures"]
            own = means["rouge_l"]
            lines.append(
                f"| {name} | {value} | {point['questions']} | {means['rouge_1']['value']:.3f} | "
                f"{means['rouge_2']['value']:.3f} | {own['value']:.3f} | {own['low']:.3f} to "
                f"{own['high']:.3f} | {means['reward']['value']:.3f} | {point['sequences']:,.0f} |"
            )
    write_whole(out / "ablations.md", "\n".join(lines) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    from pipelines.corag.command import known
    from pipelines.plain_errors import plain_errors, plain_exit

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("overrides", nargs="*", help="such as data.max_questions=40")
    parser.add_argument("-c", "--config", default="basic/corag")
    parser.add_argument("--sweeps", nargs="+", default=[], choices=[*SWEEPS])
    parser.add_argument("--out", type=Path, default=Path("runs/ablations"))
    parser.add_argument("--cpus", type=float, help="of a trial; default: all, one trial at a time")
    args = parser.parse_intermixed_args(arguments)
    with plain_exit(), plain_errors(lambda: (*known(), AblationError)):
        config = load_corag(args.config, args.overrides)
        sweeps = chosen_sweeps(config, args.sweeps)
        run_ablations(config, sweeps, args.out, RichReporter(), cpus=args.cpus)
    sys.stdout.write((args.out / "ablations.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
