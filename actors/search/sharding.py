"""Planning a query over shards that answer from afar, a few round trips for a whole batch.

A plan asks its vocabulary one thing after another. Here the first round guesses what is not known
yet and collects the questions; all shards answer them together, and planning starts anew with what
is known, until nothing is guessed any more: two to four rounds, however many terms and queries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from actors.search.corpus import first_words, sums
from actors.search.engine import Planner, QueryPlan
from actors.search.lookup import Atom, Lookup, Statistics
from actors.search.mesh import Mesh
from actors.search.types import QueryError, SearchRequest

MAX_FACTS = 200_000
"""Facts, and words of variations, that are kept from batch to batch; above it all is asked anew."""
MAX_ROUNDS = 50

Variation = tuple[tuple[str, ...], str, int]  # stores, prefix, limit


class Questions(NamedTuple):
    """What planning wants to know of a corpus."""

    counts: tuple[Atom, ...] = ()
    variations: tuple[Variation, ...] = ()
    frequencies: tuple[Atom, ...] = ()


class Facts(NamedTuple):
    """The answers, in the order of the questions."""

    counts: tuple[int, ...] = ()
    variations: tuple[tuple[str, ...], ...] = ()
    frequencies: tuple[tuple[int, ...], ...] = ()


def answer(questions: Questions, lookup: Lookup) -> Facts:
    """What one shard knows."""
    return Facts(
        tuple(lookup.count(atom) for atom in questions.counts),
        tuple(tuple(lookup.variations(*asked)) for asked in questions.variations),
        tuple(tuple(lookup.frequencies(atom)) for atom in questions.frequencies),
    )


def combine(questions: Questions, answers: Sequence[Facts]) -> Facts:
    """What all shards know together: counts are summed, variations merged."""
    limits = [limit for _, _, limit in questions.variations]
    words = zip(*(facts.variations for facts in answers), strict=True)
    frequencies = zip(*(facts.frequencies for facts in answers), strict=True)
    return Facts(
        sums(facts.counts for facts in answers),
        tuple(tuple(first_words(*asked)) for asked in zip(words, limits, strict=True)),
        tuple(map(sums, frequencies)),
    )


@dataclass(slots=True)
class GatheredCorpus:
    """A `Corpus` of known facts. What is not known is guessed and noted in `open_questions`."""

    stores: frozenset[str]
    totals: Statistics
    _counts: dict[Atom, int] = field(default_factory=dict)
    _variations: dict[Variation, list[str]] = field(default_factory=dict)
    _frequencies: dict[Atom, tuple[int, ...]] = field(default_factory=dict)
    _held: int = 0  # entries and words, as `MAX_FACTS` counts
    _open: tuple[dict[Atom, None], dict[Variation, None], dict[Atom, None]] = field(
        default_factory=lambda: ({}, {}, {})
    )

    def count(self, atom: Atom) -> int:
        """Number of records that hold `atom`; guessed to be there."""
        known = self._counts.get(atom)
        if known is None:
            self._open[0][atom] = None
            return 1
        return known

    def variations(self, stores: Sequence[str], prefix: str, limit: int) -> list[str]:
        """The first `limit` words or values that start with `prefix`; guessed to be none."""
        asked = (tuple(stores), prefix, limit)
        known = self._variations.get(asked)
        if known is None:
            self._open[1][asked] = None
            return []
        return known

    def frequencies(self, atom: Atom) -> tuple[int, ...]:
        """Number of records that hold `atom` in each of its stores."""
        known = self._frequencies.get(atom)
        if known is None:
            self._open[2][atom] = None
            return (1,) * len(atom.stores)
        return known

    def statistics(self) -> Statistics:
        """Of all shards."""
        return self.totals

    def open_questions(self) -> Questions | None:
        """What was guessed since the last `learn`; None when nothing was."""
        if not any(self._open):
            return None
        counts, variations, frequencies = self._open
        return Questions(tuple(counts), tuple(variations), tuple(frequencies))

    def learn(self, questions: Questions, facts: Facts) -> None:
        """Take in the answers of all shards."""
        self._held += sum(map(len, questions)) + sum(map(len, facts.variations))
        self._counts.update(zip(questions.counts, facts.counts, strict=True))
        self._variations.update(
            (asked, list(words))
            for asked, words in zip(questions.variations, facts.variations, strict=True)
        )
        self._frequencies.update(zip(questions.frequencies, facts.frequencies, strict=True))
        self.drop_questions()

    def drop_questions(self) -> None:
        """Ask nothing of what was guessed so far."""
        for asked in self._open:
            asked.clear()

    def forget_if_full(self) -> bool:
        """Start empty where more than `MAX_FACTS` are held."""
        if self._held <= MAX_FACTS:
            return False
        for facts in (self._counts, self._variations, self._frequencies):
            facts.clear()
        self._held = 0
        return True


class ShardPlanner:
    """Plans batches for all shards. `ask` brings the combined answers of all of them."""

    def __init__(
        self, corpus: GatheredCorpus, ask: Callable[[Questions], Facts], mesh: Mesh | None = None
    ) -> None:
        self._corpus, self._ask, self._mesh = corpus, ask, mesh
        self._planner = Planner(corpus, mesh)

    def plan(self, requests: Sequence[SearchRequest]) -> list[QueryPlan | QueryError]:
        """The plans of `requests`, in their order. Errors of `ask` are the caller's.

        Questions that a failed batch left open are not asked again for this one.
        """
        self._corpus.drop_questions()
        if self._corpus.forget_if_full():
            self._planner = Planner(self._corpus, self._mesh)
        for _ in range(MAX_ROUNDS):
            plans = [self._planner.plan(request) for request in requests]
            questions = self._corpus.open_questions()
            if questions is None:
                return plans
            self._corpus.learn(questions, self._ask(questions))
            # A planner keeps what it read from guesses.
            self._planner = Planner(self._corpus, self._mesh)
        raise RuntimeError(f"planning asked new questions for {MAX_ROUNDS} rounds")
