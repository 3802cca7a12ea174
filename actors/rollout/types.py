"""What rollout engines take and give."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. `temperature` 0 is greedy. No top-p or top-k by default: truncation
    renormalises the sampler and biases the policy ratio (trl#6789)."""

    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0  # 0 = off
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One completion to write. `key` names it in the answer; `seed` fixes its random draws."""

    key: str
    prompt_ids: tuple[int, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Completion:
    """One sampled continuation, token for token as the engine drew it.

    `logprobs[i]` is the log-probability of `token_ids[i]` under the distribution it was drawn from
    (temperature applied). `token_ids` ends with the eos token when `finish_reason` is "stop".
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    finish_reason: str  # "stop" | "length"
    policy_version: int


class Engine(Protocol):
    """A text generator whose weights can be replaced while it lives."""

    policy_version: int

    def generate(
        self, requests: Sequence[GenerationRequest], sampling: Sampling
    ) -> Iterator[tuple[str, Completion]]:
        """Yields (key, completion) as each one finishes, in any order."""
        ...

    def update_weights(self, weights: Iterable[tuple[str, "torch.Tensor"]], version: int) -> None:
        """Replaces all weights (Hugging Face parameter names) and drops cached prefixes."""
        ...

    def token_logprobs(
        self, prompt_ids: Sequence[int], completion_ids: Sequence[int]
    ) -> tuple[float, ...]:
        """Log-probability of each completion token at temperature 1, given what precedes it."""
        ...

    def batch_logprobs(
        self, requests: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[tuple[float, ...]]:
        """`token_logprobs` of many (prompt ids, completion ids), in their order.

        Raises ValueError for a prompt without tokens, or one that is too long with its completion.
        """
        ...


def check_logprob_requests(
    requests: Sequence[tuple[Sequence[int], Sequence[int]]], most: int
) -> None:
    """Raises ValueError for an empty prompt or completion, or over `most` tokens of both."""
    for row, (prompt, completion) in enumerate(requests):
        if not prompt or not completion:
            raise ValueError(f"request {row} has an empty prompt or completion: nothing to score")
        if len(prompt) + len(completion) > most:
            raise ValueError(
                f"request {row} has {len(prompt)} prompt and {len(completion)} completion tokens; "
                f"together they may be {most}"
            )
