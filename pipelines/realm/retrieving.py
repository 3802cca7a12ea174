"""One retrieval of a chain: query, search, integration; what fails is told in the evidence."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from actors.rollout.sessions.types import EngineError
from actors.search.types import InfraFailure
from pipelines.realm.evidence.texts import whole
from pipelines.realm.parts import Limits, Parts, Prefetcher
from pipelines.realm.types import Decision, Evidence, StepState

T = TypeVar("T")
FAULTS = (EngineError, OSError, RuntimeError)
"""What fails under a chain (time-outs are an OSError). Anything else is a mistake in a program."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why something could not be had."""

    reason: str


async def attempt(work: Awaitable[T], seconds: float) -> T | Failed:
    """What `work` gives within `seconds`; `Failed` for one of `FAULTS`."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except FAULTS as error:
        if limit.expired():
            return Failed(f"took over {seconds:g} s")
        return Failed(f"{error}" or type(error).__name__)


async def retrieve(
    state: StepState,
    decision: Decision,
    parts: Parts,
    limits: Limits,
    warn: Callable[[str], None],
) -> Evidence:
    """Does the retrieval of `decision` after `state`. Never raises one of `FAULTS`."""
    query = await _query(state, decision, parts, limits, warn)
    began = parts.clock()
    prefetched = isinstance(parts.retriever, Prefetcher) and parts.retriever.has(query, limits.k)
    found = await attempt(parts.retriever.search(query, limits.k), limits.search_s)
    evidence = Evidence(query, search_s=parts.clock() - began, prefetched=prefetched)
    if isinstance(found, Failed):
        return replace(evidence, prefetched=False, failure=f"search: {found.reason}")
    if isinstance(found, InfraFailure):
        return replace(evidence, prefetched=False, failure=f"search: {found.message}")
    if not found:
        return evidence
    began = parts.clock()
    taken = await attempt(
        parts.integrator.take_in(state.question, query, found, decision.integration),
        limits.decide_s,
    )
    evidence = replace(evidence, passages=tuple(found), integrate_s=parts.clock() - began)
    if isinstance(taken, Failed):
        return replace(evidence, failure=f"{decision.integration}: {taken.reason}")
    text, kept_ids = taken
    return replace(
        evidence,
        text=text.strip(),
        kept_ids=tuple(kept_ids),
        fetched_tokens=parts.count(whole(found)),
        kept_tokens=parts.count(text),
    )


async def _query(
    state: StepState,
    decision: Decision,
    parts: Parts,
    limits: Limits,
    warn: Callable[[str], None],
) -> str:
    if decision.query is not None:
        return decision.query
    made = await attempt(parts.formulator.query(state, decision.formulation), limits.decide_s)
    if isinstance(made, Failed):
        warn(f"query formulation {decision.formulation}: {made.reason}; the step itself was used")
        return state.step.text.strip()
    return made
