"""Classic retrieval collections: passages, queries and graded judgements, laid out as BEIR does.

A folder holds `corpus.jsonl` (`id` or `_id`, `title`, `text`), `queries.jsonl` (`id` or `_id`,
`text`, perhaps `split`) and the judgements: `qrels.jsonl` (`query_id`, `doc_id`, `relevance`) or
BEIR's own `qrels/SPLIT.tsv` (`query-id`, `corpus-id`, `score` under a header). Each may be `.gz`.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields, read_objects

Qrels = dict[str, dict[str, int]]
"""Query id to passage id to grade; 0 and below: judged, not relevant."""

_Judgement = tuple[str, str, str, int]
"""Place for messages, query id, passage id, grade."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One document of a collection; `title` may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class IRQuery:
    """One query; `split` is the part of the collection it belongs to ("" where it has none)."""

    id: str
    text: str
    split: str = ""


@dataclass(frozen=True, slots=True)
class IRSet:
    """A whole collection, in file order.

    Judgements name queries of the set only. They may name passages that the corpus lacks: whoever
    measures recall decides what those count.
    """

    name: str
    corpus: tuple[Passage, ...]
    queries: tuple[IRQuery, ...]
    qrels: Qrels

    @property
    def judged(self) -> tuple[IRQuery, ...]:
        """The queries with at least one relevant passage: those that measures average over."""
        return tuple(q for q in self.queries if any(g > 0 for g in self.qrels[q.id].values()))


def load_ir_set(folder: str | Path, split: str = "") -> IRSet:
    """Read the collection in `folder`, or only the queries of one `split` ("train", "test").

    Every query has an entry in `qrels`, perhaps an empty one. Raises `CorpusError`, with file and
    line, for what is missing, malformed, or there twice, and for a judgement of an unknown query.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder")
    corpus = tuple(read_passages(_part(folder, "corpus.jsonl")))
    path = _part(folder, "queries.jsonl")
    queries = _queries(path)
    judgements = _judgements(folder, split)
    qrels: Qrels = {query.id: {} for query in queries}
    for place, query, passage, grade in judgements:
        if query not in qrels:
            raise CorpusError(f"{place}: judges query {query}, which {path.name} does not hold")
        if qrels[query].setdefault(passage, grade) != grade:
            raise CorpusError(
                f"{place}: query {query}, passage {passage}: grade {grade}, but "
                f"{qrels[query][passage]} before"
            )
    kept = queries
    if split:
        by_file = (folder / "qrels").is_dir()
        kept = [q for q in queries if (qrels[q.id] if by_file else q.split == split)]
        if not kept:
            known = ", ".join(sorted({query.split for query in queries if query.split})) or "none"
            raise CorpusError(f"{path}: no query of split {split!r} (splits there: {known})")
    return IRSet(
        folder.resolve().name, corpus, tuple(kept), {query.id: qrels[query.id] for query in kept}
    )


def corpus_file(path: str | Path) -> Path:
    """The corpus of the collection in a folder; a file stands for itself. Raises `CorpusError`."""
    path = Path(path)
    if path.is_dir():
        return _part(path, "corpus.jsonl")
    if not path.is_file():
        raise CorpusError(f"{path}: no such file or folder")
    return path


def read_passages(path: str | Path) -> Iterator[Passage]:
    """Yield a corpus file's passages. Raises `CorpusError` for a bad line or an id seen before."""
    lines: dict[str, int] = {}
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        id = fields.required("id", "_id")
        if id in lines:
            raise CorpusError(f"{fields.place}: id {id} was in line {lines[id]} already")
        lines[id] = line
        yield Passage(id, fields.text("title"), fields.text("text", "abstract", "contents"))
    if not lines:
        raise CorpusError(f"{path}: holds no passage")


def _queries(path: Path) -> list[IRQuery]:
    found: dict[str, IRQuery] = {}
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        id = fields.required("id", "_id")
        if id in found:
            raise CorpusError(f"{fields.place}: id {id} comes twice")
        found[id] = IRQuery(id, fields.required("text"), fields.text("split"))
    if not found:
        raise CorpusError(f"{path}: holds no query")
    return list(found.values())


def _judgements(folder: Path, split: str) -> Iterator[_Judgement]:
    if (folder / "qrels").is_dir():
        names = (f"{split}.tsv",) if split else ("train.tsv", "dev.tsv", "test.tsv")
        files = [path for name in names if (path := _there(folder / "qrels", name))]
        if not files:
            raise CorpusError(f"{folder / 'qrels'}: holds no {' or '.join(names)}")
        for path in files:
            yield from _tsv_judgements(path)
        return
    path = _part(folder, "qrels.jsonl")
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        yield (
            fields.place,
            fields.required("query_id", "query-id"),
            fields.required("doc_id", "corpus-id"),
            _grade(values.get("relevance", values.get("score")), fields.place),
        )


def _tsv_judgements(path: Path) -> Iterator[_Judgement]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as err:
        raise CorpusError(f"{path}: cannot be read: {err}") from err
    for number, line in enumerate(text.split("\n"), 1):
        cells = line.rstrip("\r\n").split("\t")
        place = f"{path}, line {number}"
        if cells == [""] or (number == 1 and cells[0] == "query-id"):
            continue
        if len(cells) != 3:
            raise CorpusError(f"{place}: expected query-id, corpus-id, score between tabs")
        yield place, cells[0], cells[1], _grade(cells[2], place)


def _grade(value: object, place: str) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise CorpusError(f"{place}: relevance is no whole number: {value!r:.60}")


def _there(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _part(folder: Path, name: str) -> Path:
    found = _there(folder, name)
    if found is None:
        raise CorpusError(f"{folder}: holds no {name} (or {name}.gz)")
    return found
