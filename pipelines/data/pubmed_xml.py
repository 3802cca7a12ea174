"""A streaming reader of PubMed XML: baseline and update files and efetch answers, plain or gz.

The file is cut into pieces of whole articles, and each piece is parsed by itself: libxml2 is half
as fast again so as over one endless stream, and memory stays constant whatever the file's size.
(A file in another encoding than UTF-8, or with an internal DTD, is parsed as one tree instead.)
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from lxml import etree

from actors.search.pubmed_record import ARTICLES, ROOTS, RecordError, record_of, safe_parser
from actors.search.types import Record
from pipelines.data.failures import CorpusError

Report = Callable[[str], None]

_PIECE = 1 << 17
_HEAD = 1 << 16
_LONGEST_ARTICLE = 1 << 28
_PROLOG = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*>)*+(<([A-Za-z_][\w.:-]*)[^<>]*>)",
    re.DOTALL,
)
_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)")
_ENDS = {
    b"PubmedArticleSet": (b"</PubmedArticle>", b"</PubmedBookArticle>"),
    b"MedlineCitationSet": (b"</MedlineCitation>",),
    b"PubmedBookArticleSet": (b"</PubmedBookArticle>",),
}
_LONGEST_END = 32


@dataclass(frozen=True, slots=True)
class Deletion:
    """An id that an update file takes out of the corpus."""

    id: str


def read_pubmed_xml(path: str | Path, report: Report | None = None) -> Iterator[Record | Deletion]:
    """Yield the file's records and deletions in file order.

    `report` is told how many book records were skipped. Raises `CorpusError` for a file that is
    missing, truncated, not XML, not PubMed XML, or holds an article without a PMID; the message
    names the file, the line or byte, and the last good record's PMID, and comes after all records
    before that place.
    """
    path = Path(path)
    reader = _Reader(path)
    try:
        with _open(path) as file:
            yield from reader.items(_CountedFile(file))
    except OSError as err:
        raise CorpusError(f"{path}: cannot be read: {err.strerror or err}") from err
    if reader.books and report:
        report(f"{path.name}: skipped {reader.books} book records")


def read_records(
    paths: Iterable[str | Path], report: Report | None = None, *, abstracts_only: bool = False
) -> list[Record]:
    """Read baseline and update files as one corpus, applied in the order of their file names.

    A later version of a PMID replaces the earlier one in its place; a deletion removes it.
    `abstracts_only` keeps only records whose last version has an abstract. Raises `CorpusError`.
    """
    records: dict[str, Record] = {}
    for path in sorted(map(Path, paths), key=lambda path: path.name):
        for item in read_pubmed_xml(path, report):
            if isinstance(item, Deletion):
                records.pop(item.id, None)
            else:
                records[item.id] = item
        if report:
            report(f"{path.name}: {len(records)} records so far")
    return [record for record in records.values() if record.abstract or not abstracts_only]


def _open(path: Path) -> BinaryIO:
    file = path.open("rb")
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not packed:
        return file
    file.close()
    return cast(BinaryIO, gzip.open(path, "rb"))


class _CountedFile:
    """A readable file that counts what was taken from it and keeps what broke its gz stream."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.taken = 0
        self.damage: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            data = self.file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as err:
            self.damage = err
            return b""
        self.taken += len(data)
        return data


@dataclass(frozen=True, slots=True)
class _Piece:
    """Whole articles as bytes, wrapped in the root element, and the line where they begin."""

    xml: bytes
    line: int


class _Reader:
    """Reads one file: keeps count of what was seen, for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.books = 0
        self.articles = 0
        self.last = ""

    def items(self, file: _CountedFile) -> Iterator[Record | Deletion]:
        head = file.read(_HEAD)
        prolog = _PROLOG.match(head)
        encoding = _ENCODING.search(head[:200])
        plain = not encoding or encoding[1].lower() in (b"utf-8", b"us-ascii", b"ascii")
        if prolog and plain and not prolog[1].endswith(b"/>"):
            root = prolog[2].decode()
            if root not in ROOTS:
                raise CorpusError(f"{self.path}: not PubMed XML: its root element is <{root}>")
            for piece in self._pieces(file, head, prolog):
                yield from self._parsed(piece, file)
        elif not file.damage:
            yield from self._parsed(_Piece(head + file.read(), 1), file)
        if file.damage:
            raise CorpusError(
                f"{self.path}: the gz stream breaks off or is damaged after byte {file.taken} of "
                f"its content ({file.damage}){self._after()}; fetch the file again"
            )

    def _pieces(self, file: _CountedFile, head: bytes, prolog: re.Match[bytes]) -> Iterator[_Piece]:
        start = b" ".join(prolog[1].split())
        close = b"</" + prolog[2] + b">"
        line = head.count(b"\n", 0, prolog.end()) + 1
        rest = head[prolog.end() :]
        searched = 0
        while True:
            end = -1
            for tag in _ENDS[prolog[2]]:
                at = rest.rfind(tag, max(end, searched))
                end = max(end, at + len(tag)) if at >= 0 else end
            if end > 0:
                yield _Piece(start + rest[:end] + close, line)
                line += rest.count(b"\n", 0, end)
                rest = rest[end:]
            elif len(rest) > _LONGEST_ARTICLE:
                raise CorpusError(
                    f"{self.path}, line {line}: no article ends within {_LONGEST_ARTICLE} bytes"
                    f"{self._after()}"
                )
            searched = max(0, len(rest) - _LONGEST_END)
            data = file.read(_PIECE)
            if not data:
                break
            rest += data
        if not file.damage:
            yield _Piece(start + rest, line)

    def _parsed(self, piece: _Piece, file: _CountedFile) -> Iterator[Record | Deletion]:
        try:
            root = etree.fromstring(piece.xml, safe_parser())
        except etree.XMLSyntaxError as err:
            yield from self._before_error(piece)
            line, column = piece.line + max(err.lineno or 1, 1) - 1, err.offset or 1
            why = re.sub(r",? line \d+(, column \d+)?", "", err.msg or "no XML")
            raise CorpusError(
                f"{self.path}: broken XML at line {line}, column {column} ({why}){self._after()}"
            ) from err
        if root.tag not in ROOTS:
            raise CorpusError(f"{self.path}: not PubMed XML: its root element is <{root.tag}>")
        for child in root:
            yield from self._child(child, piece.line)

    def _before_error(self, piece: _Piece) -> Iterator[Record | Deletion]:
        """What stands whole in a piece before the place where it breaks."""
        pull = etree.XMLPullParser(
            events=("end",),
            tag=(*ARTICLES, "PubmedBookArticle", "DeleteCitation"),
            resolve_entities=False,
            no_network=True,
        )
        whole: list[Any] = []
        try:
            for at in range(0, len(piece.xml), 1024):
                pull.feed(piece.xml[at : at + 1024])
                whole += [element for _, element in pull.read_events()]
        except etree.XMLSyntaxError:
            pass
        for element in whole:
            parent = element.getparent()
            if parent is not None and parent.tag in ROOTS:
                yield from self._child(element, piece.line)

    def _child(self, element: Any, first_line: int) -> Iterator[Record | Deletion]:
        tag = element.tag
        if tag in ARTICLES:
            self.articles += 1
            try:
                record = record_of(element)
            except RecordError as err:
                line = first_line + element.sourceline - 1
                raise CorpusError(
                    f"{self.path}, line {line}: article {self.articles} has no PMID{self._after()}"
                ) from err
            self.last = record.id
            yield record
        elif tag == "PubmedBookArticle":
            self.books += 1
        elif tag == "DeleteCitation":
            ids = ((pmid.text or "").strip() for pmid in element.iter("PMID"))
            yield from (Deletion(id) for id in ids if id)

    def _after(self) -> str:
        if self.last:
            return f"; last good record: PMID {self.last}"
        return "; no record was read before it"
