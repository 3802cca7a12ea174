"""What goes into a search environment and what comes out of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class MeshHeading:
    """One MeSH indexing entry: a descriptor with its qualifiers.

    `major` marks the descriptor itself as a major topic; each qualifier carries its own flag.
    """

    descriptor: str
    ui: str = ""
    major: bool = False
    qualifiers: tuple[tuple[str, bool], ...] = ()

    @property
    def is_major(self) -> bool:
        """True when the descriptor or any of its qualifiers is a major topic."""
        return self.major or any(flag for _, flag in self.qualifiers)


@dataclass(frozen=True, slots=True)
class Record:
    """One bibliographic record. Empty string, empty tuple or None stand for "not given"."""

    id: str
    title: str = ""
    abstract: str = ""
    abstract_parts: tuple[tuple[str, str], ...] = ()  # (label, text), structured abstracts only
    authors: tuple[str, ...] = ()  # "Last Initials", collective names whole, in order
    journal: str = ""
    journal_abbreviation: str = ""
    published: date | None = None  # a missing month or day is 1
    published_precision: str = ""  # "year" | "month" | "day" | ""
    completed: date | None = None
    revised: date | None = None
    publication_types: tuple[str, ...] = ()
    mesh: tuple[MeshHeading, ...] = ()
    chemicals: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # ISO 639-2 codes, as PubMed gives them
    references: tuple[str, ...] = ()  # ids of cited records
    doi: str = ""
    full_authors: tuple[str, ...] = ()  # "Last, Forename", same order as `authors`
    affiliations: tuple[str, ...] = ()
    volume: str = ""
    issue: str = ""
    pages: str = ""
    issn: str = ""
    journal_id: str = ""  # NLM unique id
    country: str = ""
    status: str = ""  # "MEDLINE", "PubMed-not-MEDLINE", "In-Process", ...
    electronic: date | None = None  # [epdat]
    entered: date | None = None  # [edat]
    created: date | None = None  # [crdt]
    mesh_dated: date | None = None  # [mhda]
    other_ids: tuple[tuple[str, str], ...] = ()  # (type, id): pmc, pii, ...


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits of one query: `ids` are the first K in the engine's order, `total` counts all hits.

    A warning is `Kind: text` with the kind named as esearch names it (`PhraseNotFound`,
    `FieldNotFound`, `PhraseIgnored`, `QuotedPhraseNotFound`, `OutputMessage`). `mapped` lists what
    automatic mapping turned into what.
    """

    ids: tuple[str, ...]
    total: int
    warnings: tuple[str, ...] = ()
    translation: str = ""
    mapped: tuple[tuple[str, str], ...] = ()
    scores: tuple[float, ...] = ()  # of `ids`, where the order is by relevance


@dataclass(frozen=True, slots=True)
class QueryError:
    """The query cannot be run: the fault of whoever wrote it. `position` is a character offset."""

    message: str
    query: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class InfraFailure:
    """The environment failed (outage, time-out, dead worker): never the policy's fault."""

    message: str


SearchOutcome = SearchResult | QueryError | InfraFailure


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One query to run. `date_to` keeps records published on or before that day."""

    query: str
    k: int
    date_to: date | None = None
    order: str = "recent"  # "recent" (PubMed's own) | "relevance"
    fields: Sequence[str] | None = None  # searchable fields; None = all the index has
    syntax: str = "pubmed"  # "pubmed" | "ovid" | "essie" | "bag" (words, BM25) | ...
    today: date | None = None  # what "last 5 years" counts from; None = the current day
    history: tuple[str, ...] = ()  # earlier queries: `#1` is the first
    mapping: bool = True  # automatic term mapping of untagged words (PubMed)
