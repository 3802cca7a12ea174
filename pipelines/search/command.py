"""The commands `seekray search pubmed`, `trials` and `passages`."""

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from rich.console import Console

from pipelines.plain_errors import errors, plain_errors

if TYPE_CHECKING:
    from actors.search.engines import Engine
    from actors.search.live.cache import AnswerCache
    from actors.search.live.retry import RetryPolicy
    from pipelines.search.asking import Asking

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Search a local or the live PubMed or ClinicalTrials.gov, in their own query languages.",
)
console = Console()

Query = Annotated[str | None, typer.Argument(help="The query; or give --queries FILE.")]
Index = Annotated[
    Path | None, typer.Option("--index", help="A folder that `seekray index build` wrote.")
]
Hits = Annotated[int, typer.Option("-k", "--k", help="How many hits to show.", min=0)]
Order = Annotated[str, typer.Option(help="recent or relevance (BM25).")]
DateTo = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="Only what was published up to this day."),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object: query, translation, total, ids, warnings."),
]
Queries = Annotated[
    Path | None,
    typer.Option(
        "--queries",
        help="JSON lines with `query`, perhaps `syntax` and `id`: one line of JSON each. Queries "
        "with errors are counted at the end and leave the exit code 0.",
    ),
]
Live = Annotated[
    bool, typer.Option("--live", help="Ask the real service (paced; NCBI_API_KEY if it is set).")
]
BaseUrl = Annotated[
    str | None, typer.Option(help="With --live: another address, such as that of `emulate`.")
]


def known() -> tuple[type[BaseException], ...]:
    """What a person can mend, of all ways to search."""
    from actors.search.dense.embed import EmbedderError
    from actors.search.index import IndexMismatchError
    from actors.search.live.errors import ServiceError
    from actors.search.ranking.failures import PassagesError
    from pipelines.data.cache import FetchError
    from pipelines.data.failures import CorpusError

    return (
        CorpusError, EmbedderError, FetchError, IndexMismatchError, KeyError, OSError,
        PassagesError, ServiceError, ValueError,
    )  # fmt: skip


@app.command()
def pubmed(
    query: Query = None,
    index: Index = None,
    corpus: Annotated[
        str, typer.Option(help="Without --index: pubmed-sample, or PubMed XML or JSONL.")
    ] = "pubmed-sample",
    k: Hits = 10,
    order: Order = "recent",
    date_to: DateTo = None,
    syntax: Annotated[str, typer.Option(help="pubmed, ovid, or auto.")] = "auto",
    mesh: Annotated[
        Path | None, typer.Option(help="NLM's descriptors (desc2026.xml), for explosion.")
    ] = None,
    explained: Annotated[
        bool, typer.Option("--explain", help="Show the hits of every step of the query.")
    ] = False,
    json: Json = False,
    queries: Queries = None,
    live: Live = False,
    base_url: BaseUrl = None,
) -> None:
    r"""Search PubMed in its own language, or in Ovid's.

    Examples:

      seekray search pubmed '(breast neoplasm* OR breast cancer\[tiab]) AND tamoxifen'

      seekray search pubmed 'hypertension\[mh] AND 1978\[dp]' --explain

      seekray search pubmed --queries reviews.jsonl --index indexes/pubmed > answers.jsonl

      seekray search pubmed 'gout\[majr]' --live
    """
    if syntax not in ("auto", "pubmed", "ovid"):
        raise typer.BadParameter(f"{syntax!r} is neither auto, pubmed nor ovid")
    _check_order(order)
    _check_given(query, queries)
    with plain_errors(known):
        engine: Engine
        if live:
            from actors.search.live.engines import LivePubMedEngine

            engine = LivePubMedEngine(
                _at(base_url, "/entrez/eutils/"), policy=_patience(), cache=_live_cache(base_url)
            )
        else:
            from actors.search.engines import open_pubmed

            engine = open_pubmed(index or _corpus_index(corpus), mesh)
        from pipelines.search.asking import Asking

        asking = Asking("pubmed", engine, k, order, _day(date_to), syntax, console, live)
        _run(asking, query, queries, json, explained)


@app.command()
def trials(
    query: Query = None,
    index: Index = None,
    k: Hits = 10,
    order: Order = "relevance",
    date_to: DateTo = None,
    json: Json = False,
    queries: Queries = None,
    live: Live = False,
    base_url: BaseUrl = None,
) -> None:
    r"""Search ClinicalTrials.gov with its expressions (Essie).

    Examples:

      seekray search trials 'heart attack AND AREA\[Phase]PHASE3' --index indexes/trials

      seekray search trials 'AREA\[StartDate]RANGE\[2020-01-01,MAX] AND melanoma' --live
    """
    _check_order(order)
    _check_given(query, queries)
    with plain_errors(known):
        engine: Engine
        if live:
            from actors.search.live.engines import LiveTrialsEngine

            engine = LiveTrialsEngine(
                _at(base_url, "/api/v2"), policy=_patience(), cache=_live_cache(base_url)
            )
        else:
            from actors.search.engines import open_engine

            engine = open_engine(_needed(index), "trials")
        from pipelines.search.asking import Asking

        asking = Asking("trials", engine, k, order, _day(date_to), "essie", console)
        _run(asking, query, queries, json)


@app.command()
def passages(
    query: Query = None,
    index: Index = None,
    engine: Annotated[str, typer.Option(help="bm25, dense or hybrid.")] = "bm25",
    k: Hits = 10,
    json: Json = False,
    queries: Queries = None,
) -> None:
    """Search passages by free text: BM25, dense vectors, or both fused.

    Example: seekray search passages 'vitamin D and asthma' --index indexes/scifact --engine hybrid
    """
    if engine not in ("bm25", "dense", "hybrid"):
        raise typer.BadParameter(f"{engine!r} is neither bm25, dense nor hybrid")
    _check_given(query, queries)
    with plain_errors(known):
        from actors.search.engines import open_engine

        opened = open_engine(_needed(index), engine)
        from pipelines.search.asking import Asking

        asking = Asking(engine, opened, k, "relevance", None, "bag", console)
        _run(asking, query, queries, json)


def _run(
    asking: "Asking", query: str | None, queries: Path | None, json: bool, explained: bool = False
) -> None:
    if queries is not None:
        asking.many(queries)
    else:
        asking.one(str(query), as_line=json, explained=explained)


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None


def _check_given(query: str | None, queries: Path | None) -> None:
    if (query is None) == (queries is None):
        raise typer.BadParameter("give either a query or --queries FILE")


def _check_order(order: str) -> None:
    if order not in ("recent", "relevance"):
        raise typer.BadParameter(f"{order!r} is neither recent nor relevance", param_hint="--order")


def _needed(index: Path | None) -> Path:
    if index is None:
        raise typer.BadParameter(
            "name an index, or build one: seekray index build --help", param_hint="--index"
        )
    return index


def _at(base_url: str | None, path: str) -> str | None:
    """An address without a path, such as `emulate` prints, with the service's own."""
    if base_url is None or urlsplit(base_url).path.strip("/"):
        return base_url
    return base_url.rstrip("/") + path


def _patience() -> "RetryPolicy":
    """A person waits less long than a training run does."""
    from actors.search.live.retry import RetryPolicy

    return RetryPolicy(attempts=8, deadline_s=60.0)


def _live_cache(base_url: str | None) -> "AnswerCache | None":
    """None for another address: an emulator there may serve another index tomorrow."""
    if base_url is not None:
        return None
    from actors.search.live.cache import AnswerCache
    from pipelines.data.cache import cache_folder

    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return AnswerCache(folder / "live.sqlite")


def _corpus_index(corpus: str) -> Path:
    from actors.search.index import FIELDS
    from configs.schema import DataConfig
    from pipelines.deepretrieval.corpora import corpus_index

    data = DataConfig(corpus=corpus, abstracts_only=False)
    return corpus_index(data, FIELDS, report=lambda text: errors.print(text, highlight=False))
