"""A chain of reasoning that is led step by step: written, decided on, given evidence.

    reasoner = Reasoner(question_id, question, session, parts, limits)
    while (state := await reasoner.advance()) is not None:
        await reasoner.apply(await decider.decide(state))
    chain = await reasoner.finish()

which is what `reason` does. While a decision is worked out the engine goes on writing behind the
boundary: to go on loses nothing, to retrieve cuts back to the boundary, and the prefix up to there
is never computed anew (`Session`). Whatever fails under a chain is a warning, a failure in the
evidence or the chain's status, never an exception.
"""

from typing import Protocol, runtime_checkable

from actors.rollout.sessions.types import EngineError, Session
from actors.rollout.types import Sampling
from pipelines.realm.answers import clean_answer, found_answers, is_thinking, may_answer
from pipelines.realm.drafts import Draft, Measured, unmeasured
from pipelines.realm.inserts import evidence_block
from pipelines.realm.parts import Limits, Parts, Prefetcher
from pipelines.realm.retrieving import Failed, attempt, retrieve
from pipelines.realm.types import (
    GO_ON,
    Chain,
    Decider,
    Decision,
    Evidence,
    Status,
    Step,
    StepState,
    Uncertainty,
)
from pipelines.realm.writing import StepWriter

OPENING = -1
"""Index of the step of no text that holds a retrieval before the first step."""

_LONGEST_ANSWER = 200  # characters that are read behind a step to have all of its answer


@runtime_checkable
class OpeningDecider(Protocol):
    """A decider that may retrieve before the first step."""

    async def open(self, question: str) -> Decision:
        """What to do before anything is written; a retrieval needs a `query`."""
        ...


class Reasoner:
    """One chain: `begin` if wanted, `advance` and `apply` in turn, then `finish`, which may also
    come earlier. For one task at a time."""

    def __init__(
        self,
        question_id: str,
        question: str,
        session: Session,
        parts: Parts,
        limits: Limits | None = None,
    ) -> None:
        self.question_id, self.question = question_id, question
        self.session, self.parts, self.limits = session, parts, limits or Limits()
        self._ahead = parts.retriever if isinstance(parts.retriever, Prefetcher) else None
        self._writer = StepWriter(
            session,
            parts.segmenter(),
            parts.count,
            self.limits.max_tokens,
            self.limits.piece_s,
            parts.clock,
            None if self._ahead is None else self._observe,
        )
        self._drafts: list[Draft] = []
        self._steps: list[Step] = []  # those that stand in the text
        self._evidence: list[Evidence] = []
        self._history: list[Uncertainty] = []
        self._warnings: dict[str, None] = {}
        self._written_steps = self._since_last = 0
        self._pending: Draft | None = None
        self._origin: float | None = None
        self._thinking = parts.thinking
        self._answer = ""
        self._ended = False  # gave its answer, or stopped
        self._stopped: Status | None = None  # cannot go on
        self._chain: Chain | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong so far, each once."""
        return tuple(self._warnings)

    def warn(self, text: str) -> None:
        """Notes what went wrong."""
        self._warnings[text] = None

    async def begin(self, decision: Decision) -> Evidence | None:
        """Retrieval before the first step, recorded as step `OPENING`. Raises ValueError for one
        without a query."""
        if self._origin is not None:
            raise RuntimeError("begin() comes once, before advance()")
        if decision.retrieve and decision.query is None:
            raise ValueError("a retrieval before the first step needs a query: there is no step")
        now = self._now()
        self._pending = Draft(Step(OPENING, ""), 0, self._state(0), now, now)
        if decision.retrieve:
            self._drafts.append(self._pending)
        return await self.apply(decision)

    async def advance(self) -> StepState | None:
        """Writes up to the next boundary; None when the chain has ended (then `finish`)."""
        if self._pending is not None:
            raise RuntimeError("apply() a decision on the last step before advance()")
        if self._chain is not None or self._ended or self._stopped is not None:
            return None
        if self._written_steps >= self.limits.max_steps:
            self._stopped = Status.STEP_LIMIT
            return None
        started = self._now()
        try:
            written = await self._writer.next_step()
            if written is not None:
                await self._look_for_answer(written.end)
        except EngineError as error:
            self._fail(error)
            return None
        if self._writer.resumed_at is not None:
            self._drafts[-1].resumed, self._writer.resumed_at = self._writer.resumed_at, None
        if written is None:
            self._end_of_text()
            return None
        step = written.step(len(self._steps))
        self._steps.append(step)
        self._written_steps += 1
        self._since_last += 1
        if self._writer.exhausted and not self._ended:
            self._end_of_text()
        if self._ahead is not None and not self._ended:
            self._ahead.observe(self.question, step.text, self.limits.k, complete=True)
        state = self._state(written.end)
        draft = Draft(step, written.start, state, started, self._now())
        self._drafts.append(draft)
        if self._stopped is not None:
            return None
        state.uncertainty = Measured(draft, self.parts.meter, self._measured)
        self._pending = draft
        return state

    async def apply(self, decision: Decision) -> Evidence | None:
        """Does what was decided on the last state; gives what was retrieved, or None.

        To retrieve after the answer was given lets the chain go on.
        """
        draft, self._pending = self._pending, None
        if draft is None:
            raise RuntimeError("there is no step to decide on: advance() first")
        draft.decided = self._now()
        if decision.retrieve and len(self._evidence) >= self.limits.max_calls:
            self.warn(f"wanted over {self.limits.max_calls} retrievals (max_calls): went on")
            decision = GO_ON
        draft.decision = decision
        if not decision.retrieve:
            return None
        try:
            await self._writer.pause()
            evidence = await retrieve(draft.state, decision, self.parts, self.limits, self.warn)
            draft.evidence = evidence
            self._evidence.append(evidence)
            self._since_last = 0
            if evidence.failure:
                self.warn(f"retrieval: {evidence.failure}")
            elif evidence.text:
                await self._insert(draft, evidence.text)
        except EngineError as error:
            self._fail(error)
        return draft.evidence

    async def finish(self) -> Chain:
        """The chain, asked for its answer where it gave none; closes the session."""
        if self._chain is None:
            origin = self._now() if self._origin is None else self._origin
            try:
                status = await self._settle()
            finally:
                await self.close()
            self._chain = Chain(
                self.question_id,
                self.question,
                self._answer,
                status,
                tuple(draft.record(origin) for draft in self._drafts),
                self.session.text,
                self.session.usage,
                self._now() - origin,
                self.warnings,
            )
        return self._chain

    async def close(self) -> None:
        """Stops the writing and frees the session; what fails here is a warning."""
        for end in (self._writer.pause, self.session.close):
            try:
                await end()
            except EngineError as error:
                self.warn(f"closing: {error}")

    async def _settle(self) -> Status:
        """The status, once the answer is there or was asked for."""
        self._pending = None
        if self._stopped is Status.ENGINE_FAILURE:
            return self._stopped
        answered = bool(self._answer)
        if answered:
            return self._stopped or Status.ANSWERED
        try:
            await self._writer.cut_ahead()
            asked = await self._ask_answer()
        except EngineError as error:
            self.warn(f"asked for the answer: {error}")
            asked = False
        if not asked:  # what the model would have answered is not known
            return Status.ENGINE_FAILURE
        return self._stopped or Status.NO_ANSWER

    async def _ask_answer(self) -> bool:
        """Whether the engine could be asked."""
        sampling = Sampling(self.limits.answer_tokens, temperature=0.0, stop=("\n",))
        suffix = self.parts.answer_suffix
        pieces = await attempt(self.session.ask(suffix, sampling), self.limits.piece_s)
        if isinstance(pieces, Failed):
            self.warn(f"asked for the answer: {pieces.reason}")
            return False
        said = pieces[0].text if pieces else ""
        found = found_answers(said)
        self._answer = found[-1].text if found else clean_answer(said)
        self.warn("gave no answer, asked for it" if self._answer else "no answer, asked or not")
        return True

    async def _insert(self, draft: Draft, text: str) -> None:
        discard = draft.decision.discard_step and draft.step.index != OPENING
        at = draft.start if discard else draft.state.boundary
        standing = self.session.text[:at]
        await self._writer.insert(at, evidence_block(text, standing[-1:]))
        draft.inserted = self._now()
        self._thinking = is_thinking(standing, thinking=self.parts.thinking)
        self._ended = False
        if discard:
            self._steps.pop()
            if draft.state.ended:  # its answer goes with the step
                self._answer = ""

    async def _look_for_answer(self, end: int) -> None:
        """Sets the answer if one is stated before `end` (in session.text). It may run over the
        boundary ("J." is no answer): more is read until something stands behind it."""
        writer = self._writer
        most = end - writer.base + _LONGEST_ANSWER
        while may_answer(writer.ahead):
            found = found_answers(writer.ahead, before=end - writer.base, thinking=self._thinking)
            if not found:
                return
            self._answer, self._ended = found[-1].text, True
            open_end = writer.ahead.rstrip(" \t.,;*\"'`”’").endswith(self._answer.rstrip("."))
            if writer.over or not open_end or len(writer.ahead) > most:
                return
            await writer.read_on()

    def _end_of_text(self) -> None:
        if self._writer.over == "length":
            self._stopped = Status.TOKEN_LIMIT
        else:
            self._ended = True

    def _fail(self, error: EngineError) -> None:
        self._stopped = Status.ENGINE_FAILURE
        self.warn(f"engine: {error}")

    def _state(self, boundary: int) -> StepState:
        return StepState(
            self.question,
            tuple(self._steps),
            tuple(self._evidence),
            self._since_last,
            unmeasured,
            self.session,
            boundary,
            ended=self._ended,
            history=tuple(self._history),
        )

    def _measured(self, found: Uncertainty) -> None:
        self._history.append(found)
        for warning in found.warnings:
            self.warn(warning)

    def _observe(self, text: str) -> None:
        if self._ahead is not None:
            self._ahead.observe(self.question, text, self.limits.k)

    def _now(self) -> float:
        now = self.parts.clock()
        if self._origin is None:
            self._origin = now
        return now


async def reason(reasoner: Reasoner, decider: Decider) -> Chain:
    """Leads a chain to its end. A decision that cannot be had is to go on, with a warning."""
    seconds = reasoner.limits.decide_s
    try:
        if isinstance(decider, OpeningDecider):
            opening = await attempt(decider.open(reasoner.question), seconds)
            await reasoner.begin(_or_go_on(reasoner, opening))
        while (state := await reasoner.advance()) is not None:
            decision = await attempt(decider.decide(state), seconds)
            await reasoner.apply(_or_go_on(reasoner, decision))
        return await reasoner.finish()
    except BaseException:
        await reasoner.close()
        raise


def _or_go_on(reasoner: Reasoner, decision: Decision | Failed) -> Decision:
    if isinstance(decision, Failed):
        reasoner.warn(f"decision: {decision.reason}; went on")
        return GO_ON
    return decision
