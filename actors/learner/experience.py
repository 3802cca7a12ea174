"""Samples as tensors: T completion tokens of n sequences laid end to end."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from actors.learner.advantages import gae, group_advantages, whiten
from actors.learner.batching import Ids, MicroBatch, pack
from actors.learner.types import Sample
from configs.schema import LearnerConfig


@dataclass(frozen=True)
class Experience:
    """What an update learns from, in an order that does not depend on how the samples came."""

    prompts: list[Ids]
    completions: list[Ids]
    groups: list[str]
    rewards: Tensor  # (n,)
    engine_logprobs: Tensor  # (T,)
    mask: Tensor  # (T,) bool
    sequence: Tensor  # (T,) which sequence a token belongs to

    def padded(self, flat: Tensor, fill: float = 0.0) -> Tensor:
        """(T,) laid out as (n, R), one sequence a row."""
        lengths = [len(c) for c in self.completions]
        out = flat.new_full((len(lengths), max(lengths, default=0)), fill)
        out[self._cells(lengths)] = flat
        return out

    def flat(self, padded: Tensor) -> Tensor:
        """(n, R) laid end to end as (T,)."""
        return padded[self._cells([len(c) for c in self.completions])]

    def pack(
        self,
        budget: int,
        share_prefix: bool,
        device: torch.device,
        only: Sequence[int] | None = None,
    ) -> list[MicroBatch]:
        """Micro-batches of all or only some sequences; see `batching.pack`."""
        batches = pack(self.prompts, self.completions, self.groups, budget, share_prefix, only)
        return [batch.to(device) for batch in batches]

    def live(self, chosen: Sequence[int]) -> Tensor:
        """(T,) bool: the live tokens of the chosen sequences."""
        inside = torch.zeros(len(self.prompts), dtype=torch.bool)
        inside[list(chosen)] = True
        return self.mask & inside[self.sequence]

    def minibatches(self, count: int, generator: torch.Generator) -> list[list[int]]:
        """Indices of sequences in `count` parts, drawn at random; fewer for fewer prompts.

        The completions of one prompt stay together, so that they can share it.
        """
        families: dict[tuple[str, Ids], list[int]] = {}
        for i, key in enumerate(zip(self.groups, self.prompts, strict=True)):
            families.setdefault(key, []).append(i)
        units = list(families.values())
        count = min(count, len(units))
        if count == 1:
            return [list(range(len(self.prompts)))]
        order = torch.randperm(len(units), generator=generator).tolist()
        return [[i for u in order[part::count] for i in units[u]] for part in range(count)]

    @staticmethod
    def _cells(lengths: list[int]) -> Tensor:
        width = max(lengths, default=0)
        return torch.arange(width)[None, :] < torch.tensor(lengths)[:, None]


def gather(samples: Sequence[Sample]) -> Experience:
    """Sorts samples by group and content and lays their tokens end to end.

    Raises:
        ValueError: no samples, or lengths of a sample's fields that disagree.
    """
    if not samples:
        raise ValueError("no samples to learn from")
    for s in samples:
        size = len(s.completion_ids)
        if len(s.logprobs) != size or (s.mask is not None and len(s.mask) != size):
            raise ValueError(
                f"group {s.group}: {size} completion tokens, {len(s.logprobs)} logprobs, "
                f"mask of {None if s.mask is None else len(s.mask)}"
            )
    ordered = sorted(
        samples,
        key=lambda s: (s.group, s.prompt_ids, s.completion_ids, s.reward, s.logprobs, s.mask or ()),
    )
    mask = torch.tensor([m for s in ordered for m in s.mask or (True,) * len(s.completion_ids)])
    mask = mask.bool()
    logprobs = torch.tensor([x for s in ordered for x in s.logprobs])
    lengths = torch.tensor([len(s.completion_ids) for s in ordered])
    return Experience(
        prompts=[s.prompt_ids for s in ordered],
        completions=[s.completion_ids for s in ordered],
        groups=[s.group for s in ordered],
        rewards=torch.tensor([float(s.reward) for s in ordered]),
        engine_logprobs=torch.where(mask, logprobs, torch.zeros_like(logprobs)),
        mask=mask,
        sequence=torch.repeat_interleave(torch.arange(len(ordered)), lengths),
    )


def advantages_of(
    experience: Experience, config: LearnerConfig, penalty: Tensor | None, values: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Advantage and return of each token, both (T,), zero on tokens that are not live.

    Args:
        experience: the samples.
        config: names the algorithm.
        penalty: (T,) KL per token, already times its coefficient, to take off the reward; or None.
            `ppo` takes it off token by token, the others off the sequence's reward.
        values: (T,) the critic's, for `ppo`.
    """
    mask, zero = experience.mask, torch.zeros_like(experience.engine_logprobs)
    cost = zero if penalty is None else torch.where(mask, penalty, zero)
    if config.algorithm == "ppo":
        if values is None:
            raise ValueError("ppo needs the critic's values")
        live = experience.padded(mask)
        rewards = -experience.padded(cost)
        steps = torch.arange(live.shape[1])
        last = torch.where(live, steps, -1).amax(1)  # (n,) the last live token earns the reward
        rows = torch.nonzero(last >= 0).squeeze(1)
        rewards[rows, last[rows]] += experience.rewards[rows]
        padded, returns = gae(
            rewards, experience.padded(values), live, config.gamma, config.gae_lambda
        )
        return whiten(experience.flat(padded), mask), experience.flat(returns)
    totals = experience.rewards - torch.zeros_like(experience.rewards).index_add_(
        0, experience.sequence, cost
    )
    each = group_advantages(totals, experience.groups, config.algorithm)[experience.sequence]
    return torch.where(mask, each, zero), zero
