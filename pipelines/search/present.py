"""What a person, or a program, is shown of a search."""

from typing import Any

from rich.table import Table
from rich.tree import Tree

from actors.search.pubmed.explain import Explanation
from actors.search.types import InfraFailure, QueryError, SearchOutcome, SearchResult

_WINDOW = 100  # characters of a query that are shown around the place of an error
MAX_DEPTH = 40


def as_json(engine: str, query: str, outcome: SearchOutcome) -> dict[str, Any]:
    """The line that `--json` prints. A failed search has errors and no total."""
    row: dict[str, Any] = {
        "engine": engine,
        "query": query,
        "translation": "",
        "total": None,
        "ids": [],
        "warnings": [],
        "errors": [],
    }
    match outcome:
        case SearchResult():
            row |= {
                "translation": outcome.translation,
                "total": outcome.total,
                "ids": list(outcome.ids),
                "warnings": list(outcome.warnings),
            }
        case QueryError(position=None):
            row["errors"] = [outcome.message]
        case QueryError():
            row["errors"] = [f"{outcome.message} (at character {outcome.position})"]
        case InfraFailure():
            row["errors"] = [f"the search failed, not the query: {outcome.message}"]
    return row


def caret(query: str, position: int) -> str:
    """The part of the query around `position`, and a caret below that character."""
    position = min(max(position, 0), len(query))
    start = max(0, position - _WINDOW // 2)
    shown = query[start : start + _WINDOW]
    shown = "".join(" " if not c.isprintable() else c for c in shown)
    before = "..." if start else ""
    after = "..." if start + _WINDOW < len(query) else ""
    return f"  {before}{shown}{after}\n  {' ' * (len(before) + position - start)}^"


def hits_table(outcome: SearchResult, titles: list[str]) -> Table:
    """Rank, id, title and, where there is one, the score."""
    table = Table(box=None, padding=(0, 1), show_edge=False)
    table.add_column("", justify="right", style="dim")
    table.add_column("id", style="bold", no_wrap=True)
    table.add_column("title")
    scored = len(outcome.scores) == len(outcome.ids) > 0
    if scored:
        table.add_column("score", justify="right")
    for rank, (id_, title) in enumerate(zip(outcome.ids, titles, strict=True), start=1):
        row = [str(rank), id_, title]
        table.add_row(*row, *([f"{outcome.scores[rank - 1]:.2f}"] if scored else []))
    return table


def as_tree(explanation: Explanation) -> Tree:
    """The query's steps with their hits; what lies deeper than 40 levels is left out."""
    root = Tree(_line(explanation))
    todo = [(root, explanation, 1)]
    while todo:
        branch, node, depth = todo.pop()
        if depth == MAX_DEPTH and node.parts:
            branch.add("...")
            continue
        children = [(branch.add(_line(part)), part, depth + 1) for part in node.parts]
        todo += children
    return root


def _line(node: Explanation) -> str:
    from rich.markup import escape

    return f"[bold]{node.total:,}[/bold]  {escape(node.label)}"
