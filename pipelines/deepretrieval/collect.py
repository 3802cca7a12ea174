"""Collects rollouts: completions stream in from the rollout fleet while queries already run."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from actors.rollout.types import Completion, GenerationRequest, Sampling
from actors.search.types import SearchOutcome, SearchRequest
from pipelines.deepretrieval.answer import Answer, FormatError, read_answer
from pipelines.deepretrieval.reward import Reward
from pipelines.deepretrieval.rollout import Ask, Rollout

SEARCH_BATCH = 16


class Streams(Protocol):
    """The rollout fleet, as far as collecting needs it."""

    def stream(self, method: str, items: Any, *args: Any, key: Any) -> Any:
        """See `cluster.fleet.Fleet.stream`."""
        ...


class Submits(Protocol):
    """The search fleet, as far as collecting needs it."""

    def submit(self, method: str, *args: Any) -> Any:
        """See `cluster.fleet.Fleet.submit`."""
        ...


@dataclass
class Collector:
    """Turns asks into scored rollouts. `timings` holds the seconds of the last call."""

    rollout_fleet: Streams
    search_fleet: Submits
    sampling: Sampling
    reward: Reward
    k: int
    order: str
    open_think: bool
    syntax: str = "pubmed"
    timings: dict[str, float] = field(default_factory=dict)

    def collect(self, asked: Sequence[Ask], sampling: Sampling | None = None) -> list[Rollout]:
        """The rollouts of `asked`, in that order."""
        started = time.perf_counter()
        completions: dict[str, Completion] = {}
        answers: dict[str, Answer | FormatError] = {}
        searches: list[tuple[list[str], Any]] = []
        by_key = {ask.request.key: ask for ask in asked}
        waiting: list[str] = []
        stream = self.rollout_fleet.stream(
            "generate", [ask.request for ask in asked], sampling or self.sampling, key=_key
        )
        for key, completion in stream:
            completions[key] = completion
            answers[key] = answer = read_answer(completion.text, open_think=self.open_think)
            if isinstance(answer, Answer):
                waiting.append(key)
            if len(waiting) == SEARCH_BATCH:
                searches.append(self._search(waiting, by_key, answers))
                waiting = []
        if waiting:
            searches.append(self._search(waiting, by_key, answers))
        generated = time.perf_counter()
        outcomes: dict[str, SearchOutcome] = {}
        for keys, call in searches:
            outcomes.update(zip(keys, call.result(), strict=True))
        searched = time.perf_counter()
        rollouts = []
        for ask in asked:
            key = ask.request.key
            outcome = outcomes.get(key)
            rollouts.append(
                Rollout(
                    task=ask.task,
                    index=ask.index,
                    prompt_ids=ask.request.prompt_ids,
                    completion=completions[key],
                    answer=answers[key],
                    outcome=outcome,
                    score=self.reward.score(answers[key], outcome, ask.task.relevant),
                )
            )
        self.timings = {
            "time/generate": generated - started,
            "time/search_wait": searched - generated,
            "time/score": time.perf_counter() - searched,
        }
        return rollouts

    def _search(
        self,
        keys: list[str],
        by_key: dict[str, Ask],
        answers: dict[str, Answer | FormatError],
    ) -> tuple[list[str], Any]:
        requests = []
        for key in keys:
            answer = answers[key]
            assert isinstance(answer, Answer)
            requests.append(
                SearchRequest(
                    query=answer.query,
                    k=self.k,
                    date_to=by_key[key].task.date_to,
                    order=self.order,
                    syntax=self.syntax,
                )
            )
        return keys, self.search_fleet.submit("search", requests)


def _key(request: GenerationRequest) -> str:
    return request.key
