"""The kinds of corpora that indexes are built of: how each is read, and into which columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from actors.search.index import pubmed
from actors.search.index.schema import Batch, Schema
from actors.search.index.schema import batches as document_batches
from actors.search.types import Record
from pipelines.data.items import Item, corpus_files, one_each
from pipelines.data.pubmed_xml import Deletion, read_pubmed_xml
from pipelines.data.query_files import read_jsonl_records

VERSION = 1
"""Of all readers: parts of another version are made again."""

Deletions = dict[str, None]
"""Ids that an item takes out, filled while its batches are drawn."""


class Kind(Protocol):
    """One kind of corpus. Instances are small and travel to the machines that read."""

    @property
    def name(self) -> str:
        """`pubmed`, `trials` or `passages`."""

    @property
    def schema(self) -> Schema:
        """The columns of the index."""

    @property
    def searchable(self) -> tuple[str, ...]:
        """The fields that the manifest names."""

    def items(self, paths: Iterable[str | Path]) -> list[Item]:
        """What `paths` name, in the order in which later items override earlier ones."""

    def batches(self, item: Item, deletions: Deletions) -> Iterator[Batch]:
        """Read one item. Raises `CorpusError`."""


@dataclass(frozen=True, slots=True)
class PubMedKind:
    """PubMed XML (baseline and update files, efetch answers) and records as JSON lines."""

    fields: Sequence[str] = pubmed.FIELDS

    @property
    def name(self) -> str:
        """`pubmed`."""
        return "pubmed"

    @property
    def schema(self) -> Schema:
        """Columns of records, of the fields that are wanted."""
        return pubmed.schema(self.fields)

    @property
    def searchable(self) -> tuple[str, ...]:
        """The fields that are wanted."""
        return tuple(self.fields)

    def items(self, paths: Iterable[str | Path]) -> list[Item]:
        """Each file, XML in the order of names, then JSON lines."""
        files = corpus_files(paths, (".xml", ".xml.gz", ".jsonl", ".jsonl.gz"))
        return one_each(sorted(files, key=_is_lines))

    def batches(self, item: Item, deletions: Deletions) -> Iterator[Batch]:
        """Records in file order; one that comes back after its deletion stays."""
        return pubmed.batches(self._records(item.path, deletions), self.fields)

    def _records(self, path: Path, deletions: Deletions) -> Iterator[Record]:
        if _is_lines(path):
            yield from read_jsonl_records(path)
            return
        for found in read_pubmed_xml(path):
            if isinstance(found, Deletion):
                deletions[found.id] = None
            else:
                if deletions:
                    deletions.pop(found.id, None)
                yield found


def _is_lines(path: Path) -> bool:
    return path.name.endswith((".jsonl", ".jsonl.gz"))


@dataclass(frozen=True, slots=True)
class TrialsKind:
    """Studies of ClinicalTrials.gov."""

    @property
    def name(self) -> str:
        """`trials`."""
        return "trials"

    @property
    def schema(self) -> Schema:
        """Columns of studies."""
        from actors.search.trials.documents import SCHEMA

        return SCHEMA

    @property
    def searchable(self) -> tuple[str, ...]:
        """The text columns."""
        return self.schema.text

    def items(self, paths: Iterable[str | Path]) -> list[Item]:
        """See `trials_files`."""
        from pipelines.data.trials_files import trial_items

        return trial_items(paths)

    def batches(self, item: Item, deletions: Deletions) -> Iterator[Batch]:
        """Studies as documents."""
        from actors.search.trials.documents import to_document
        from pipelines.data.trials_files import read_studies

        return document_batches(map(to_document, read_studies(item)), self.schema)
