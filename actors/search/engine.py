"""The engine of the PubMed and Ovid languages: parse, plan, combine bitmaps, order.

A plan is made once, from a vocabulary over all shards, and runs on each: `plan` and `run` are the
two halves of `search`. Bitmaps number records from the latest on, so the total is a count and the
first K hits by date are the K lowest numbers. No query result is cached.
"""

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from operator import itemgetter
from threading import Lock
from typing import Any, Protocol

import numpy as np
from pyroaring import BitMap

from actors.search.lookup import Atom, Lookup, Statistics, Vocabulary
from actors.search.mesh import Mesh
from actors.search.pubmed.fields import ALL, owner
from actors.search.pubmed.parser import parse as parse_pubmed
from actors.search.pubmed.plan import Plan, evaluate, ranking_atoms
from actors.search.pubmed.translation import MAX_EXPANSIONS, Translator
from actors.search.pubmed.tree import Tree
from actors.search.text import words
from actors.search.types import QueryError, SearchOutcome, SearchRequest, SearchResult

MAX_QUERY_CHARACTERS = 200_000
SYNTAXES = ("pubmed", "ovid")
ORDERS = ("recent", "relevance")
_KEPT_TRANSLATORS = 32
_KEPT_TREES = 64  # earlier queries of histories


class Index(Lookup, Protocol):
    """What the engine asks of an index besides the seam."""

    @property
    def ids(self) -> Any:
        """The ids by ordinal: `ids[array]` is a list of those of an array of ordinals."""

    def keys(self, ordinals: Iterable[int]) -> list[tuple[Any, ...]]:
        """What shards are merged by, in descending order: (order day, key of the id)."""

    def fetch(self, ids: Iterable[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id. KeyError names an id that the index lacks."""


class Corpus(Vocabulary, Protocol):
    """What a plan is made from: the vocabulary of all shards together, and its counts."""

    def statistics(self) -> Statistics:
        """Of all shards."""

    def frequencies(self, atom: Atom) -> tuple[int, ...]:
        """Number of records that hold `atom` in each of its stores, over all shards."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A planned request. `ranking` holds the atoms to score by and their frequencies."""

    query: Plan
    k: int
    date_to: date | None = None
    ranking: tuple[tuple[Atom, tuple[int, ...]], ...] | None = None  # None: order by date
    statistics: Statistics | None = None


@dataclass(frozen=True, slots=True)
class Partial:
    """What one shard holds of a plan: its first K hits, best first, and how many it has in all.

    `keys` order hits across shards, descending; `scores` are empty where the order is by date.
    """

    ids: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    total: int
    scores: tuple[float, ...] = ()


@dataclass(slots=True)
class Planner:
    """Requests to plans, from a vocabulary. Translators are kept, one for each choice of fields."""

    corpus: Corpus
    mesh: Mesh | None = None
    _translators: "OrderedDict[tuple[object, ...], Translator]" = field(
        default_factory=OrderedDict, repr=False
    )
    _trees: "OrderedDict[tuple[str, str], Tree | QueryError]" = field(
        default_factory=OrderedDict, repr=False
    )
    _lock: Lock = field(default_factory=Lock, repr=False)

    def plan(self, request: SearchRequest) -> QueryPlan | QueryError:
        """The plan of one query. ValueError means that the request, not the query, is wrong."""
        self._check(request)
        query = request.query
        if len(query) > MAX_QUERY_CHARACTERS:
            return QueryError(
                f"the query has {len(query)} characters, at most {MAX_QUERY_CHARACTERS} are read",
                query,
                MAX_QUERY_CHARACTERS,
            )
        tree = parse(query, request.syntax)
        if isinstance(tree, QueryError):
            return tree
        history = [self._earlier(text, request.syntax) for text in request.history]
        today = request.today or date.today()
        plan = self._translator(request).plan(tree, query, today, history)
        if isinstance(plan, QueryError):
            return plan
        if request.order == "recent":
            return QueryPlan(plan, request.k, request.date_to)
        atoms = ranking_atoms(plan.steps)
        ranking = tuple((atom, self.corpus.frequencies(atom)) for atom in atoms)
        return QueryPlan(plan, request.k, request.date_to, ranking, self.corpus.statistics())

    def _check(self, request: SearchRequest) -> None:
        if request.order not in ORDERS:
            raise ValueError(f"order {request.order!r} is neither 'recent' nor 'relevance'")
        if request.syntax not in SYNTAXES:
            raise ValueError(f"syntax {request.syntax!r} is neither 'pubmed' nor 'ovid'")
        if request.k < 0:
            raise ValueError(f"k is {request.k}, below 0")
        if request.fields is None:
            return
        known = [s for s in ALL.stores if s in self.corpus.stores] + sorted(self.corpus.stores)
        there = dict.fromkeys(owner(s) for s in known if s != "id")
        missing = [name for name in request.fields if name not in there]
        if missing:
            raise ValueError(f"fields {missing} are not in the index, which has {', '.join(there)}")

    def _translator(self, request: SearchRequest) -> Translator:
        fields = None if request.fields is None else tuple(sorted(request.fields))
        ovid = request.syntax == "ovid"
        mapping = request.mapping and not ovid
        key = (fields, mapping, ovid)
        with self._lock:
            found = self._translators.get(key)
            if found is None:
                most = None if ovid else MAX_EXPANSIONS
                found = Translator(self.corpus, self.mesh, fields, mapping, most)
                self._translators[key] = found
                if len(self._translators) > _KEPT_TRANSLATORS:
                    self._translators.popitem(last=False)
            return found

    def _earlier(self, text: str, syntax: str) -> Tree | QueryError:
        key = (text, syntax)
        with self._lock:
            if key in self._trees:
                return self._trees[key]
        tree = parse(text, syntax)
        with self._lock:
            self._trees[key] = tree
            if len(self._trees) > _KEPT_TREES:
                self._trees.popitem(last=False)
        return tree


class PubMedEngine:
    """Runs queries over one index. `mesh` adds entry terms and explosion."""

    def __init__(self, index: Index, mesh: Mesh | None = None) -> None:
        self.index = index
        self._planner = Planner(index, mesh)

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError means that the request, not the query, is wrong."""
        plan = self.plan(request)
        if isinstance(plan, QueryError):
            return plan
        ordinals, total, scores = _run(plan, self.index)
        return _result(plan, self.index.ids[ordinals], total, scores.tolist())

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""
        return [self.search(request) for request in requests]

    def plan(self, request: SearchRequest) -> QueryPlan | QueryError:
        """The plan of one query, from this index's own vocabulary."""
        return self._planner.plan(request)

    def run(self, plan: QueryPlan) -> Partial:
        """What this index holds of a plan, made here or for all shards together."""
        ordinals, total, scores = _run(plan, self.index)
        keys: list[tuple[Any, ...]] = self.index.keys(ordinals.tolist())
        if plan.ranking is not None:
            keys = [(score, *key) for score, key in zip(scores.tolist(), keys, strict=True)]
        return Partial(tuple(self.index.ids[ordinals]), tuple(keys), total, tuple(scores.tolist()))

    def document_frequency(self, word: str) -> int:
        """Number of records with `word` (or that phrase) in any searchable text field."""
        found = tuple(words(word))
        stores = tuple(name for name in ALL.stores if name in self.index.stores)
        return self.index.count(Atom(stores, found)) if found else 0

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id. KeyError names an id that the index lacks."""
        return self.index.fetch(ids)


def parse(query: str, syntax: str) -> Tree | QueryError:
    """The tree of `query` in `syntax`."""
    if syntax == "ovid":
        from actors.search.ovid.parser import parse as parse_ovid

        return parse_ovid(query)
    return parse_pubmed(query)


def merge(plan: QueryPlan, partials: Sequence[Partial]) -> SearchResult:
    """The outcome of one plan that ran on every shard of a corpus: as one index would give it."""
    rows = [
        zip(part.keys, part.ids, part.scores or (0.0,) * len(part.ids), strict=True)
        for part in partials
    ]
    best = list(islice(heapq.merge(*rows, key=itemgetter(0), reverse=True), plan.k))
    scores = [score for _, _, score in best] if plan.ranking is not None else []
    return _result(plan, [id_ for _, id_, _ in best], sum(p.total for p in partials), scores)


def _result(
    plan: QueryPlan, ids: Iterable[str], total: int, scores: Iterable[float]
) -> SearchResult:
    query = plan.query
    return SearchResult(
        tuple(ids), total, query.warnings, query.translation, query.mapped, tuple(scores)
    )


def _run(plan: QueryPlan, lookup: Lookup) -> tuple[np.ndarray, int, np.ndarray]:
    """Ordinals of the first K hits, how many there are in all, scores if the order is by them."""
    found = evaluate(plan.query, lookup)
    if plan.date_to is not None and found:
        found = found & lookup.dated("published", date.min, plan.date_to)
    total = len(found)
    if plan.ranking is None:
        first = np.fromiter(islice(found, plan.k), dtype=np.int64)
        return first, total, np.empty(0, np.float32)
    assert plan.statistics is not None
    first, scores = _most_relevant(found, plan.ranking, plan.statistics, plan.k, lookup)
    return first, total, scores


def _most_relevant(
    found: BitMap,
    ranking: Sequence[tuple[Atom, tuple[int, ...]]],
    statistics: Statistics,
    k: int,
    lookup: Lookup,
) -> tuple[np.ndarray, np.ndarray]:
    """The best `k` by BM25 summed over the atoms that a record holds; ties latest first."""
    if not found or not k:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    totals = np.zeros(lookup.size, dtype=np.float32)
    for atom, frequencies in ranking:
        ordinals, scores = lookup.scores(atom, frequencies, statistics)
        np.add.at(totals, ordinals, scores)
    hits = np.asarray(found.to_array(), dtype=np.int64)
    scores = totals[hits]
    if k < len(hits):
        kth = np.partition(scores, len(scores) - k)[len(scores) - k]
        hits, scores = hits[scores >= kth], scores[scores >= kth]
    order = np.argsort(-scores, kind="stable")[:k]
    return hits[order], scores[order]
