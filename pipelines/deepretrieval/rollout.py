"""One rollout of the rewriter, how it is asked for, and what a batch of them amounts to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from actors.learner.types import Sample
from actors.rollout.types import Completion, GenerationRequest
from actors.search.types import SearchOutcome, SearchResult
from pipelines.data.task import Task
from pipelines.deepretrieval.answer import Answer, FormatError
from pipelines.deepretrieval.reward import (
    FORMAT_ERROR,
    INFRA_FAILURE,
    OK,
    QUERY_ERROR,
    RECALL_TIERS,
    Score,
)
from pipelines.seeds import seed_of


@dataclass(frozen=True, slots=True)
class Rollout:
    """A completion, the search it led to, and what it earned.

    `status` is "ok", "format_error", "query_error" or "infra_failure"; only the last has no
    `reward`, and is left out of updates and of every mean.
    """

    task: Task
    index: int
    prompt_ids: tuple[int, ...]
    completion: Completion
    answer: Answer | FormatError
    outcome: SearchOutcome | None
    score: Score

    @property
    def status(self) -> str:
        """How it ended."""
        return self.score.status

    def sample(self) -> Sample:
        """What the learner gets. Raises `ValueError` for an infrastructure failure."""
        if self.score.reward is None:
            raise ValueError("an infrastructure failure is never learned from")
        return Sample(
            group=self.task.id,
            prompt_ids=self.prompt_ids,
            completion_ids=self.completion.token_ids,
            logprobs=self.completion.logprobs,
            reward=self.score.reward,
            policy_version=self.completion.policy_version,
        )


@dataclass(frozen=True, slots=True)
class Ask:
    """A request with the task and sample number it belongs to."""

    task: Task
    index: int
    request: GenerationRequest


def asks(
    tasks: Sequence[Task],
    prompts: Sequence[tuple[int, ...]],
    samples: int,
    *,
    seed: int,
    purpose: str,
) -> list[Ask]:
    """`samples` requests for every task, those of one task side by side. A task that comes again
    has its samples numbered on, so that no two requests draw alike."""
    asked: list[Ask] = []
    seen: Counter[str] = Counter()
    for task, prompt in zip(tasks, prompts, strict=True):
        first = seen[task.id]
        seen[task.id] += samples
        for index in range(first, first + samples):
            request = GenerationRequest(
                key=f"{task.id}/{index}",
                prompt_ids=prompt,
                seed=seed_of(seed, purpose, task.id, index),
            )
            asked.append(Ask(task, index, request))
    return asked


def summary(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """The named metrics of a batch; means are over the rollouts that were scored.

    `reward/wrong_share` is the paper's share of wrong answers: right in format, score -3.5.
    `reward/format_error_share` counts queries that the engine cannot parse, too.
    """
    scored = [r for r in rollouts if r.status != INFRA_FAILURE]
    out = {"infra/failures": float(len(rollouts) - len(scored))}
    if not scored:
        return out
    recalls = [r.score.recall or 0.0 for r in scored]
    ok = [r for r in scored if r.status == OK]
    bad = [r for r in scored if r.status in (FORMAT_ERROR, QUERY_ERROR)]
    least = RECALL_TIERS[-1][0]
    out |= {
        "reward/mean": _mean(r.score.reward or 0.0 for r in scored),
        "reward/wrong_share": _mean(
            r.status == OK and (r.score.recall or 0) < least for r in scored
        ),
        "reward/format_error_share": len(bad) / len(scored),
        "reward/query_error_share": _mean(r.status == QUERY_ERROR for r in scored),
        "recall/mean": _mean(recalls),
        "length/response": _mean(len(r.completion.token_ids) for r in scored),
        "length/truncated_share": _mean(r.completion.finish_reason == "length" for r in scored),
        "search/hits": _mean(r.outcome.total for r in ok if isinstance(r.outcome, SearchResult)),
        "length/thinking": _mean(
            len(r.answer.thinking.split()) for r in ok if isinstance(r.answer, Answer)
        ),
    }
    for tier, _ in RECALL_TIERS:
        out[f"recall/at_least_{tier:g}"] = _mean(value >= tier for value in recalls)
    return out


def sample_row(rollout: Rollout) -> dict[str, object]:
    """One line of a samples table."""
    outcome = rollout.outcome
    return {
        "task": rollout.task.id,
        "sample": rollout.index,
        "status": rollout.status,
        "reward": rollout.score.reward,
        "recall": rollout.score.recall,
        "hits": outcome.total if isinstance(outcome, SearchResult) else None,
        "query": rollout.answer.query if isinstance(rollout.answer, Answer) else "",
        "completion": rollout.completion.text,
        "fault": _fault(rollout),
        "policy_version": rollout.completion.policy_version,
    }


def _fault(rollout: Rollout) -> str:
    if isinstance(rollout.answer, FormatError):
        return rollout.answer.reason
    return getattr(rollout.outcome, "message", "")


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0
