"""What an episode is worth: `R = F1 - l1 * calls - l2 * seconds` (ReaLM-Retrieve, section C)."""

from collections.abc import Callable
from dataclasses import dataclass

from pipelines.realm.types import Chain, Status

Clock = Callable[[Chain], float]
"""Seconds that a chain is charged."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of a chain by what it did, instead of by a clock: the same chain costs the same
    wherever and whenever it is run, so training repeats. Used for the simulated reasoner, which
    takes no time of its own. What the engine wrote ahead while a decision was due and was cut again
    is not charged: it depends on the clock.

    The numbers are the paper's: 0.66 s a call with compression and kept prefix; 14.1 s for about
    500 tokens of R1-Distill-32B and 1.8 calls give 0.025 s a token. Tokens written to side
    questions (confidence, continuations) are charged like the chain's, evidence that is read at
    `read_token_s`.
    """

    token_s: float = 0.025
    call_s: float = 0.66
    read_token_s: float = 0.0005

    def __call__(self, chain: Chain) -> float:
        """Seconds of the whole chain."""
        written = sum(
            record.step.tokens + (record.uncertainty.tokens if record.uncertainty else 0)
            for record in chain.steps
        )
        read = sum(evidence.kept_tokens for evidence in chain.evidence)
        return self.token_s * written + self.call_s * chain.calls + self.read_token_s * read


def measured_seconds(chain: Chain) -> float:
    """Seconds that the chain took by the clock on the wall."""
    return chain.seconds


@dataclass(frozen=True, slots=True)
class RewardWeights:
    """Prices of one retrieval and of one second."""

    calls: float = 0.1
    seconds: float = 0.01

    def reward(self, f1: float, calls: int, seconds: float) -> float:
        """R of an episode."""
        return f1 - self.calls * calls - self.seconds * seconds


def infrastructure_failed(chain: Chain) -> bool:
    """True if the chain says nothing about the policy: the engine or the index failed under it."""
    if chain.status in (Status.ENGINE_FAILURE, Status.ERROR):
        return True
    return any(evidence.failure for evidence in chain.evidence)
