"""The `seekray index` commands: build, look at and check indexes."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pipelines.plain_errors import errors, plain_errors

if TYPE_CHECKING:
    from actors.search.index import Manifest

index_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Build, look at and check indexes.",
    epilog="Start here: [bold]seekray index build pubmed --from FILES --out DIR[/bold]",
)
build_app = typer.Typer(no_args_is_help=True, help="Build an index from files.")
index_app.add_typer(build_app, name="build")

console = Console()

From = Annotated[
    list[Path],
    typer.Option("--from", "-f", help="A file or folder; may be repeated.", show_default=False),
]
More = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", help="More files after --from.", show_default=False),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="The index's folder; an index there is replaced.")
]
Shards = Annotated[
    int, typer.Option(min=1, help="Pieces of equal size, to be searched in parallel.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, help="Files read at once. 1: no Ray. Default: all CPUs of the machine or cluster."
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume/--start-over", help="Keep, or throw away, what an interrupted build finished."
    ),
]


def _known() -> tuple[type[BaseException], ...]:
    from actors.search.dense.embed import EmbedderError
    from actors.search.dense.failures import DenseError
    from actors.search.index import IndexMismatchError
    from actors.search.ranking.analysis import AnalysisError
    from actors.search.ranking.failures import PassagesError, PassagesMismatchError
    from cluster.failures import PreflightError
    from pipelines.data.cache import FetchError
    from pipelines.data.failures import BuildError, CorpusError

    return (
        AnalysisError, BuildError, CorpusError, DenseError, EmbedderError, FetchError,
        IndexMismatchError, OSError, PassagesError, PassagesMismatchError, PreflightError,
    )  # fmt: skip


@build_app.command("pubmed")
def build_pubmed(
    files: From,
    out: Out,
    more: More = None,
    shards: Shards = 1,
    workers: Workers = None,
    mesh: Annotated[
        Path | None,
        typer.Option(help="NLM's descriptor XML (desc2024.xml[.gz]): explodes MeSH headings."),
    ] = None,
    resume: Resume = True,
) -> None:
    """Index PubMed: XML of baseline, update files and efetch, or JSON lines; plain or gz.

    Files count in the order of their names: a later version of a record replaces an earlier one,
    deletions are applied. Stop it any time; the same command goes on where it stopped.

    Examples:

      seekray index build pubmed --from baseline/ updatefiles/ --out indexes/pubmed --shards 8

      seekray index build pubmed --from pubmed24n*.xml.gz --out indexes/pubmed --mesh desc2024.xml

      seekray index build pubmed --from corpus.jsonl.gz --out indexes/mine --workers 1
    """
    from pipelines.data.build_index import build_pubmed_index
    from pipelines.progress import RichReporter

    with plain_errors(_known):
        manifest = build_pubmed_index(
            [*files, *(more or ())],
            out,
            shards=shards,
            workers=workers,
            mesh=mesh,
            resume=resume,
            reporter=RichReporter(console),
        )
        _done(out, manifest)


@build_app.command("trials")
def build_trials(
    files: From,
    out: Out,
    more: More = None,
    shards: Shards = 1,
    workers: Workers = None,
    resume: Resume = True,
) -> None:
    """Index ClinicalTrials.gov: a folder or zip of one JSON a study, saved pages, JSON lines.

    Flat rows (nct_id, title, conditions, ...) are read as well.

    Examples:

      seekray index build trials --from ctg-studies.json.zip --out indexes/trials

      seekray index build trials --from pages/ --out indexes/trials --workers 1
    """
    from pipelines.data.build_index import build_trials_index
    from pipelines.progress import RichReporter

    with plain_errors(_known):
        manifest = build_trials_index(
            [*files, *(more or ())],
            out,
            shards=shards,
            workers=workers,
            resume=resume,
            reporter=RichReporter(console),
        )
        _done(out, manifest)


@build_app.command("passages")
def build_passages(
    source: Annotated[
        Path,
        typer.Option(
            "--from", "-f", help="A BEIR-like folder, or a corpus.jsonl[.gz] (id, title, text)."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The index's folder.")],
    model: Annotated[
        str | None,
        typer.Option(help="Also index vectors of this model: minilm, a folder or a hub id."),
    ] = None,
    dense: Annotated[str, typer.Option(help="Kind of vector index: flat, ivfpq or hnsw.")] = "flat",
) -> None:
    """Index passages for BM25 and, with --model, for dense and hybrid search.

    Examples:

      seekray index build passages --from scifact/ --out indexes/scifact

      seekray index build passages --from scifact/ --out indexes/scifact --model minilm
    """
    from actors.search.dense.factory import IndexSpec
    from actors.search.ranking.folder import build_passages_index
    from pipelines.data.ir_sets import corpus_file, read_passages
    from pipelines.progress import RichReporter

    with plain_errors(_known):
        path = corpus_file(source)
        passages = list(read_passages(path))
        embedder = _embedder(model)
        reporter = RichReporter(console)
        with reporter.bar("embedding", len(passages)) as bar:
            build_passages_index(
                passages,
                out,
                corpus=path.parent.name if source.is_dir() else path.name,
                embedder=embedder,
                spec=IndexSpec(dense),
                progress=lambda done, _: bar.update(done),
            )
    _say(f"{len(passages):,} passages are in {out}")


def _embedder(model: str | None) -> Any:
    if model is None:
        return None
    from actors.search.dense.embed import Embedder
    from pipelines.data.minilm import resolve_embedder

    return Embedder(resolve_embedder(model, report=_say))


@index_app.command()
def info(
    index: Annotated[Path, typer.Argument(metavar="DIR", help="An index's folder.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What an index holds: corpus, records, shards, fields, hash, size.

    Example: seekray index info indexes/pubmed
    """
    with plain_errors(_known):
        facts = _facts(index)
    if json:
        console.print_json(json_module.dumps(facts))
        return
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        shown = f"{value:,}" if isinstance(value, int | float) else value
        shown = ", ".join(shown) if isinstance(shown, list) else shown
        table.add_row(name.replace("_", " "), shown)
    console.print(table, highlight=False)


@index_app.command()
def verify(
    index: Annotated[Path, typer.Argument(metavar="DIR", help="An index's folder.")],
) -> None:
    """Read every byte of an index and compare it with the manifest's check sums.

    Ends with code 1 and one line a fault when something is missing or damaged.

    Example: seekray index verify indexes/pubmed
    """
    from actors.search.engines import PASSAGES_FILE

    with plain_errors(_known):
        if (index / PASSAGES_FILE).is_file():
            from actors.search.ranking.folder import verify as faults_of
        else:
            from actors.search.index import verify as faults_of
        faults = faults_of(index)
    for fault in faults:
        errors.print(f"error: {fault}", markup=False, highlight=False, soft_wrap=True)
    if faults:
        errors.print("build the index again", highlight=False)
        raise typer.Exit(1)
    _say(f"{index} is whole")


def _facts(index: Path) -> dict[str, Any]:
    from actors.search.engines import MESH_FILE, PASSAGES_FILE
    from actors.search.index import Manifest

    size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    if (index / PASSAGES_FILE).is_file():
        from actors.search.ranking.folder import read_passages_manifest

        about = read_passages_manifest(index)
        return {
            "kind": "passages",
            "corpus": about.corpus,
            "records": about.count,
            "content_hash": about.corpus_hash,
            "stemmer": about.stemmer or "none",
            "vectors": sorted(path.name[6:] for path in index.glob("dense-*")),
            "megabytes": round(size / 1e6, 1),
        }
    manifest = Manifest.load(index)
    facts = {
        "kind": manifest.schema.name,
        "corpus": manifest.corpus,
        "records": manifest.records,
        "content_hash": manifest.content_hash,
        "shards": len(manifest.shards),
        "fields": list(manifest.fields),
        "format_version": manifest.schema_version,
        "megabytes": round(size / 1e6, 1),
    }
    if manifest.schema.name == "pubmed":
        facts["mesh"] = MESH_FILE if (index / MESH_FILE).is_file() else "headings of the corpus"
    return facts


def _done(out: Path, manifest: "Manifest") -> None:
    shards = len(manifest.shards)
    _say(f"{manifest.records:,} records are in {out} ({shards} shard{'s' * (shards > 1)})")


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
