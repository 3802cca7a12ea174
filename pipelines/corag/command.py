"""The `seekray corag` commands: index, answer, evaluate; those that teach are beside."""

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand

from configs.corag import METHODS
from pipelines.plain_errors import errors, plain_errors

if TYPE_CHECKING:
    from configs.corag import CoragConfig
    from pipelines.corag.ask import Asked

corag_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Choose and order chunks under a token budget by tree search, and answer from them.",
    epilog="Start here: [bold]seekray corag index --from QUESTIONS.jsonl --out DIR[/bold], then "
    "[bold]seekray corag answer 'QUESTION' --index DIR[/bold]",
)
console = Console()

AS_TEXT = "text"
"""What `--explain` means without a file."""

Config = Annotated[
    str,
    typer.Option("--config", "-c", help="A YAML file, or a built-in name such as basic/corag."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Overrides, e.g. tree.iterations=20 data.candidates=30", show_default=False
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=0, help="Expansion workers on Ray; 0 scores in this process, without Ray."),
]
Address = Annotated[
    str | None,
    typer.Option(help="A Ray cluster to join (auto, or its address); implies --workers 1."),
]


def known() -> tuple[type[BaseException], ...]:
    """What a person can mend."""
    from actors.expansion.types import RerankerError
    from actors.search.dense.embed import EmbedderError
    from actors.search.dense.failures import DenseError
    from cluster.failures import FleetError, PreflightError
    from configs.load import ConfigError
    from pipelines.corag.agent import AgentError
    from pipelines.corag.answer import AnswerError
    from pipelines.corag.answer_cache import AnswerCacheError
    from pipelines.corag.ask import ExplainError
    from pipelines.corag.jobs import SearchError
    from pipelines.corag.labels import LabelError
    from pipelines.corag.methods import MethodError
    from pipelines.corag.prompt import PromptError
    from pipelines.corag.raptor_store import RaptorStoreError
    from pipelines.corag.results import ResultsError
    from pipelines.corag.score_cache import ScoreCacheError
    from pipelines.data.cache import FetchError
    from pipelines.data.chunk_index import ChunkIndexError
    from pipelines.data.failures import BuildError, CorpusError
    from pipelines.data.tokens import TokenizerError

    return (
        AgentError, AnswerCacheError, AnswerError, BuildError, ChunkIndexError, ConfigError,
        CorpusError, DenseError, EmbedderError, ExplainError, FetchError, FleetError, LabelError,
        MethodError, OSError, PreflightError, PromptError, RaptorStoreError, RerankerError,
        ResultsError, ScoreCacheError, SearchError, TokenizerError,
    )  # fmt: skip


class _ExplainCommand(TyperCommand):
    """`--explain` may stand alone or before the name of an image."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, explain_with_value(args))


def explain_with_value(args: list[str]) -> list[str]:
    """Gives a lone `--explain` its value: only the name of an image after it is one."""
    out: list[str] = []
    for place, word in enumerate(args):
        if word == "--":
            return [*out, *args[place:]]
        out.append(word)
        if word == "--explain":
            following = args[place + 1] if place + 1 < len(args) else ""
            if not following.lower().endswith((".png", ".svg")):
                out.append(AS_TEXT)
    return out


@corag_app.command()
def index(
    source: Annotated[
        Path,
        typer.Option(
            "--from",
            "-f",
            help="A question set (BioASQ, PubMedQA, MS MARCO as JSON lines), documents as JSON "
            "lines (id, text or parts, title), or a folder with documents.jsonl.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The index's folder; an index there is replaced.")
    ],
    overrides: Overrides = None,
    config: Config = "basic/corag",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Embedding workers; above 1 on Ray.")
    ] = None,
) -> None:
    """Cut documents into chunks, count their tokens, embed them, and index the vectors.

    The budget's tokens are those of the model that will answer (model.path): index again for
    another model. A question set's documents are all of its questions' evidence together.

    Examples:

      seekray corag index --from bioasq_golden.jsonl --out indexes/bioasq

      seekray corag index --from docs/ --out indexes/mine data.chunk_tokens=512 data.overlap=64

      seekray corag index --from docs/ --out indexes/m3 embedder.model=BAAI/bge-m3 --workers 4
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        more = [] if workers is None else [f"embedder.workers={workers}"]
        resolved = load(config, [*(overrides or []), *more])
        from pipelines.corag.indexing import build_index

        count = build_index(resolved, source, out, RichReporter(console))
    say(f"{count:,} chunks of at most {resolved.data.chunk_tokens} tokens are in {out}")


@corag_app.command(cls=_ExplainCommand)
def answer(
    question: Annotated[str, typer.Argument(help="The question.")],
    overrides: Overrides = None,
    index: Annotated[
        Path | None, typer.Option("--index", help="A folder of `seekray corag index`.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Tokens of chunks that the answer is made from.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(METHODS)}. Default: corag, or corag-agent with --agent."),
    ] = None,
    reranker: Annotated[
        str | None,
        typer.Option(
            help="minilm, bm25, likelihood, cross-encoder, or one of the paper's: jina-v1-turbo, "
            "jina-v2, bge-v2-m3, bge-large, bge-base, gte."
        ),
    ] = None,
    agent: Annotated[
        Path | None, typer.Option(help="A folder of `seekray corag train-agent`.")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="[FILE.png|FILE.svg]",
            help="Show the search tree: as text, or drawn to the file.",
        ),
    ] = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object: answer, chunks, cost, budget, reward, iterations, "
            "sequences_scored, seconds.",
        ),
    ] = False,
    config: Config = "basic/corag",
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Answer a question from the best ordered chunks that fit the budget.

    Examples:

      seekray corag answer 'Which diseases is concizumab used for?' --index indexes/bioasq

      seekray corag answer 'Is RET a target?' --index indexes/bioasq --budget 512 --explain

      seekray corag answer 'Is RET a target?' --index indexes/bioasq --explain tree.svg

      seekray corag answer 'Is RET a target?' --index DIR --method naive --reranker bm25 --json

      seekray corag answer 'Is RET a target?' --index DIR --agent runs/agent tree.wave=4
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        resolved = load(
            config,
            [
                *(overrides or []),
                *_given("budget.tokens", budget),
                *_given("budget.evaluate", None if budget is None else f"[{budget}]"),
                *_given("reranker.name", reranker),
                *_given("agent.path", agent),
                *_given("data.index", index),
                *on_ray(workers, address),
            ],
        )
        if not resolved.data.index:
            raise typer.BadParameter(
                "name an index, or make one: seekray corag index --help", param_hint="--index"
            )
        from pipelines.corag.ask import ask, check_explain

        chosen = method or ("corag-agent" if resolved.agent.path else "corag")
        if explain is not None:
            check_explain(chosen, None if explain == AS_TEXT else Path(explain))
        asked = ask(resolved, question, chosen, RichReporter(errors))
        if json:
            sys.stdout.write(json_module.dumps(asked.to_json(), ensure_ascii=False) + "\n")
        else:
            _show(asked)
        if explain == AS_TEXT:
            (errors if json else console).print(
                asked.tree_text(), markup=False, highlight=False, soft_wrap=True
            )
        elif explain is not None:
            (errors if json else console).print(
                f"tree: {asked.tree_image(Path(explain))}", markup=False, highlight=False
            )


@corag_app.command()
def evaluate(
    overrides: Overrides = None,
    config: Config = "basic/corag",
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Compare all methods at all budgets on a set's test questions.

    Stop it any time: the same command goes on where it stopped. Rows are in results.jsonl of the
    run folder, the table in report.md and report.json, the plots in plots/.

    Examples:

      seekray corag evaluate data.questions=bioasq_golden.jsonl run_dir=runs/bioasq

      seekray corag evaluate data.questions=pubmedqa_chunks.jsonl data.max_questions=50

      seekray corag evaluate data.questions=QA.jsonl run.methods=[corag,naive] budget.evaluate=[512]

      seekray corag evaluate -c cluster/corag data.questions=QA.jsonl agent.path=runs/agent
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        resolved = load(config, [*(overrides or []), *on_ray(workers, address)])
        from pipelines.corag.evaluate import evaluate as run
        from pipelines.corag.report import as_rich

        done = run(resolved, RichReporter(console))
    console.print(as_rich(done.summaries))
    for name in ("report.md", "report.json", "results.jsonl", "plots"):
        say(f"{name}: {done.folder / name}")


def load(config: str, overrides: list[str]) -> "CoragConfig":
    """The resolved configuration. Raises `ConfigError` naming every value that cannot work."""
    from configs.load import load_corag

    return load_corag(config, overrides)


def _given(name: str, value: object) -> list[str]:
    return [] if value is None else [f"{name}={value}"]


def on_ray(workers: int | None, address: str | None) -> list[str]:
    """Workers that are asked for; to join a cluster means to work on it."""
    if workers is None and address is not None:
        workers = 1
    return [*_given("scoring.workers", workers), *_given("cluster.address", address)]


def _show(asked: "Asked") -> None:
    from rich.table import Table

    say(asked.answer.marked or "(the model wrote nothing)")
    selection = asked.chosen.selection
    table = Table("", "chunk", "tokens", "cited", "title or text", padding=(0, 1))
    for number, chunk in enumerate(asked.chosen.chunks, 1):
        cited = "yes" if chunk.id in asked.answer.citations else ""
        said = " ".join((chunk.title or chunk.text).split())[:60]
        table.add_row(f"[{number}]".replace("[", "\\["), chunk.id, str(chunk.tokens), cited, said)
    console.print()
    console.print(table)
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in asked.seconds.items())
    say(
        f"cost {selection.cost} of {asked.budget} tokens; utility {selection.reward:.3f} by "
        f"{asked.chosen.plan.reranker}; {selection.iterations} iterations, "
        f"{asked.chosen.sequences} sequences scored; seconds: {seconds}"
    )


def say(text: str) -> None:
    """Prints a line as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
