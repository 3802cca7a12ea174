"""U_cons: how far sampled continuations of a step differ. Source: self-consistency, as ReaLM-
Retrieve uses it: 1 - mean pairwise agreement of three samples.

Agreement is by default the F1 of the samples' words without stop words, which all samples share;
where an embedder is given, the cosine of their sentence embeddings.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from actors.rollout.sessions.types import Session
from actors.rollout.types import Sampling
from actors.search.ranking.analysis import STOP_WORDS
from actors.search.text import words
from pipelines.realm.uncertainty.vectors import TextVectors


@dataclass(frozen=True)
class ConsistencySettings:
    """How continuations are drawn."""

    samples: int = 3
    tokens: int = 24
    """Of each continuation at most."""
    temperature: float = 0.8
    top_p: float = 0.95

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        out = []
        if self.samples < 2:
            out.append(f"samples: {self.samples} is below 2")
        if self.tokens < 1:
            out.append(f"tokens: {self.tokens} is below 1")
        if not self.temperature > 0:
            out.append(f"temperature: {self.temperature} is not above 0: all samples would be one")
        if not 0 < self.top_p <= 1:
            out.append(f"top_p: {self.top_p} is not above 0 and up to 1")
        return out

    @property
    def sampling(self) -> Sampling:
        """As an engine takes it. A paragraph's end ends a sample."""
        return Sampling(
            max_new_tokens=self.tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            stop=("\n\n",),
        )


async def sample_continuations(
    session: Session, boundary: int, settings: ConsistencySettings, seed: int = 0
) -> list[str]:
    """What comes after the step, `settings.samples` times in one batch. Raises `EngineError`."""
    pieces = await session.ask("", settings.sampling, n=settings.samples, seed=seed, at=boundary)
    return [piece.text for piece in pieces]


def token_f1(first: str, second: str) -> float:
    """F1 of the two bags of words without stop words; 1 for two empty bags, 0 if only one is."""
    a, b = _bag(first), _bag(second)
    if not a or not b:
        return float(a == b)
    return 2 * (a & b).total() / (a.total() + b.total())


def disagreement(texts: Sequence[str]) -> float | None:
    """1 - the mean pairwise `token_f1`; None for fewer than two texts with words."""
    told = [text for text in texts if _bag(text)]
    if len(told) < 2:
        return None
    pairs = [token_f1(a, b) for a, b in combinations(told, 2)]
    return min(1.0, max(0.0, 1 - sum(pairs) / len(pairs)))


async def embedded_disagreement(texts: Sequence[str], vectors: TextVectors) -> float | None:
    """1 - the mean pairwise cosine, a negative one as 0; None for fewer than two texts."""
    told = [text for text in texts if text.strip()]
    if len(told) < 2:
        return None
    units = await vectors.embed(told)  # (texts, dimension), unit length
    cosines = np.clip(units @ units.T, 0.0, 1.0)[np.triu_indices(len(told), 1)]
    return float(1 - cosines.mean())


def _bag(text: str) -> Counter[str]:
    return Counter(word for word in words(text) if word not in STOP_WORDS)
