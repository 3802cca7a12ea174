"""A small world of the reasoning loop's interface: chains of hops that are known or not.

A hop that is not known is mended by a retrieval right after its step, if the query is of the right
formulation; all else brings nothing. RSUS is high for hops that are not known, with some noise.
"""

import asyncio
from dataclasses import dataclass

import numpy as np

from actors.rollout.sessions.types import Session, Usage
from pipelines.realm.types import (
    Chain,
    Decision,
    Evidence,
    Formulation,
    HopQuestion,
    Status,
    Step,
    StepRecord,
    StepState,
    Uncertainty,
)
from pipelines.seeds import seed_of

RIGHT = Formulation.GAP


def questions(count: int, hops: int = 2, prefix: str = "q") -> list[HopQuestion]:
    return [
        HopQuestion(f"{prefix}{i}", f"Which town is number {i}?", (f"Town {i}",), hops)
        for i in range(count)
    ]


def knows(question: HopQuestion, hop: int) -> bool:
    return bool(np.random.default_rng(seed_of(question.id, hop)).random() < 0.5)


class ToyReasoner:
    """One chain. `slow_s` is waited for at each step; `fails` is the status it ends with."""

    def __init__(
        self,
        question: HopQuestion,
        seed: int,
        slow_s: float = 0.0,
        status: Status = Status.ANSWERED,
        index_down: bool = False,
    ) -> None:
        self.question, self.slow_s, self.status = question, slow_s, status
        self.index_down = index_down
        self.draw = np.random.default_rng(seed_of(seed, question.id, "noise"))
        self.known = [knows(question, hop) for hop in range(question.hops)]
        self.steps: list[Step] = []
        self.evidence: list[Evidence] = []
        self.records: list[StepRecord] = []
        self.since_last, self.asked, self.finished, self.closed = 0, 0, 0, 0

    async def advance(self) -> StepState | None:
        if len(self.steps) == self.question.hops:
            return None
        await asyncio.sleep(self.slow_s)
        hop = len(self.steps)
        self.steps.append(Step(hop, f"Hop {hop} of it.", tokens=4))
        self.since_last += 1
        sure = 0.2 if self.known[hop] else 0.8
        value = float(np.clip(sure + self.draw.normal(0, 0.1), 0, 1))
        now = Uncertainty(value, verb=value, ent=value)

        async def uncertainty() -> Uncertainty:
            self.asked += 1
            return now

        return StepState(
            question=self.question.text,
            steps=tuple(self.steps),
            evidence=tuple(self.evidence),
            since_last=self.since_last,
            uncertainty=uncertainty,
            session=_NO_SESSION,
            boundary=0,
        )

    async def apply(self, decision: Decision) -> Evidence | None:
        evidence = None
        if decision.retrieve:
            failure = "the index is down" if self.index_down else ""
            evidence = Evidence("query", text="" if failure else "text", failure=failure)
            self.evidence.append(evidence)
            self.since_last = 0
            if decision.formulation == RIGHT and not failure:
                self.known[len(self.steps) - 1] = True
        self.records.append(StepRecord(self.steps[-1], decision, evidence=evidence))
        return evidence

    async def close(self) -> None:
        self.closed += 1

    async def finish(self) -> Chain:
        self.finished += 1
        usage = Usage(written_tokens=4 * len(self.steps))
        answer = self.question.answers[0] if all(self.known) else "nowhere"
        return Chain(
            self.question.id,
            self.question.text,
            answer,
            self.status,
            tuple(self.records),
            "",
            usage,
            seconds=0.0,
        )


_NO_SESSION: Session = object()  # type: ignore[assignment]


@dataclass
class ToyWorld:
    slow_s: float = 0.0
    status: Status = Status.ANSWERED
    index_down: bool = False
    closed: bool = False

    def reasoner(self, question: HopQuestion, *, seed: int) -> ToyReasoner:
        return ToyReasoner(question, seed, self.slow_s, self.status, self.index_down)

    async def close(self) -> None:
        self.closed = True
