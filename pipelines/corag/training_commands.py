"""The `seekray corag` commands that teach: label, train-agent, compare-agent, train-reranker."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from pipelines.corag.command import (
    Address,
    Config,
    Overrides,
    Workers,
    console,
    corag_app,
    known,
    load,
    on_ray,
    say,
)
from pipelines.plain_errors import plain_errors


@corag_app.command()
def label(
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The sweep's folder. Default: RUN_DIR/labels."),
    ] = None,
    config: Config = "basic/corag",
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Try rerankers and search settings on training questions: what the agent learns from.

    A Ray Tune sweep; every configuration is scored by ROUGE-L of the answers. Stop it any time: the
    same command goes on where it stopped. Labels are in labels.jsonl of the folder.

    Examples:

      seekray corag label data.questions=bioasq_golden.jsonl --out runs/labels

      seekray corag label data.questions=QA.jsonl labels.max_questions=60 \\
        labels.rerankers=\\[minilm,bm25]
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        resolved = load(config, [*(overrides or []), *on_ray(workers, address)])
        from pipelines.corag.labels_command import make_labels

        result = make_labels(resolved, out, RichReporter(console))
    say(
        f"{result.rows:,} labels of {result.questions} questions under {result.configurations} "
        f"configurations ({result.dropped} dropped early): {result.labels}"
    )


@corag_app.command("train-agent")
def train_agent_command(
    labels: Annotated[
        Path, typer.Option("--labels", "-l", help="labels.jsonl of `seekray corag label`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The agent's folder.")],
    overrides: Overrides = None,
    config: Config = "basic/corag",
) -> None:
    """Train the agent that sets reranker and search for each question.

    Examples:

      seekray corag train-agent --labels runs/labels/labels.jsonl --out runs/agent

      seekray corag train-agent -l labels.jsonl -o runs/agent agent.epochs=120 agent.least_gap=0.05
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        resolved = load(config, overrides or [])
        from pipelines.corag.labels_command import train_from

        metrics = train_from(resolved, labels, out, RichReporter(console))
    for name, value in metrics.items():
        say(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")
    say(f"agent: {out}")


@corag_app.command("compare-agent")
def compare_agent(
    agent: Annotated[Path, typer.Option("--agent", "-a", help="A folder of `train-agent`.")],
    labels: Annotated[
        Path,
        typer.Option("--labels", "-l", help="The labels it was trained on: they say what is best."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where index, scores and result go.")],
    overrides: Overrides = None,
    config: Config = "basic/corag",
) -> None:
    """Measure the agent on test questions against the best fixed settings and the paper's.

    Every choice is searched and answered for real; the best fixed settings are those of the
    greatest mean ROUGE-L over the labelled questions. The result is also in comparison.json.

    Examples:

      seekray corag compare-agent --agent runs/agent --labels runs/labels/labels.jsonl \\
        --out runs/compare data.questions=bioasq_golden.jsonl
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        resolved = load(config, overrides or [])
        from pipelines.corag.labels_command import compare_live

        comparison = compare_live(resolved, agent, labels, out, RichReporter(console))
    for row in comparison.results:
        say(f"{row.method}: ROUGE-L {row.rouge_l:.3f}, reward {row.reward:.3f}, n={row.queries}")
    for difference in comparison.differences:
        say(
            f"agent - {difference.other}: ROUGE-L {difference.rouge_l:+.3f} "
            f"(95% {difference.low:+.3f} to {difference.high:+.3f}, p {difference.p:.2f})"
        )


@corag_app.command("train-reranker")
def train_reranker(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            "-d",
            help="A folder with msmarco_dev_sample.jsonl, bioasq_golden.jsonl and "
            "pubmedqa_chunks.jsonl.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The model's folder. Default: where it is looked for."),
    ] = None,
    base: Annotated[
        str, typer.Option(help="The embedder to start from: minilm, a folder or a hub id.")
    ] = "minilm",
    seed: Annotated[int, typer.Option(help="Of first weights and order.")] = 0,
    tokens: Annotated[int | None, typer.Option(min=1, help="Tokens to train on.")] = None,
) -> None:
    """Train the reranker `cross-encoder` from the weights of a small embedder.

    Only training parts of the sets are used. The same command does nothing where the model is there
    already; its settings and results are in model_card.json.

    Examples:

      seekray corag train-reranker --data passages/

      seekray corag train-reranker --data passages/ --out runs/reranker --tokens 500000 --seed 1
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        from pipelines.corag.train_reranker import CrossEncoderSettings, train_cross_encoder

        settings = CrossEncoderSettings(
            data=str(data), out="" if out is None else str(out), base=base, seed=seed
        )
        if tokens is not None:
            settings = replace(settings, tokens=tokens)
        folder = train_cross_encoder(settings, RichReporter(console))
    say(f"reranker: {folder}")
