"""RAPTOR: a tree of summaries over chunks, retrieved from with its levels side by side.

Chunks are clustered by their vectors, each cluster is summarised by the language model, summaries
are embedded and clustered again, until one node is left. Retrieval is the paper's collapsed tree:
chunks and summaries in one list, nearest to the query first, until the budget is filled.
Source: Sarthi et al., arXiv 2401.18059. What differs: PCA (see `soft_clusters`); a cluster of one
is not summarised but goes up as it is; summaries are capped in number and counted; a node that
does not fit the budget is passed over, where the paper's stops. Pure, no Ray.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pipelines.corag.budget import check_costs, filled, scored_once
from pipelines.corag.soft_clusters import DIMENSIONS, MOST_CLUSTERS, THRESHOLD, soft_clusters
from pipelines.corag.types import Search
from pipelines.data.chunks import Candidates, Chunk

Group = tuple[str, ...]
"""Texts of one cluster."""
Summarise = Callable[[Sequence[Group]], Sequence[str]]
"""A summary for each group; equal groups may be given at once or again."""
Embed = Callable[[Sequence[str]], np.ndarray]
"""Unit vectors (texts, dimension), by the model that embedded the chunks."""
Count = Callable[[str], int]
"""Tokens of a text in the generator's tokenizer."""
DOCUMENT = "raptor"
"""`Chunk.document` of summaries."""


@dataclass(frozen=True, slots=True)
class RaptorSettings:
    """How a tree is built. `most_summaries` None: one for every two chunks at most."""

    dimensions: int = DIMENSIONS
    threshold: float = THRESHOLD
    most_clusters: int = MOST_CLUSTERS
    group_tokens: int = 2048
    """The most tokens that are summarised at once; larger clusters are split."""
    levels: int = 5
    most_summaries: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"dimensions": 1, "most_clusters": 1, "group_tokens": 1, "levels": 0}
        faults = [
            f"{name} is {value}, must be at least {low}"
            for name, low in least.items()
            if (value := getattr(self, name)) < low
        ]
        if not 0 <= self.threshold < 1:
            faults.append(f"threshold is {self.threshold}, must be from 0 to below 1")
        if self.most_summaries is not None and self.most_summaries < 0:
            faults.append(f"most_summaries is {self.most_summaries}, must be at least 0")
        if faults:
            raise ValueError("RAPTOR: " + "; ".join(faults))


@dataclass(frozen=True, slots=True)
class RaptorNode:
    """A chunk (level 0) or a summary. `children` are positions in the tree's `nodes`; `leaves` are
    ids of the chunks below it, its own for a chunk."""

    chunk: Chunk
    level: int
    children: tuple[int, ...] = ()
    leaves: frozenset[str] = frozenset()


@dataclass(slots=True)
class RaptorCost:
    """What a tree's summaries took. `skipped` clusters were over the cap, `empty` ones got no
    text from the model; tokens are the generator's, instructions left out."""

    summaries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    skipped: int = 0
    empty: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RaptorTree:
    """Chunks first, in their order, then summaries level by level; `vectors` (nodes, dimension)."""

    nodes: tuple[RaptorNode, ...]
    vectors: np.ndarray
    cost: RaptorCost = field(default_factory=RaptorCost)

    @property
    def summaries(self) -> tuple[RaptorNode, ...]:
        """Nodes above the chunks."""
        return tuple(node for node in self.nodes if node.level)


Growth = Generator[Sequence[Group], Sequence[tuple[str, np.ndarray]], RaptorTree]


def build_raptor(
    chunks: Sequence[Chunk],
    vectors: np.ndarray,
    summarise: Summarise,
    embed: Embed,
    count: Count,
    settings: RaptorSettings | None = None,
) -> RaptorTree:
    """The tree over `chunks` with unit `vectors` (chunks, dimension). See `build_raptors`."""
    (tree,) = build_raptors([(chunks, vectors)], summarise, embed, count, settings)
    return tree


def build_raptors(
    pools: Sequence[tuple[Sequence[Chunk], np.ndarray]],
    summarise: Summarise,
    embed: Embed,
    count: Count,
    settings: RaptorSettings | None = None,
) -> list[RaptorTree]:
    """One tree for each pool, level by level together: what is to be summarised on a level is asked
    for all pools at once, so that the engine's batches fill.

    Raises `ValueError` for vectors that do not match their chunks or an answer of another length.
    """
    chosen = settings or RaptorSettings()
    growing = {i: _grow(chunks, own, count, chosen) for i, (chunks, own) in enumerate(pools)}
    trees: dict[int, RaptorTree] = {}
    wanted: dict[int, Sequence[Group]] = {}
    answers: dict[int, list[tuple[str, np.ndarray]]] = {}
    while growing:
        for i, growth in list(growing.items()):
            try:
                wanted[i] = growth.send(answers[i]) if i in answers else next(growth)
            except StopIteration as end:
                trees[i] = end.value
                del growing[i]
                wanted.pop(i, None)
        groups = [group for i in growing for group in wanted[i]]
        if not groups:
            continue
        texts = [" ".join(text.split()) for text in summarise(groups)]
        made = embed(texts)
        if not len(texts) == len(made) == len(groups):
            raise ValueError(
                f"RAPTOR: {len(groups)} groups got {len(texts)} summaries and {len(made)} vectors"
            )
        rows = iter(zip(texts, made, strict=True))
        answers = {i: [next(rows) for _ in wanted[i]] for i in growing}
    return [trees[i] for i in range(len(pools))]


def _grow(
    chunks: Sequence[Chunk], vectors: np.ndarray, count: Count, settings: RaptorSettings
) -> Growth:
    """Yields each level's groups, is sent their summaries with vectors, returns the tree."""
    if vectors.ndim != 2 or len(vectors) != len(chunks):
        raise ValueError(f"RAPTOR: vectors {vectors.shape} for {len(chunks)} chunks")
    nodes = [RaptorNode(chunk, 0, (), frozenset({chunk.id})) for chunk in chunks]
    rows = list(vectors)
    cost = RaptorCost()
    cap = len(chunks) // 2 if settings.most_summaries is None else settings.most_summaries
    current = list(range(len(nodes)))
    for level in range(1, settings.levels + 1):
        groups = _groups(nodes, rows, current, settings)
        together = [group for group in groups if len(group) > 1]
        # Under the cap the largest clusters go first: they say most in one text.
        together.sort(key=lambda group: (-len(group), group))
        left = cap - cost.summaries
        cost.skipped += max(0, len(together) - left)
        together = together[: max(0, left)]
        if not together:
            break
        answers = yield [tuple(nodes[i].chunk.text for i in group) for group in together]
        above = sorted({i for group in groups if len(group) == 1 for i in group})
        for group, (text, vector) in zip(together, answers, strict=True):
            cost.summaries += 1
            cost.input_tokens += sum(nodes[i].chunk.tokens for i in group)
            tokens = count(text)
            if not tokens:
                cost.empty += 1
                continue
            cost.output_tokens += tokens
            leaves = frozenset().union(*(nodes[i].leaves for i in group))
            name = f"{DOCUMENT}-{level}-{len(nodes)}"
            above.append(len(nodes))
            nodes.append(
                RaptorNode(Chunk(name, text, tokens, DOCUMENT), level, tuple(group), leaves)
            )
            rows.append(vector)
        if len(above) >= len(current):
            break
        current = above
    return RaptorTree(tuple(nodes), np.asarray(rows).reshape(len(nodes), vectors.shape[1]), cost)


def _groups(
    nodes: Sequence[RaptorNode],
    rows: Sequence[np.ndarray],
    current: Sequence[int],
    settings: RaptorSettings,
) -> list[list[int]]:
    """Clusters of the current level's nodes, each within `group_tokens` unless it is one node."""
    if len(current) < 2:
        return []
    done: list[list[int]] = []
    waiting = [list(current)]
    first = True
    while waiting:
        members = waiting.pop()
        if not first and _tokens(nodes, members) <= settings.group_tokens:
            done.append(members)
            continue
        clusters = soft_clusters(
            np.stack([rows[i] for i in members]),
            dimensions=settings.dimensions,
            threshold=settings.threshold,
            most=settings.most_clusters,
            seed=settings.seed,
        )
        parts = [[members[i] for i in cluster] for cluster in clusters]
        if any(len(part) == len(members) for part in parts):
            done += _packed(nodes, rows, members, settings.group_tokens)
        else:
            waiting += parts
        first = False
    return [list(group) for group in dict.fromkeys(map(tuple, done))]


def _packed(
    nodes: Sequence[RaptorNode], rows: Sequence[np.ndarray], members: Sequence[int], limit: int
) -> list[list[int]]:
    """A cluster that no mixture splits, in runs of at most `limit` tokens: each begins with the
    first node left and takes in those nearest to it."""
    left = list(members)
    runs = []
    while left:
        seed = left[0]
        nearest = sorted(left[1:], key=lambda i: (-float(rows[i] @ rows[seed]), i))
        run, used = [seed], nodes[seed].chunk.tokens
        for i in nearest:
            if used + nodes[i].chunk.tokens > limit:
                break
            run.append(i)
            used += nodes[i].chunk.tokens
        runs.append(sorted(run))
        left = [i for i in left if i not in set(run)]
    return runs


def _tokens(nodes: Sequence[RaptorNode], members: Sequence[int]) -> int:
    return sum(nodes[i].chunk.tokens for i in members)


def raptor_candidates(tree: RaptorTree, candidates: Candidates) -> Candidates:
    """The query's candidates and all summaries of `tree`, nearest to the query first.

    The tree may be one over these candidates or over the whole corpus.
    """
    above = [i for i, node in enumerate(tree.nodes) if node.level]
    chunks = [*candidates.chunks, *(tree.nodes[i].chunk for i in above)]
    vectors = np.concatenate([candidates.vectors, tree.vectors[above]])
    similarities = np.concatenate(
        [candidates.similarities, tree.vectors[above] @ candidates.query_vector]
    ).astype(np.float32)
    order = np.argsort(-similarities, kind="stable")
    return replace(
        candidates,
        chunks=tuple(chunks[i] for i in order),
        similarities=similarities[order],
        vectors=vectors[order],
    )


def raptor_search(costs: Sequence[int], budget: int) -> Search:
    """Fills the budget from the front of the list (nearest first), passing over what does not fit;
    scores the order once. As in the paper a chunk may stand beside a summary of it: the summary
    holds other chunks, too, and drops detail.

    Raises:
        ValueError: a cost below 1 or a budget below 0.
    """
    checked, limit = check_costs(costs, budget)
    order = filled(checked, limit, range(len(checked)))
    return (yield from scored_once(checked, order))
