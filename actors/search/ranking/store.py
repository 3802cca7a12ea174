"""The lexical index of passages: the words that BM25 reads, and the passages themselves."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from actors.search.index import Document, Schema, build_documents, open_index
from actors.search.lookup import Atom
from actors.search.ranking.analysis import Analysis
from actors.search.ranking.passages import Passage, contents

CONTENTS = "contents"
"""The text column: a passage's title and text as analysed words."""

SCHEMA = Schema(name="passages", order="day", text=(CONTENTS,), days=("day",))


class PassageStore:
    """An opened lexical index. Words go in and come out by `analysis`."""

    def __init__(self, folder: Path, analysis: Analysis) -> None:
        self.analysis = analysis
        self.lookup = open_index(folder)
        self.content_hash = self.lookup.manifest.content_hash

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, text) of each id. KeyError names an id that the index lacks."""
        found = (json.loads(self.lookup.stored(id)) for id in ids)
        return [(title, text) for title, text in found]

    def passages(self, most: int | None = None) -> Iterator[tuple[str, str]]:
        """(title, text) of all passages, or of the first `most`, in the index's order."""
        ids = self.lookup.ids
        for at in range(len(ids) if most is None else min(most, len(ids))):
            yield self.fetch([ids[at]])[0]

    def document_frequency(self, word: str) -> int:
        """Number of passages that hold all words of `word` side by side, as analysed."""
        found = tuple(self.analysis.words(word))
        return self.lookup.count(Atom((CONTENTS,), found)) if found else 0


def write_store(
    passages: Iterable[Passage], folder: Path, analysis: Analysis, corpus: str
) -> PassageStore:
    """Write the lexical index of `passages` to `folder`, whole or not at all, and open it."""
    build_documents(_documents(passages, analysis), folder, SCHEMA, corpus)
    return PassageStore(folder, analysis)


def _documents(passages: Iterable[Passage], analysis: Analysis) -> Iterator[Document]:
    for passage in passages:
        words = " ".join(analysis.words(contents(passage)))
        stored = json.dumps([passage.title, passage.text]).encode()
        yield Document(passage.id, text={CONTENTS: (words,)}, stored=stored)
