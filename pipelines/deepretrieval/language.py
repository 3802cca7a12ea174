"""What the rewriter must know of a search engine: its name, and what its queries may hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """`name` and `documents` are the prompt's words; `boolean` allows AND, OR and parentheses,
    `truncation` allows `word*`."""

    name: str
    documents: str
    syntax: str = "pubmed"  # what a search request calls it
    boolean: bool = True
    truncation: bool = False


LANGUAGES = {
    "pubmed": Language("PubMed", "publications", truncation=True),
    "trials": Language("ClinicalTrials.gov", "trials", "essie"),
    "bm25": Language("keyword search", "documents", "bag", boolean=False),
    "dense": Language("semantic search", "documents", "bag", boolean=False),
    "hybrid": Language("semantic and keyword search", "documents", "bag", boolean=False),
}
"""By the name that `search.engine` gives."""
PUBMED = LANGUAGES["pubmed"]
