"""The commands `seekray search` and `seekray emulate`."""

import json as json_module
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pipelines.plain_errors import errors, plain_errors

if TYPE_CHECKING:
    from actors.search.engines import Engine
    from actors.search.live.cache import AnswerCache
    from actors.search.types import SearchOutcome, SearchRequest

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Search a local or the live PubMed or ClinicalTrials.gov, in their own query languages.",
)
console = Console()

BATCH = 256
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
        help="JSON lines with `query`, perhaps `syntax` and `id`: one line of JSON each.",
    ),
]
Live = Annotated[
    bool, typer.Option("--live", help="Ask the real service (paced; NCBI_API_KEY if it is set).")
]
BaseUrl = Annotated[
    str | None, typer.Option(help="With --live: another address, such as that of `emulate`.")
]


def _known() -> tuple[type[BaseException], ...]:
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


@dataclass
class _Search:
    """One way of asking, for one query or a file of them."""

    name: str
    engine: "Engine"
    k: int
    order: str
    date_to: datetime | None
    syntax: str | None  # None: told from each query

    def request(self, query: str, syntax: str = "") -> "SearchRequest":
        """The request of one query."""
        from actors.search.types import SearchRequest

        day = self.date_to.date() if self.date_to else None
        return SearchRequest(query, self.k, day, self.order, syntax=self._syntax(query, syntax))

    def _syntax(self, query: str, given: str) -> str:
        if self.name != "pubmed":
            return self.syntax or "bag"
        if self.syntax and self.syntax != "auto":
            return self.syntax
        if given in ("pubmed", "ovid"):
            return given
        from actors.search.ovid.detect import looks_like_ovid

        return "ovid" if looks_like_ovid(query) else "pubmed"

    def one(self, query: str, as_json: bool, explained: bool) -> None:
        """Run one query and show it; exit code 2 for a query error, 1 for a failure of ours."""
        from actors.search.types import InfraFailure, QueryError
        from pipelines.search.present import as_json as row
        from pipelines.search.present import caret, hits_table

        request = self.request(query)
        outcome = self.engine.search(request)
        if as_json:
            sys.stdout.write(json_module.dumps(row(self.name, query, outcome)) + "\n")
        if isinstance(outcome, QueryError):
            if not as_json:
                errors.print("[bold red]error:[/bold red]", end=" ")
                errors.print(outcome.message, markup=False, highlight=False, soft_wrap=True)
                if outcome.position is not None:
                    shown = caret(query, outcome.position)
                    errors.print(shown, markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(2)
        if isinstance(outcome, InfraFailure):
            if not as_json:
                errors.print("the search failed, not the query:", outcome.message, markup=False)
            raise typer.Exit(1)
        if as_json:
            return
        if outcome.translation:
            console.print(f"read as: {outcome.translation}", markup=False, highlight=False)
        for warning in outcome.warnings:
            console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False)
        console.print(f"{outcome.total:,} hits", highlight=False)
        if explained:
            self._explain(request)
        titles = [title for title, _ in self.engine.fetch(outcome.ids)]
        console.print(hits_table(outcome, titles))

    def _explain(self, request: "SearchRequest") -> None:
        from actors.search.engine import PubMedEngine, QueryPlan
        from actors.search.pubmed.explain import explain
        from pipelines.search.present import as_tree

        if not isinstance(self.engine, PubMedEngine):
            raise typer.BadParameter(
                "only local PubMed indexes of one shard show their steps", param_hint="--explain"
            )
        plan = self.engine.plan(request)
        assert isinstance(plan, QueryPlan)
        console.print(as_tree(explain(plan.query, self.engine.index)))

    def many(self, path: Path) -> None:
        """Run a file, one line of JSON each, in the file's order, as they come."""
        from pipelines.search.present import as_json

        failed = 0
        lines = _lines(path)
        while batch := list(islice(lines, BATCH)):
            requests = [self.request(line["query"], str(line.get("syntax", ""))) for line in batch]
            outcomes: Sequence[SearchOutcome] = self.engine.search_many(requests)
            for line, outcome in zip(batch, outcomes, strict=True):
                row: dict[str, Any] = {"id": line["id"]} if "id" in line else {}
                row |= as_json(self.name, line["query"], outcome)
                failed += bool(row["errors"])
                sys.stdout.write(json_module.dumps(row) + "\n")
        if failed:
            errors.print(f"{failed} queries had errors", highlight=False)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The file's objects. `CorpusError` names the line that is not one with a `query`."""
    from pipelines.data.failures import CorpusError
    from pipelines.data.jsonl import read_objects

    for number, line in read_objects(path):
        if not isinstance(line.get("query"), str):
            raise CorpusError(f"{path}, line {number}: an object with a text `query` is needed")
        yield line


def _run(
    search: _Search, query: str | None, queries: Path | None, json: bool, explained: bool = False
) -> None:
    if queries is not None:
        search.many(queries)
    else:
        search.one(str(query), json, explained)


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
    with plain_errors(_known):
        engine: Engine
        if live:
            from actors.search.live.engines import LivePubMedEngine

            engine = LivePubMedEngine(base_url, cache=_live_cache(base_url))
        else:
            from actors.search.engines import open_pubmed

            engine = open_pubmed(index or _corpus_index(corpus), mesh)
        search = _Search("pubmed", engine, k, order, date_to, syntax)
        _run(search, query, queries, json, explained)


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
    with plain_errors(_known):
        engine: Engine
        if live:
            from actors.search.live.engines import LiveTrialsEngine

            engine = LiveTrialsEngine(base_url, cache=_live_cache(base_url))
        else:
            from actors.search.engines import open_engine

            engine = open_engine(_needed(index), "trials")
        _run(_Search("trials", engine, k, order, date_to, "essie"), query, queries, json)


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
    with plain_errors(_known):
        from actors.search.engines import open_engine

        opened = open_engine(_needed(index), engine)
        _run(_Search(engine, opened, k, "relevance", None, "bag"), query, queries, json)


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


def emulate(
    service: Annotated[str, typer.Argument(help="pubmed or trials.")],
    index: Annotated[Path, typer.Option("--index", help="A folder of `seekray index build`.")],
    port: Annotated[int, typer.Option(help="0 = a free one.", min=0, max=65535)] = 8765,
    host: Annotated[str, typer.Option(help="Loopback unless told otherwise.")] = "127.0.0.1",
    rate_limit: Annotated[
        bool, typer.Option("--rate-limit", help="Answer 429 above 3 requests a second (10 by key).")
    ] = False,
    faults: Annotated[
        Path | None, typer.Option(help="YAML or JSON: which faults to inject, and how often.")
    ] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="NLM's descriptors, for explosion (pubmed).")
    ] = None,
) -> None:
    """Serve an index over HTTP as the real service does: E-utilities, or ClinicalTrials.gov's API.

    Any client of the real service that can be given an address runs against it unchanged; Biopython
    names NCBI's itself, `actors.search.emulator.biopython.entrez_at` points it elsewhere.

    Examples:

      seekray emulate pubmed --index indexes/pubmed --port 8765

      curl 'http://127.0.0.1:8765/entrez/eutils/esearch.fcgi?db=pubmed&term=gout&retmode=json'

      seekray emulate trials --index indexes/trials --faults faults.yaml
    """
    with plain_errors(_known):
        from actors.search.emulator.opening import emulate as run

        run(
            service,
            index,
            host=host,
            port=port,
            faults=faults,
            rate_limit=rate_limit,
            mesh=mesh,
            started=lambda url: errors.print(f"serving {service} at {url}", highlight=False),
        )
