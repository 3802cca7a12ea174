"""One way of asking an engine, for a person's query or a file of them, and showing what it says."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from actors.search.engine import PubMedEngine, QueryPlan
from actors.search.engines import Engine
from actors.search.ovid import looks_like_ovid, to_pubmed
from actors.search.pubmed.explain import explain, together
from actors.search.sharded import ShardedEngine
from actors.search.types import InfraFailure, QueryError, SearchOutcome, SearchRequest
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import read_objects
from pipelines.plain_errors import errors
from pipelines.search.present import as_json, as_tree, caret, hits_table

BATCH = 256
QUERY_ERROR, FAILURE = 2, 1  # exit codes


@dataclass
class Asking:
    """An engine with what is asked of it. `syntax` "auto" tells Ovid from PubMed by its looks.

    `live` translates Ovid strategies to PubMed's language, the only one that the service reads.
    """

    name: str
    engine: Engine
    k: int
    order: str
    date_to: date | None
    syntax: str
    console: Console
    live: bool = False

    def one(self, query: str, *, as_line: bool, explained: bool) -> None:
        """Run one query and show it; exit code 2 for a query error, 1 for a failure of ours."""
        if explained and not isinstance(self.engine, PubMedEngine | ShardedEngine):
            raise typer.BadParameter(
                "only local PubMed indexes show their steps", param_hint="--explain"
            )
        request = self._request(query, "")
        outcome = self._search([request])[0]
        if as_line:
            sys.stdout.write(json.dumps(as_json(self.name, query, outcome)) + "\n")
        match outcome:
            case QueryError():
                if not as_line:
                    self._complain(outcome)
                raise typer.Exit(QUERY_ERROR)
            case InfraFailure():
                if not as_line:
                    errors.print("the search failed, not the query:", outcome.message, markup=False)
                raise typer.Exit(FAILURE)
        if as_line:
            return
        say = self.console.print
        if outcome.translation:
            say(f"read as: {outcome.translation}", markup=False, highlight=False)
        for warning in outcome.warnings:
            say(f"warning: {warning}", style="yellow", markup=False, highlight=False)
        say(f"{outcome.total:,} hits", highlight=False)
        if explained:
            self._explain(request)
        titles = [title for title, _ in self.engine.fetch(outcome.ids)]
        if titles:
            say(hits_table(outcome, titles))

    def many(self, path: Path) -> None:
        """Run a file, one line of JSON each, in the file's order, as they come."""
        failed = 0
        lines = _lines(path)
        while batch := list(islice(lines, BATCH)):
            requests = [self._request(line["query"], str(line.get("syntax", ""))) for line in batch]
            for line, outcome in zip(batch, self._search(requests), strict=True):
                row: dict[str, Any] = {"id": line["id"]} if "id" in line else {}
                row |= as_json(self.name, line["query"], outcome)
                failed += bool(row["errors"])
                sys.stdout.write(json.dumps(row) + "\n")
        if failed:
            errors.print(f"{failed} queries had errors", highlight=False)

    def _request(self, query: str, given: str) -> SearchRequest | QueryError:
        syntax = self.syntax
        if syntax == "auto":
            syntax = given
            if given not in ("pubmed", "ovid"):
                syntax = "ovid" if looks_like_ovid(query) else "pubmed"
        if syntax == "ovid" and self.live:
            translated = to_pubmed(query)
            if isinstance(translated, QueryError):
                return translated
            query, syntax = translated.text, "pubmed"
        return SearchRequest(query, self.k, self.date_to, self.order, syntax=syntax)

    def _search(self, requests: Sequence[SearchRequest | QueryError]) -> list[SearchOutcome]:
        runnable = [request for request in requests if isinstance(request, SearchRequest)]
        found = iter(self.engine.search_many(runnable))
        return [r if isinstance(r, QueryError) else next(found) for r in requests]

    def _complain(self, error: QueryError) -> None:
        errors.print("[bold red]error:[/bold red]", end=" ")
        errors.print(error.message, markup=False, highlight=False, soft_wrap=True)
        if error.position is not None:
            shown = caret(error.query, error.position)
            errors.print(shown, markup=False, highlight=False, soft_wrap=True)

    def _explain(self, request: SearchRequest | QueryError) -> None:
        engine = self.engine
        assert isinstance(engine, PubMedEngine | ShardedEngine)
        assert isinstance(request, SearchRequest)
        plan = engine.plan(request)
        assert isinstance(plan, QueryPlan)
        shards = [engine.index] if isinstance(engine, PubMedEngine) else engine.shards
        self.console.print(as_tree(together([explain(plan.query, shard) for shard in shards])))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The file's objects. `CorpusError` names the line that is not one with a `query`."""
    for number, line in read_objects(path):
        if not isinstance(line.get("query"), str):
            raise CorpusError(f"{path}, line {number}: an object with a text `query` is needed")
        yield line
