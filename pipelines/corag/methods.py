"""All ways to choose chunks, by name: what each makes of a question's candidates.

    plan = make_plan("corag", candidates, budget=1024, context=MethodContext(configuration))

Every method gets the same candidates; `upper` sees only the first few of them, and `raptor` also
the summaries of its tree.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pipelines.corag.baselines import Position, document_order_search, mmr_search, naive_search
from pipelines.corag.exhaustive import exhaustive_search
from pipelines.corag.greedy import greedy_search
from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import Configuration, Search, TreeSettings
from pipelines.data.chunks import Candidates, Chunk

MMR_WEIGHT = 0.5


class Agent(Protocol):
    """What sets reranker and tree search for each question."""

    def configure(self, query_vectors: np.ndarray) -> list[Configuration]:
        """One configuration for each of the query vectors (n, dimension)."""
        ...


@dataclass(frozen=True, slots=True)
class MethodContext:
    """What methods need besides candidates and budget.

    `configuration` is the fixed one; `agent` is needed by `corag-agent`, `raptor` (a function from
    a question's candidates and a budget to chunks in order) by the method of that name.
    """

    configuration: Configuration
    seed: int = 0
    mmr_weight: float = MMR_WEIGHT
    longest: int = 5
    upper_candidates: int = 8
    agent: Agent | None = None
    raptor: Callable[[Candidates], "RaptorPool"] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RaptorPool:
    """Chunks and summaries for one question, best first, and the search over them by budget."""

    chunks: tuple[Chunk, ...]
    search: Callable[[int], Search]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How a method goes about one question: a search over `chunks`, scored by `reranker`.

    `settings` are those of the tree search, None for methods without one.
    """

    chunks: tuple[Chunk, ...]
    reranker: str
    search: Search
    settings: TreeSettings | None = None


Maker = Callable[[Candidates, int, MethodContext], Plan]


@dataclass(frozen=True, slots=True)
class Method:
    """A way to choose chunks."""

    name: str
    summary: str
    make: Maker


class MethodError(ValueError):
    """A method that cannot be used as asked; the message says what it lacks."""


def _costs(chunks: Sequence[Chunk]) -> list[int]:
    return [chunk.tokens for chunk in chunks]


def _corag(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    return _tree(candidates, budget, context.configuration, context.seed)


def _corag_agent(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    need_agent(context.agent)
    assert context.agent is not None
    (chosen,) = context.agent.configure(candidates.query_vector[None])
    # How many leaves are expanded at once, and what the pick compares, is not the agent's to say.
    fixed = context.configuration.settings
    settings = replace(chosen.settings, wave=fixed.wave, pick=fixed.pick)
    return _tree(candidates, budget, Configuration(chosen.reranker, settings), context.seed)


def _tree(candidates: Candidates, budget: int, chosen: Configuration, seed: int) -> Plan:
    search = tree_search(_costs(candidates.chunks), budget, chosen.settings, seed)
    return Plan(candidates.chunks, chosen.reranker, search, chosen.settings)


def _upper(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    seen = candidates.chunks[: context.upper_candidates]
    return _plain(seen, context, exhaustive_search(_costs(seen), budget, context.longest))


def _naive(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    chunks = candidates.chunks
    return _plain(chunks, context, naive_search(_costs(chunks), budget))


def _greedy(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    chunks = candidates.chunks
    return _plain(chunks, context, greedy_search(_costs(chunks), budget))


def _document_order(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    chunks = candidates.chunks
    positions = [position(chunk) for chunk in chunks]
    return _plain(chunks, context, document_order_search(_costs(chunks), budget, positions))


def _mmr(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    chunks = candidates.chunks
    search = mmr_search(
        _costs(chunks), budget, candidates.similarities, candidates.vectors, context.mmr_weight
    )
    return _plain(chunks, context, search)


def _raptor(candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    if context.raptor is None:
        raise MethodError("raptor: its tree of summaries has not been built for these chunks")
    pool = context.raptor(candidates)
    return _plain(pool.chunks, context, pool.search(budget))


def _plain(chunks: Sequence[Chunk], context: MethodContext, search: Search) -> Plan:
    return Plan(tuple(chunks), context.configuration.reranker, search)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("corag", "policy tree search with fixed settings", _corag),
        Method(
            "corag-agent", "policy tree search set by the agent for each question", _corag_agent
        ),
        Method("upper", "every order of a few of the first candidates", _upper),
        Method("naive", "rerank one by one, fill the budget", _naive),
        Method("raptor", "chunks and summaries of clusters, by similarity", _raptor),
        Method(
            "document-order", "what naive takes, in the order of its documents", _document_order
        ),
        Method("mmr", "maximal marginal relevance, no reranker", _mmr),
        Method("greedy", "append what raises the reward most", _greedy),
    )
}
"""By name, in the order of tables."""


def make_plan(name: str, candidates: Candidates, budget: int, context: MethodContext) -> Plan:
    """How the method goes about the candidates. Raises `MethodError` for a name that there is not
    or what the method lacks."""
    return find_method(name).make(candidates, budget, context)


def find_method(name: str) -> Method:
    """The method of that name. Raises `MethodError` that lists the names."""
    if name not in METHODS:
        raise MethodError(f"no method {name!r}; there is: {', '.join(METHODS)}")
    return METHODS[name]


def need_agent(agent: object) -> None:
    """Raises `MethodError` where there is none."""
    if not agent:
        raise MethodError(
            "corag-agent: there is no agent; train one (seekray corag train-agent) and name its "
            "folder (agent.path=DIR or --agent DIR)"
        )


def position(chunk: Chunk) -> Position:
    """A chunk's document and its place there, which its id ends with (`DOC#3`)."""
    place = chunk.id.rpartition("#")[2]
    return chunk.document, int(place) if place.isdecimal() else 0


def describe(settings: TreeSettings | None) -> dict[str, Any]:
    """Settings as a report writes them."""
    if settings is None:
        return {}
    return {"iterations": settings.iterations, "c": settings.c, "cost_weight": settings.cost_weight}
