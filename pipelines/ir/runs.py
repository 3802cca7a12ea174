"""TREC run files: `query Q0 document rank score tag`, one hit a line."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from actors.search.ranking.fusion import RRF_K, reciprocal_rank_fusion
from pipelines.files import write_whole
from pipelines.ir.failures import RunFileError

Run = dict[str, list[tuple[str, float]]]
"""Query id -> (document id, score), best first, ties by document id descending."""


def ordered(hits: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """As trec_eval orders them: float32 score descending, then id descending as bytes."""
    kept = [(float(np.float32(score)), id) for id, score in hits]
    kept.sort(key=lambda hit: (hit[0], hit[1].encode()), reverse=True)
    return [(id, score) for score, id in kept]


def write_run(path: str | Path, run: Mapping[str, Iterable[tuple[str, float]]], tag: str) -> None:
    """Write `run` whole or not at all. Raises `RunFileError` for an id that holds white space."""
    path = Path(path)
    lines = []
    for query, hits in run.items():
        for rank, (document, score) in enumerate(ordered(hits), 1):
            for name, value in (("query", query), ("document", document), ("tag", tag)):
                if not value or value.split() != [value]:
                    raise RunFileError(f"{name} id {value!r} cannot stand in a TREC run file")
            lines.append(f"{query} Q0 {document} {rank} {score:.9g} {tag}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(lines))


def read_run(path: str | Path) -> Run:
    """The run in `path`; the rank column is ignored, as trec_eval does.

    Raises `RunFileError` with the line for what is malformed, or a document that comes twice.
    """
    found: dict[str, dict[str, float]] = {}
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunFileError(f"run file {path} cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells:
            continue
        place = f"{path}, line {number}"
        if len(cells) != 6:
            raise RunFileError(f"{place}: {len(cells)} columns, a run has 6 (query Q0 id rank ...)")
        query, _, document, _, score, _ = cells
        try:
            value = float(score)
        except ValueError as error:
            raise RunFileError(f"{place}: score {score!r} is no number") from error
        if not np.isfinite(value):
            raise RunFileError(f"{place}: score {score!r} is not finite")
        if document in found.setdefault(query, {}):
            raise RunFileError(f"{place}: document {document} comes twice for query {query}")
        found[query][document] = value
    return {query: ordered(hits.items()) for query, hits in found.items()}


def fuse_runs(runs: Iterable[Run], k: int = RRF_K, depth: int = 1000) -> Run:
    """Reciprocal rank fusion of whole runs, `depth` hits a query."""
    runs = list(runs)
    queries = dict.fromkeys(query for run in runs for query in run)
    return {
        query: reciprocal_rank_fusion([[id for id, _ in run.get(query, [])] for run in runs], k)[
            :depth
        ]
        for query in queries
    }
