"""The `seekray realm` commands: index, ask, evaluate; those that train are beside."""

import asyncio
import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pipelines.plain_errors import errors, plain_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from configs.realm import RealmConfig
    from pipelines.realm.report import Summary
    from pipelines.realm.types import Chain

realm_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Retrieve in the middle of reasoning, when it pays.",
    epilog="Start here: [bold]seekray realm index QUESTIONS.jsonl --out DIR[/bold], then "
    "[bold]seekray realm ask 'QUESTION' --index DIR[/bold]",
)
console = Console()
REASONER = "simulated (follows gold decompositions; no language model), smollm2, a folder or hub id"

Config = Annotated[
    str,
    typer.Option("--config", "-c", help="A YAML file, or a built-in name such as basic/realm."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="Overrides, e.g. data.k=10 limits.max_calls=4", show_default=False),
]
Reasoner = Annotated[str | None, typer.Option("--reasoner", "-r", help=REASONER)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, else text.")]


def known() -> tuple[type[BaseException], ...]:
    """What a person can mend."""
    from actors.rollout.sessions.types import EngineError
    from actors.search.dense.embed import EmbedderError
    from actors.search.dense.failures import DenseError
    from actors.search.ranking.failures import PassagesError
    from cluster.failures import CheckpointError, FleetError, PreflightError, RunDirError
    from configs.load import ConfigError
    from pipelines.data.cache import FetchError
    from pipelines.data.failures import BuildError, CorpusError
    from pipelines.data.tokens import TokenizerError
    from pipelines.deepretrieval.prompt import PromptError
    from pipelines.realm.deciders.registry import DeciderError
    from pipelines.realm.evidence.trained_relevance import RelevanceError
    from pipelines.realm.policy.checkpoint import PolicyError
    from pipelines.realm.segment.opening import SegmenterError
    from pipelines.realm.uncertainty.proxy import ProxyError
    from pipelines.row_file import ResultsError

    return (
        BuildError, CheckpointError, ConfigError, CorpusError, DeciderError, DenseError,
        EmbedderError, EngineError, FetchError, FleetError, OSError, PassagesError, PolicyError,
        PreflightError, PromptError, ProxyError, RelevanceError, ResultsError, RunDirError,
        SegmenterError, TokenizerError,
    )  # fmt: skip


@realm_app.command()
def index(
    questions: Annotated[
        Path,
        typer.Argument(help="A multi-hop set as JSON lines: MuSiQue, HotpotQA, 2Wiki, or others."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The index's folder.")],
    corpus: Annotated[
        Path | None, typer.Option(help="More passages, JSON lines: id, title, text.")
    ] = None,
    dense: Annotated[
        bool, typer.Option("--dense", help="Also embed them, for dense and hybrid search.")
    ] = False,
    overrides: Overrides = None,
    config: Config = "basic/realm",
) -> None:
    """Pool the passages of all questions as one corpus and index it.

    A line holds id, question, answer (and aliases), paragraphs (id, title, text) and supporting
    (ids of those with the evidence); decomposition and split where they are known.

    Examples:

      seekray realm index musique.jsonl --out indexes/musique

      seekray realm index mine.jsonl --corpus wiki.jsonl --dense --out indexes/mine
    """
    from pipelines.progress import RichReporter

    with plain_errors(known):
        resolved = load(config, overrides or [])
        from pipelines.data.multihop import load_hop_set
        from pipelines.realm.indexing import build_hop_index
        from pipelines.realm.setup import open_embedder

        reporter = RichReporter(console)
        hop_set = load_hop_set(questions, corpus=corpus)
        build_hop_index(
            hop_set,
            out,
            embedder=open_embedder(resolved, reporter) if dense else None,
            vectors_cache=out.with_name(f"{out.name}-vectors") if dense else None,
            reporter=reporter,
        )
    say(f"{len(hop_set.passages):,} passages of {len(hop_set.questions):,} questions are in {out}")


@realm_app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to reason about.")],
    index: Annotated[
        Path | None, typer.Option("--index", "-i", help="A folder of `seekray realm index`.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="policy, threshold, ircot, fixed:k=2, flare, none, ... Default: the policy where "
            "policy.path names one, else threshold.",
        ),
    ] = "",
    trace: Annotated[
        Path | None, typer.Option(help="Where the whole trace goes: FILE.json or FILE.html.")
    ] = None,
    reasoner: Reasoner = None,
    as_json: AsJson = False,
    overrides: Overrides = None,
    config: Config = "basic/realm",
) -> None:
    """Reason about one question, retrieving after the steps where the method says so.

    The HTML trace draws the timeline: steps, uncertainty, decisions, evidence.

    Examples:

      seekray realm ask "Who is the spouse of the director of Inception?" --index indexes/mine

      seekray realm ask "..." -i DIR --method ircot --trace trace.html

      seekray realm ask "..." -i DIR --json policy.path=runs/realm/policy/model
    """
    with plain_errors(known):
        given = [f"data.index={index}"] if index is not None else []
        resolved = load(config, [*(overrides or []), *given, *reasoner_override(reasoner)])
        from pipelines.realm.asking import ask_one

        check_trace(trace)
        chain = asyncio.run(ask_one(resolved, question, method))
        if trace is not None:
            write_trace(chain, trace)
    if as_json:
        from pipelines.realm.chain_json import chain_json

        typer.echo(json_module.dumps(chain_json(chain), ensure_ascii=False))
        return
    _show(chain)
    if trace is not None:
        say(f"trace: {trace}")


@realm_app.command()
def evaluate(
    questions: Annotated[
        Path | None, typer.Option("--questions", "-q", help="The multi-hop set, JSON lines.")
    ] = None,
    reasoner: Reasoner = None,
    baselines: Annotated[
        str | None,
        typer.Option(
            "--baselines",
            "-b",
            help="Methods, comma between: none, single, fixed:k=2, ircot, flare, dragin, "
            "threshold, search-tags, policy, random-matched, threshold-matched.",
        ),
    ] = None,
    as_json: AsJson = False,
    overrides: Overrides = None,
    config: Config = "basic/realm",
) -> None:
    """Compare ways of deciding when to retrieve on one reasoner and one index.

    The same command goes on where a stopped one left off. report.md, summary.json, f1_calls.png,
    rows.jsonl and the traces are in run_dir.

    Examples:

      seekray realm evaluate -q musique.jsonl --reasoner simulated -b none,single,ircot,threshold

      seekray realm evaluate -q musique.jsonl data.max_questions=20 run_dir=runs/musique
    """
    from pipelines.progress import RichReporter, SilentReporter

    with plain_errors(known):
        given = [f"data.questions={questions}"] if questions is not None else []
        if baselines is not None:
            names = ",".join(f"'{name.strip()}'" for name in baselines.split(",") if name.strip())
            given.append(f"run.methods=[{names}]")
        resolved = load(config, [*(overrides or []), *given, *reasoner_override(reasoner)])
        from pipelines.realm import evaluate as evaluation

        done = evaluation.evaluate(resolved, SilentReporter() if as_json else RichReporter(console))
    if as_json:
        wanted = ("em", "f1", "calls", "seconds", "tokens", "recall_at_5")
        told = {s.method: {name: s.means[name] for name in wanted} for s in done.summaries}
        typer.echo(json_module.dumps(told))
        return
    _compare(done.summaries)
    say(f"report, figure, rows and traces: {done.folder}")


@realm_app.command()
def pool(
    runs: Annotated[list[Path], typer.Argument(help="Folders of `seekray realm evaluate`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the report goes.")],
) -> None:
    """Pool evaluations of several seeds into one table, differences paired by seed and question.

    Examples:

      seekray realm pool runs/musique-42 runs/musique-123 runs/musique-456 --out runs/musique
    """
    with plain_errors(known):
        from pipelines.realm.pooling import pool_runs

        summaries = pool_runs(runs, out)
    _compare(summaries)
    say(f"report and figure: {out}")


def check_trace(trace: Path | None) -> None:
    """Raises `ConfigError` for a name that says neither JSON nor HTML, before any work is done."""
    from configs.load import ConfigError

    if trace is not None and trace.suffix.lower() not in (".json", ".html"):
        raise ConfigError([f"--trace {trace}: the name has to end in .json or .html"])


def write_trace(chain: "Chain", path: Path) -> None:
    """The whole trace, as HTML or JSON by the file's name."""
    from pipelines.files import write_whole
    from pipelines.realm.chain_json import trace_json
    from pipelines.realm.trace_html import trace_html

    path.parent.mkdir(parents=True, exist_ok=True)
    as_html = path.suffix.lower() == ".html"
    told = json_module.dumps(trace_json(chain), ensure_ascii=False, indent=1)
    write_whole(path, trace_html(chain) if as_html else told)


def load(config: str, overrides: list[str]) -> "RealmConfig":
    """The resolved configuration. Raises `ConfigError` naming every value that cannot work."""
    from configs.load import load_realm

    return load_realm(config, overrides)


def say(text: str) -> None:
    """Prints a line as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def reasoner_override(name: str | None) -> list[str]:
    """The override that `--reasoner` stands for."""
    return [] if name is None else [f"reasoner.model={name}"]


def _compare(summaries: "Sequence[Summary]") -> None:
    from rich.table import Table

    columns = {"em": 3, "f1": 3, "calls": 2, "seconds": 2, "tokens": 0, "recall_at_5": 3}
    table = Table("method", *(name.replace("_", " ") for name in columns), "kept", padding=(0, 1))
    for summary in summaries:
        values = (
            "" if (value := summary.means[name]) is None else f"{value:,.{places}f}"
            for name, places in columns.items()
        )
        kept = "" if summary.kept_share is None else f"{summary.kept_share:.0%}"
        table.add_row(summary.method, *values, kept)
    console.print(table)


def _show(chain: "Chain") -> None:
    from pipelines.realm.chain_json import action_name

    for record in chain.steps:
        found = "" if record.uncertainty is None else f"  RSUS {record.uncertainty.rsus:.2f}"
        say(f"{record.step.text.strip()}{found}")
        if record.evidence is not None:
            ids = ", ".join(record.evidence.kept_ids) or record.evidence.failure or "nothing found"
            say(f"  -> {action_name(record.decision)}: {record.evidence.query!r}: {ids}")
    for warning in chain.warnings:
        errors.print(f"warning: {warning}", markup=False, highlight=False)
    say(f"\n{chain.answer or '(no answer)'}")
    say(
        f"{chain.status.value}; {chain.calls} retrievals, {chain.usage.written_tokens} tokens, "
        f"{chain.seconds:.1f} s"
    )
