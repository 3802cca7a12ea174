"""What the learner takes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One rollout as the learner sees it.

    `group` is the prompt's id: advantage groups are keyed by it, never by position (prime-rl#600).
    `logprobs` are the rollout engine's own. `mask[i]` is False where `completion_ids[i]` was not
    written by the policy; None means all were. Samples that must not be learned from are not given.
    """

    group: str
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    reward: float
    policy_version: int = 0
    mask: tuple[bool, ...] | None = None


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A prompt with the completion to imitate, eos included."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
