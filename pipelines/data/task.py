"""A task: a need with the ids of the records that answer it."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Pico:
    """The four fields of a clinical question; an empty field is left out of the prompt."""

    population: str = ""
    intervention: str = ""
    comparison: str = ""
    outcome: str = ""

    def items(self) -> tuple[tuple[str, str], ...]:
        """The non-empty fields as ("P", text) pairs, in PICO order."""
        pairs = (
            ("P", self.population),
            ("I", self.intervention),
            ("C", self.comparison),
            ("O", self.outcome),
        )
        return tuple((letter, text) for letter, text in pairs if text)


@dataclass(frozen=True, slots=True)
class Task:
    """A need (PICO fields, or free text) and the records that answer it."""

    id: str
    need: Pico | str
    relevant: frozenset[str]
    date_to: date | None = None
    corpus: str = ""
    human_query: str = ""  # the query an expert wrote, where the data has one
    topics: frozenset[str] = frozenset()  # what splits keep apart (MeSH headings)
