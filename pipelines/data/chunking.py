"""Documents to chunks of at most so many tokens, cut between sentences where that is possible.

Parts (sections, paragraphs) stay whole where they fit a chunk; a part that is longer is cut between
its sentences, a sentence that is longer than a chunk between its words, and a word that is longer
still between its characters. The text of a chunk is the document's own, its parts parted by a line
break.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.data.chunks import Chunk, Document
from pipelines.data.failures import CorpusError
from pipelines.data.sentences import Span, sentences, words
from pipelines.data.tokens import TokenCounter

MIN_SIZE = 8
PART_BREAK = "\n"
_SURE = 0.85  # of a chunk: what its sentences counted one by one may be without doubt
_CHARACTERS = 16  # of one word, that a token stands for at most


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span of one part, and about how many tokens it adds to a chunk that it is put behind."""

    part: int
    start: int
    end: int
    tokens: int


def chunk_documents(
    documents: Iterable[Document], counter: TokenCounter, *, size: int = 256, overlap: int = 0
) -> list[Chunk]:
    """Chunks of all documents, in order; none has more than `size` tokens.

    Without overlap the chunks of a document hold all its characters but white space once, in order.
    With it a chunk begins with the last sentences of the one before, as many as have together at
    most `overlap` tokens (of a sentence that is longer, its last words), fewer where a whole part
    would not fit behind them. Chunk n of a document DOC is `DOC#n`, from 0; a document without text
    has none. Raises ValueError for sizes that make no sense, `CorpusError` for a document id that
    comes twice and for a character that alone has more than `size` tokens.
    """
    if size < MIN_SIZE:
        raise ValueError(f"chunk size is {size} tokens, must be at least {MIN_SIZE}")
    if not 0 <= overlap <= size // 2:
        raise ValueError(
            f"chunk overlap is {overlap} tokens, must be 0 to {size // 2} (half the chunk size)"
        )
    chunks: list[Chunk] = []
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise CorpusError(f"document {document.id!r} comes twice: ids must be unique")
        seen.add(document.id)
        try:
            chunks.extend(_Packer(document, counter, size, overlap).chunks())
        except _OverfullError:
            chunks.extend(_Packer(document, counter, size, overlap, exact=True).chunks())
    return chunks


class _OverfullError(Exception):
    """Sentences have far more tokens together than one by one."""


class _Packer:
    """Fills the chunks of one document.

    Only near the limit is a chunk's text counted, unless `exact`: that saves most of the time, and
    tokenizers for which it goes wrong (it then raises `_OverfullError`) hardly exist.
    """

    def __init__(
        self,
        document: Document,
        counter: TokenCounter,
        size: int,
        overlap: int,
        exact: bool = False,
    ) -> None:
        self._exact = exact
        self._document, self._counter = document, counter
        self._size, self._overlap = size, overlap
        self._held: list[_Piece] = []
        self._repeated = 0  # how many of them stood in the chunk before
        self._made: list[Chunk] = []

    def chunks(self) -> list[Chunk]:
        for pieces in self._pieces():
            whole = replace(pieces[0], end=pieces[-1].end, tokens=sum(p.tokens for p in pieces))
            if self._roomy([whole]):
                self._put(pieces)
            else:
                for piece in pieces:
                    self._put([piece])
        if len(self._held) > self._repeated:
            self._flush()
        return self._made

    def _pieces(self) -> list[list[_Piece]]:
        """The sentences of each part that has any; the white space before one counts with it."""
        parts = self._document.parts
        found = [(part, spans) for part, text in enumerate(parts) if (spans := sentences(text))]
        texts = [
            parts[part][begin:end]
            for part, spans in found
            for begin, (_, end) in zip((0, *(end for _, end in spans)), spans, strict=False)
        ]
        tokens = iter(self._counter.counts(texts))
        return [
            [_Piece(part, start, end, next(tokens)) for start, end in spans]
            for part, spans in found
        ]

    def _put(self, pieces: list[_Piece]) -> None:
        """Add pieces that should stand in one chunk, in a new one where they do not fit."""
        if self._roomy([*self._held, *pieces]):
            self._held += pieces
            return
        if len(self._held) > self._repeated:
            self._flush()
        while self._held and not self._roomy([*self._held, *pieces]):
            self._held.pop(0)  # what is repeated gives way
        self._repeated = len(self._held)
        if self._held or self._roomy(pieces):
            self._held += pieces
        elif len(pieces) > 1:
            for piece in pieces:
                self._put([piece])
        else:
            self._cut(pieces[0])

    def _cut(self, piece: _Piece) -> None:
        """Fill chunks with a sentence that is longer than one; what is left begins the next."""
        spans = words(self._document.parts[piece.part], piece.start, piece.end)
        first = 0
        while first < len(spans):
            room = self._most(piece.part, spans, first)
            if room:
                last = first + room - 1
                self._held.append(self._piece(piece.part, spans[first][0], spans[last][1]))
                first += room
            elif self._held:  # nothing but repeated text
                self._held, self._repeated = [], 0
                continue
            else:
                start, end = spans[first]
                middle = self._characters(piece.part, start, end)
                self._held = [self._piece(piece.part, start, middle)]
                spans[first] = (middle, end)
            if first < len(spans):
                self._flush()

    def _piece(self, part: int, start: int, end: int) -> _Piece:
        return _Piece(part, start, end, self._counter.count(self._document.parts[part][start:end]))

    def _most(self, part: int, spans: Sequence[Span], first: int) -> int:
        """How many of these words, from `first` on, fit behind what is held."""

        def fit(count: int) -> bool:
            piece = _Piece(part, spans[first][0], spans[first + count - 1][1], 0)
            return self._fits([*self._held, piece])

        there = len(spans) - first
        low, high = 0, 1
        while high <= there and fit(high):
            low, high = high, 2 * high
        high = min(high - 1, there)
        while low < high:
            middle = (low + high + 1) // 2
            if fit(middle):
                low = middle
            else:
                high = middle - 1
        return low

    def _characters(self, part: int, start: int, end: int) -> int:
        """Where to cut a word that is longer than a chunk."""
        low, high = start + 1, min(end - 1, start + _CHARACTERS * self._size)
        while low < high:
            middle = (low + high + 1) // 2
            if self._fits([_Piece(part, start, middle, 0)]):
                low = middle
            else:
                high = middle - 1
        return low

    def _roomy(self, pieces: Sequence[_Piece]) -> bool:
        """Whether these make a chunk. Their own counts tell, but near the limit the text does."""
        about = sum(piece.tokens for piece in pieces) + len({piece.part for piece in pieces}) - 1
        if about > 1.25 * self._size + 16:
            return False
        if about <= _SURE * self._size and not self._exact:
            return True
        return self._fits(pieces)

    def _fits(self, pieces: Sequence[_Piece]) -> bool:
        return self._counter.count(self._text(pieces)) <= self._size

    def _text(self, pieces: Sequence[_Piece]) -> str:
        """Pieces that follow each other in one part are one slice of it."""
        slices: list[_Piece] = []
        for piece in pieces:
            if slices and slices[-1].part == piece.part:
                last = slices[-1]
                slices[-1] = _Piece(last.part, last.start, piece.end, 0)
            else:
                slices.append(piece)
        return PART_BREAK.join(
            self._document.parts[each.part][each.start : each.end] for each in slices
        )

    def _flush(self) -> None:
        document, text = self._document, self._text(self._held)
        tokens = self._counter.count(text)
        if tokens > self._size and not self._exact:
            raise _OverfullError
        if tokens > self._size:
            raise CorpusError(
                f"document {document.id}: {text[:40]!r} is {tokens} tokens and cannot be cut "
                f"further: take a chunk size above {self._size}"
            )
        id = f"{document.id}#{len(self._made)}"
        self._made.append(Chunk(id, text, tokens, document.id, document.title))
        self._held = self._tail() if self._overlap else []
        self._repeated = len(self._held)

    def _tail(self) -> list[_Piece]:
        """The end of what is held, as the next chunk repeats it."""
        kept: list[_Piece] = []
        for piece in reversed(self._held):
            if self._counter.count(self._text([piece, *kept])) > self._overlap:
                break
            kept.insert(0, piece)
        if kept:
            return kept
        last = self._held[-1]
        spans = words(self._document.parts[last.part], last.start, last.end)
        low, high = 0, len(spans)
        while low < high:  # the fewest words to leave out
            middle = (low + high) // 2
            text = self._document.parts[last.part][spans[middle][0] : last.end]
            if self._counter.count(text) <= self._overlap:
                high = middle
            else:
                low = middle + 1
        return [self._piece(last.part, spans[low][0], last.end)] if low < len(spans) else []
