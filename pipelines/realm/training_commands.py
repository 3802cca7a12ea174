"""The `seekray realm` commands that train: policy, segmenter, proxy."""

import asyncio
import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from pipelines.plain_errors import plain_errors
from pipelines.realm.command import (
    AsJson,
    Config,
    Overrides,
    Reasoner,
    console,
    known,
    load,
    realm_app,
    reasoner_override,
    say,
)


@realm_app.command("train-policy")
def train_policy(
    questions: Annotated[
        Path | None, typer.Option("--questions", "-q", help="The multi-hop set, JSON lines.")
    ] = None,
    reasoner: Reasoner = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run's folder. Default: RUN_DIR/policy.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the last checkpoint of the folder.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is in the folder.")
    ] = False,
    as_json: AsJson = False,
    overrides: Overrides = None,
    config: Config = "basic/realm",
) -> None:
    """Train the intervention policy by REINFORCE: F1 against retrievals and seconds.

    Train questions teach, development questions pick the checkpoint. The policy is in FOLDER/model.

    Examples:

      seekray realm train-policy -q musique.jsonl --reasoner simulated policy.workers=2

      seekray realm train-policy -q musique.jsonl --out runs/p1 policy.without=\\[history]

      seekray realm train-policy -q musique.jsonl --out runs/p1 --resume
    """
    from pipelines.progress import RichReporter, SilentReporter

    with plain_errors(known):
        given = [f"data.questions={questions}"] if questions is not None else []
        resolved = load(config, [*(overrides or []), *given, *reasoner_override(reasoner)])
        from pipelines.realm.policy.command import train_from
        from pipelines.realm.policy.plots import draw_training

        reporter = SilentReporter() if as_json else RichReporter(console)
        done = train_from(resolved, out, reporter, resume=resume, overwrite=overwrite)
        figure = draw_training(done.folder / "metrics.jsonl", done.folder / "training.png")
    told = {"folder": str(done.folder), "update": done.update, "metrics": done.metrics}
    if as_json:
        typer.echo(json_module.dumps(told))
        return
    for name, value in sorted(done.metrics.items()):
        if name.startswith("evaluation/"):
            say(f"{name}: {value:.4g}")
    say(f"policy of update {done.update}: {done.folder / 'model'}; curves: {figure}")


@realm_app.command("train-segmenter")
def train_segmenter(
    data: Annotated[Path, typer.Argument(help="Traces with labelled segments, JSON lines.")],
    extra: Annotated[
        Path | None, typer.Option(help="More traces, of noisy labels, learned from first.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Default: where `trained` is looked for.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of weights and order.")] = 0,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Train the transformer that cuts reasoning into steps, and measure it beside the rules.

    A trace has id, trace and segments (text, a label, start and end where known).

    Examples:

      seekray realm train-segmenter labelled.jsonl --extra noisy.jsonl.gz

      seekray realm train-segmenter mine.jsonl --out runs/segmenter --epochs 20
    """
    from pipelines.progress import RichReporter, SilentReporter

    with plain_errors(known):
        from pipelines.realm.segment.command import train_segmenter_command

        options = {"seed": seed} | ({} if epochs is None else {"epochs": epochs})
        told = train_segmenter_command(
            str(data),
            extra="" if extra is None else str(extra),
            out="" if out is None else str(out),
            reporter=SilentReporter() if as_json else RichReporter(console),
            **options,
        )
    if as_json:
        typer.echo(json_module.dumps(told))
        return
    say(json_module.dumps(told["test"], indent=1))
    say(f"segmenter: {told['folder']}")


@realm_app.command("train-relevance")
def train_relevance(
    questions: Annotated[
        Path, typer.Argument(help="A multi-hop set whose questions have a decomposition.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model's folder.")],
    embeddings: Annotated[
        bool,
        typer.Option("--embeddings", help="Also read sentence embeddings: better, and slower."),
    ] = False,
    kept_share: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Share of the text that is to be kept.")
    ] = 0.25,
    overrides: Overrides = None,
    config: Config = "basic/realm",
) -> None:
    """Learn which sentences of passages answer a query, on the set's train questions.

    Used by evidence.relevance=trained: it keeps more of the answers in the same share of the text
    than embeddings alone.

    Examples:

      seekray realm train-relevance musique.jsonl --out runs/relevance

      seekray realm evaluate -q musique.jsonl evidence.relevance=trained \\
        evidence.relevance_model=runs/relevance
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        given = [f"data.questions={questions}", "evidence.relevance=lexical"]
        resolved = load(config, [*(overrides or []), *given])
        from pipelines.realm.relevance_command import train_relevance_from

        reporter = RichReporter(console)
        model = asyncio.run(train_relevance_from(resolved, out, embeddings, kept_share, reporter))
    say(
        f"{model.examples} examples; kept {model.kept_share:.1%} of their text and the answer of "
        f"{model.answers_kept:.1%}: {out}"
    )


@realm_app.command("train-proxy")
def train_proxy(
    out: Annotated[Path, typer.Option("--out", "-o", help="The proxy's folder.")],
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", help="Reason on the train questions of this set."),
    ] = None,
    traces: Annotated[
        Path | None, typer.Option(help="Or have the model judge the steps of these traces.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Or learn from the pairs.jsonl of an earlier run.")
    ] = None,
    encoder: Annotated[
        str, typer.Option(help="hashed (words, no model), minilm, a folder or hub id.")
    ] = "minilm",
    reasoner: Reasoner = None,
    overrides: Overrides = None,
    config: Config = "basic/realm",
) -> None:
    """Train the small network that guesses what confidence a model would state.

    It stands in where a model cannot be asked, or answers garbage.

    Examples:

      seekray realm train-proxy -q musique.jsonl --reasoner simulated --out runs/proxy

      seekray realm train-proxy --traces r1_schoenfeld_labelled.jsonl --out runs/proxy
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        given = [f"data.questions={questions}"] if questions is not None else []
        resolved = load(config, [*(overrides or []), *given, *reasoner_override(reasoner)])
        from configs.load import ConfigError
        from pipelines.realm.proxy_pairs import collect
        from pipelines.realm.uncertainty.command import train_and_keep
        from pipelines.realm.uncertainty.proxy_pairs import read_pairs

        if sum(source is not None for source in (questions, traces, pairs)) != 1:
            raise ConfigError(["give one of --questions, --traces and --pairs"])
        reporter = RichReporter(console)
        found = (
            read_pairs(pairs)
            if pairs is not None
            else asyncio.run(collect(resolved, traces, out, reporter))
        )
        done = train_and_keep(found, out, encoder=encoder, reporter=reporter)
    for name, value in sorted(done.metrics.items()):
        say(f"{name}: {value:.4g}")
    say(f"proxy: {out}")
