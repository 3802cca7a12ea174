"""Runs a request over an index: the studies that it finds, in its order."""

from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap

from actors.search.index.postings import numbers_of
from actors.search.trials.essie import EssieError
from actors.search.trials.evaluation import Evaluator, Found
from actors.search.trials.request import (
    RELEVANCE,
    ApiError,
    Query,
    StudiesRequest,
    label_of,
    query_error,
)

UPDATED = "LastUpdatePostDate"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Ordinals of the studies found, in order (uint32), and their relevance (float32)."""

    ordinals: np.ndarray
    scores: np.ndarray


def _run(evaluator: Evaluator, query: Query) -> Found:
    try:
        return evaluator.run(query.expression, query.area)
    except EssieError as error:
        raise query_error(label_of(query.parameter), error) from error


def matching(evaluator: Evaluator, request: StudiesRequest) -> tuple[BitMap, list[Found]]:
    """The studies of `request`, and what its queries found. Raises ApiError."""
    index = evaluator.index
    bits = BitMap(index.all_studies)
    queried = [_run(evaluator, query) for query in request.queries]
    for found in queried:
        bits &= found.bits
    if request.only is not None:
        bits &= _numbered(evaluator, request.only)
        return bits, queried
    for query in request.filters:
        bits &= _run(evaluator, query).bits
    for near in request.near:
        try:
            sites = evaluator.sources.within(near.latitude, near.longitude, near.radius_km)
        except EssieError as error:
            raise ApiError(error.message) from error
        bits &= index.parents_of(sites)
    for ids in request.ids:
        bits &= _numbered(evaluator, ids)
    for pairs in request.synonyms:
        some = BitMap()
        for area, number in pairs:
            if number < len(evaluator.synonyms.names):
                matcher = evaluator.matchers["Study"]
                some |= matcher.concept(evaluator.area(area), evaluator.synonyms.names[number])
        bits &= some
    return bits, queried


def _numbered(evaluator: Evaluator, ids: frozenset[str]) -> BitMap:
    found = (evaluator.index.ordinal(id_) for id_ in ids)
    return BitMap([ordinal for ordinal in found if ordinal is not None])


def ranked(evaluator: Evaluator, request: StudiesRequest, k: int | None = None) -> Ranked:
    """The first `k` (None: all) studies of `request`, in its order. Raises ApiError.

    By relevance where there is a query, else those updated last first; `sort` overrides; studies
    without the sorted value come last; ties are in the index's order.
    """
    bits, queried = matching(evaluator, request)
    return order(evaluator, bits, queried, request.sort, k)


def order(
    evaluator: Evaluator,
    bits: BitMap,
    queried: list[Found],
    sort: tuple[tuple[str, bool], ...] = (),
    k: int | None = None,
) -> Ranked:
    """`bits` in order; see `ranked`."""
    ordinals = numbers_of(bits)
    sort = sort or (((RELEVANCE, True),) if queried else ((UPDATED, True),))
    scores = np.zeros(len(ordinals), dtype=np.float32)
    if any(name == RELEVANCE for name, _ in sort):
        for found in queried:
            scores += evaluator.relevance(found)[ordinals]
    keys = []
    for name, descending in sort:
        if name == RELEVANCE:
            keys.append(-scores if descending else scores)
            continue
        values = evaluator.index.order_values(name)
        assert values is not None
        key = -values[ordinals] if descending else values[ordinals]
        keys.append(np.where(np.isnan(key), np.inf, key))
    if k is not None and len(keys) == 1 and 0 < k < len(ordinals):
        last = np.partition(keys[0], k - 1)[k - 1]
        near = np.flatnonzero(keys[0] <= last)
        ordinals, scores, keys = ordinals[near], scores[near], [keys[0][near]]
    place = np.lexsort(keys[::-1])[:k] if len(keys) > 1 else np.argsort(keys[0], kind="stable")[:k]
    return Ranked(ordinals[place], scores[place])
