"""The next token of each row, and what is known about the draw."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from actors.rollout.sessions.jobs import Token
from actors.rollout.types import Sampling

if TYPE_CHECKING:
    import torch


def uniform(seed: int, copy: int, position: int) -> float:
    """The number in [0, 1) that decides the draw at a position: the same whenever it is drawn."""
    return random.Random(f"{seed}/{copy}/{position}").random()


def request_seed(seed: int, copy: int, position: int) -> int:
    """The seed of a request whose engine draws by itself, in [0, 2**31)."""
    return random.Random(f"{seed}/{copy}/{position}").getrandbits(31)


def draw(logits: "torch.Tensor", sampling: Sampling, chances: Sequence[float]) -> list[Token]:
    """A token for each row of `logits` (B, V), by the row's chance in [0, 1).

    Probabilities are those of the distribution drawn from: temperature, top-k and top-p applied.
    At temperature 0 it is the likeliest token, and they are the model's own.
    """
    import torch

    scores = logits.float().cpu()
    if sampling.temperature:
        scores = _truncate(scores / sampling.temperature, sampling)
    logprobs = torch.log_softmax(scores, dim=-1)
    probabilities = logprobs.exp()
    entropies = torch.special.entr(probabilities).sum(-1)
    if sampling.temperature:
        ladder = probabilities.double().cumsum(-1)
        aims = torch.tensor(chances, dtype=torch.double)[:, None] * ladder[:, -1:]
        ids = torch.searchsorted(ladder, aims, right=True)[:, 0]
        last = probabilities.shape[-1] - 1 - probabilities.flip(-1).gt(0).int().argmax(-1)
        ids = torch.minimum(ids, last)
    else:
        ids = logprobs.argmax(-1)
    chosen = logprobs.gather(-1, ids[:, None])[:, 0]
    return [
        Token(token, logprob, entropy)
        for token, logprob, entropy in zip(
            ids.tolist(), chosen.tolist(), entropies.tolist(), strict=True
        )
    ]


def _truncate(scores: "torch.Tensor", sampling: Sampling) -> "torch.Tensor":
    if sampling.top_k and sampling.top_k < scores.shape[-1]:
        least = scores.topk(sampling.top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < least, float("-inf"))
    if sampling.top_p < 1.0:
        ordered, places = scores.sort(dim=-1, descending=True)
        shares = ordered.softmax(-1)
        beyond = shares.cumsum(-1) - shares >= sampling.top_p  # those before it are enough
        scores = scores.masked_fill(beyond.scatter(-1, places, beyond), float("-inf"))
    return scores
