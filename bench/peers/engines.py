"""SQLite FTS5, tantivy, Whoosh-reloaded and Lucene behind one call: query string to (total, ids).

All hold the same columns, filled in the order of records that SeekRay's index has, so that a
document's number is its place in that order and the first K by number are the first K by date.
"""

import re
import sqlite3
import subprocess
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from actors.search.pubmed.plan import Plan
from actors.search.text import words
from actors.search.types import Record
from bench.peers.language import GAP, InexpressibleError, fts5_term, lucene_term, one_token, write

JAVA_SOURCE = Path(__file__).with_name("LucenePeer.java")


class Peer(Protocol):
    """One program under comparison."""

    name: str

    def express(self, plan: Plan) -> str:
        """The query in the peer's language. InexpressibleError where it cannot be said."""

    def search(self, query: str, k: int) -> tuple[int, list[int]]:
        """Total, and the first K numbers."""


TEXT = (
    *("title", "abstract", "keywords", "mesh", "publication_types", "chemicals", "authors"),
    *("journal", "languages", "affiliations"),
)
WHOLE = (
    *("mesh_exact", "major_exact", "qualifier_exact", "publication_types_exact"),
    *("languages_exact", "journal_exact", "chemicals_exact"),
)
_LISTS = tuple(name for name in TEXT if name not in ("title", "abstract", "mesh", "journal"))
COLUMNS = (*TEXT, *WHOLE)
"""What review queries ask for; a query that needs another column is left out."""


def row_of(record: Record) -> dict[str, str]:
    """The columns of a record as one text each: words, or one token a whole value."""
    mesh = record.mesh
    qualified = [(h.descriptor, name, flag) for h in mesh for name, flag in h.qualifiers]
    journal = [name for name in (record.journal, record.journal_abbreviation) if name]
    text: dict[str, Sequence[str]] = {
        "title": (record.title,),
        "abstract": (record.abstract,),
        "mesh": [t for h in mesh for t in (h.descriptor, *(n for n, _ in h.qualifiers))],
        "journal": journal,
        **{
            n: getattr(record, n) for n in TEXT if n not in ("title", "abstract", "mesh", "journal")
        },
    }
    whole: dict[str, Sequence[str]] = {
        "mesh_exact": [
            *(h.descriptor for h in mesh),
            *(f"{heading} {name}" for heading, name, _ in qualified),
        ],
        "major_exact": [
            *(h.descriptor for h in mesh if h.is_major),
            *(f"{heading} {name}" for heading, name, flag in qualified if flag),
        ],
        "qualifier_exact": [name for _, name, _ in qualified],
        "publication_types_exact": record.publication_types,
        "languages_exact": record.languages,
        "journal_exact": journal,
        "chemicals_exact": record.chemicals,
    }
    row = {name: " ".join(map(_token, values)) for name, values in whole.items()}
    row |= {name: f" {GAP} ".join(map(_words, values)) for name, values in text.items()}
    return row


@lru_cache(maxsize=300_000)
def _words(value: str) -> str:
    return " ".join(words(value))


@lru_cache(maxsize=1_000_000)
def _token(value: str) -> str:
    return one_token(" ".join(words(value)))


class Fts5:
    """SQLite's FTS5 with one column a field, in a file; `detail=full`, no stemming."""

    name = "SQLite FTS5"

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.columns = columns
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA journal_mode=off")
        self.db.execute("PRAGMA synchronous=off")
        self.db.execute("PRAGMA cache_size=-512000")
        names = ", ".join(columns)
        self.db.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS t USING fts5({names}, content='', "
            "tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\")"
        )

    def fill(self, rows: Iterable[dict[str, str]]) -> None:
        """Indexes the documents and merges the index into one segment."""
        marks = ", ".join("?" * (1 + len(self.columns)))
        self.db.executemany(
            f"INSERT INTO t(rowid, {', '.join(self.columns)}) VALUES ({marks})",
            ((n + 1, *(row.get(c, "") for c in self.columns)) for n, row in enumerate(rows)),
        )
        self.db.execute("INSERT INTO t(t) VALUES ('optimize')")
        self.db.commit()

    def express(self, plan: Plan) -> str:
        """An FTS5 expression."""
        return write(plan, fts5_term, "({left} NOT {right})", self.columns)

    def search(self, query: str, k: int) -> tuple[int, list[int]]:
        """One pass over all hits, which come in row order."""
        rows = self.db.execute("SELECT rowid FROM t WHERE t MATCH ?", (query,)).fetchall()
        return len(rows), [row[0] - 1 for row in rows[:k]]


class Tantivy:
    """tantivy's own query parser."""

    name = "tantivy"

    def __init__(self, folder: Path, columns: Sequence[str]) -> None:
        import tantivy

        self.tantivy, self.columns = tantivy, columns
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("ordinal", fast=True)
        for name in columns:
            builder.add_text_field(name, tokenizer_name="whitespace", index_option="position")
        folder.mkdir(parents=True, exist_ok=True)
        self.index = tantivy.Index(builder.build(), path=str(folder))

    def fill(self, rows: Iterable[dict[str, str]]) -> None:
        """Indexes the documents with one thread."""
        writer = self.index.writer(heap_size=500_000_000, num_threads=1)
        for number, row in enumerate(rows):
            document = self.tantivy.Document()
            document.add_unsigned("ordinal", number)
            for name in self.columns:
                if row.get(name):
                    document.add_text(name, row[name])
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()

    def express(self, plan: Plan) -> str:
        """A query of tantivy's grammar, which truncates no single word."""
        query = write(plan, lucene_term, "(+{left} -{right})", self.columns)
        if "*" in query:
            raise InexpressibleError("truncation")
        return query

    def search(self, query: str, k: int) -> tuple[int, list[int]]:
        """Exact count and the K lowest numbers."""
        searcher = self.index.searcher()
        found = searcher.search(
            self.index.parse_query(query, ["title"]),
            k,
            count=True,
            order_by_field="ordinal",
            order=self.tantivy.Order.Asc,
        )
        return int(found.count), [number for number, _ in found.hits]


class Whoosh:
    """Whoosh-reloaded's query parser and collector."""

    name = "Whoosh-reloaded"

    def __init__(self, folder: Path, columns: Sequence[str]) -> None:
        from whoosh import analysis, fields, index

        blanks = analysis.SpaceSeparatedTokenizer()
        text = fields.TEXT(analyzer=blanks, phrase=True)
        folder.mkdir(parents=True, exist_ok=True)
        schema = fields.Schema(
            ordinal=fields.STORED, **{name.replace("_exact", "X"): text for name in columns}
        )
        self.columns = columns
        self.index = index.create_in(folder, schema)
        self._parser: Any = None

    def fill(self, rows: Iterable[dict[str, str]]) -> None:
        """Indexes the documents with one process."""
        from whoosh.qparser import QueryParser

        writer = self.index.writer(limitmb=500)
        for number, row in enumerate(rows):
            values = {n.replace("_exact", "X"): row[n] for n in self.columns if row.get(n)}
            writer.add_document(ordinal=number, **values)
        writer.commit(optimize=True)
        self._parser = QueryParser("title", self.index.schema)
        self._searcher = self.index.searcher()

    def express(self, plan: Plan) -> str:
        """A query of Whoosh's grammar."""
        return write(plan, lucene_term, "({left} AND NOT {right})", self.columns).replace(
            "_exact:", "X:"
        )

    def search(self, query: str, k: int) -> tuple[int, list[int]]:
        """All matching document numbers, which rise in the order of filling."""
        found = self._searcher.docs_for_query(self._parser.parse(query))
        numbers = sorted(set(found))
        return len(numbers), numbers[:k]


class Lucene:
    """Lucene's classic query parser in a Java process that times itself, one thread.

    `jar` is any jar with Lucene's core and queryparser classes, for instance Anserini's, which the
    wheel of pyserini 0.24.0 carries and Java 11 or later runs.
    """

    name = "Lucene"

    def __init__(self, folder: Path, columns: Sequence[str], jar: Path) -> None:
        self.columns = columns
        self.process = subprocess.Popen(
            ["java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", str(jar), str(JAVA_SOURCE), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def _ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer:
            raise SystemExit("the Java process with Lucene ended")
        return answer

    def fill(self, rows: Iterable[dict[str, str]]) -> None:
        """Indexes the documents into one segment."""
        assert self.process.stdin is not None
        for row in rows:
            self.process.stdin.write(
                "ADD\t" + "\t".join(f"{n}={row[n]}" for n in self.columns if row.get(n)) + "\n"
            )
        self._ask("COMMIT")

    def express(self, plan: Plan) -> str:
        """A query of Lucene's classic grammar."""
        query = write(plan, lucene_term, "(+{left} -{right})", self.columns)
        return re.sub(r"(?<=[:(])(AND|OR|NOT)(?=[ )])", r'"\1"', query)

    def search(self, query: str, k: int) -> tuple[int, list[int]]:
        """Exact total and the K lowest document numbers. The seconds are in `seconds`."""
        answer = self._ask(f"FIND\t{k}\t{query}")
        if answer.startswith("ERROR"):
            raise InexpressibleError(answer)
        nanoseconds, total, *numbers = answer.split(" ")
        self.seconds = int(nanoseconds) / 1e9
        return int(total), [int(number) for number in numbers]
