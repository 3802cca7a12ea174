"""U_verb without asking: a small network on the step's text (for black boxes, or to save tokens).

proxy = VerbalProxy.load(folder, encoder)
uncertainty = await proxy.uncertainty(text, entities=2, recent=0.4)
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.networks import save_network
from pipelines.realm.types import Uncertainty
from pipelines.realm.uncertainty.common_words import HEDGES
from pipelines.realm.uncertainty.vectors import Encoder, TextVectors

if TYPE_CHECKING:
    from pipelines.realm.uncertainty.proxy_network import ProxyNetwork

WEIGHTS, FACTS = "proxy.safetensors", "proxy.json"
SCHEMA = 1
RECENT = 3
"""Steps whose U_ent is averaged."""
NO_RECENT = 0.5
"""Stands for that mean where none of the last steps has a U_ent."""
_AGAIN = "train it with `seekray realm train-proxy`"
NUMBERS = ("words", "hedges", "entities", "recent")
"""The features beside the embedding, in their order."""

_HEDGE = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, HEDGES)) + r")(?!\w)")


class ProxyError(RuntimeError):
    """A proxy that cannot be loaded, trained or used; the message says what to do."""


def hedge_count(text: str) -> int:
    """Number of hedges in `text`, overlapping ones once."""
    return len(_HEDGE.findall(text.lower().replace("’", "'")))


def recent_entropy(history: Sequence[Uncertainty], now: float | None) -> float | None:
    """Mean U_ent of this step (`now`) and the ones before, three in all, where they have one."""
    last = [*(past.ent for past in history), now][-RECENT:]
    known = [value for value in last if value is not None]
    return sum(known) / len(known) if known else None


def numbers(text: str, entities: int, recent: float | None) -> list[float]:
    """The features beside the embedding (4): words and hedges and entities on a log scale, and the
    mean U_ent of the last steps."""
    counted = (len(text.split()), hedge_count(text), entities)
    scaled = [float(np.log1p(count)) for count in counted]
    return [*scaled, NO_RECENT if recent is None else recent]


@dataclass(frozen=True, slots=True)
class EncoderFacts:
    """The encoder whose vectors a proxy understands."""

    name: str
    fingerprint: str
    dimension: int

    @classmethod
    def of(cls, encoder: Encoder) -> "EncoderFacts":
        """The facts of a loaded encoder."""
        return cls(encoder.name, encoder.fingerprint, encoder.dimension)


@dataclass(frozen=True, eq=False)
class VerbalProxy:
    """A trained proxy. `mean` and `spread` (dimension + 4) standardise the features, `metrics` is
    what was measured when it was trained."""

    network: "ProxyNetwork"
    vectors: TextVectors
    mean: np.ndarray
    spread: np.ndarray
    metrics: Mapping[str, Any] = field(default_factory=dict)

    async def uncertainty(self, text: str, entities: int, recent: float | None) -> float:
        """1 - the confidence that the model would state, in [0, 1]. `entities` is their number,
        `recent` as `recent_entropy` gives it."""
        embedded = await self.vectors.embed([text])  # (1, dimension)
        row = np.concatenate([embedded[0], np.array(numbers(text, entities, recent), np.float32)])
        return float(self.predict(row[None])[0])

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Uncertainties (rows,) of features (rows, dimension + 4) that are not yet standardised."""
        import torch

        scaled = torch.from_numpy(((features - self.mean) / self.spread).astype(np.float32))
        with torch.inference_mode():
            found: np.ndarray = self.network(scaled).sigmoid().numpy()
        return found

    def save(self, folder: str | Path) -> Path:
        """Writes weights and facts; the folder is made. The facts come last: a folder without
        them is no proxy."""
        facts = {
            "schema": SCHEMA,
            "encoder": asdict(EncoderFacts.of(self.vectors.encoder)),
            "encoder_source": getattr(self.vectors.encoder, "source", ""),
            "numbers": list(NUMBERS),
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
            "metrics": dict(self.metrics),
        }
        return save_network(folder, self.network, WEIGHTS, FACTS, facts)

    @classmethod
    def load(cls, folder: str | Path, encoder: Encoder) -> "VerbalProxy":
        """The proxy in `folder`. Raises `ProxyError` where there is none that can be read, or it
        was trained on another encoder's vectors than `encoder`'s."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        from pipelines.realm.uncertainty.proxy_network import ProxyNetwork

        folder = Path(folder)
        facts = _facts(folder)
        theirs = facts.encoder
        ours = EncoderFacts.of(encoder)
        if ours != theirs:
            raise ProxyError(
                f"proxy {folder} reads vectors of {theirs.name!r} ({theirs.dimension} dimensions, "
                f"fingerprint {theirs.fingerprint}), not of {ours.name!r} ({ours.dimension}, "
                f"{ours.fingerprint}): give that encoder, or train another proxy"
            )
        network = ProxyNetwork(theirs.dimension + len(NUMBERS))
        try:
            network.load_state_dict(load_file(folder / WEIGHTS))
            mean, spread = (np.array(v, np.float32) for v in (facts.mean, facts.spread))
            if mean.shape != (network.width,) or spread.shape != (network.width,):
                raise ValueError("mean and spread do not fit the network")
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise _damaged(folder, error) from error
        return cls(network.eval(), TextVectors(encoder), mean, spread, facts.metrics)


@dataclass(frozen=True, slots=True)
class _Facts:
    encoder: EncoderFacts
    source: str
    mean: list[float]
    spread: list[float]
    metrics: dict[str, Any]


def encoder_of(folder: str | Path) -> tuple[EncoderFacts, str]:
    """The encoder of the proxy in `folder`, and where it was loaded from ("": not known). Raises
    `ProxyError`."""
    facts = _facts(Path(folder))
    return facts.encoder, facts.source


def _facts(folder: Path) -> _Facts:
    if not (folder / FACTS).is_file():
        raise ProxyError(f"{folder} is no proxy: it has no {FACTS}; {_AGAIN}")
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if facts["schema"] != SCHEMA or facts["numbers"] != list(NUMBERS):
            raise ValueError(f"schema {facts['schema']}, this version reads {SCHEMA}")
        return _Facts(
            EncoderFacts(**facts["encoder"]),
            str(facts["encoder_source"]),
            list(facts["mean"]),
            list(facts["spread"]),
            dict(facts["metrics"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> ProxyError:
    return ProxyError(f"proxy {folder} cannot be read ({' '.join(str(error).split())}): {_AGAIN}")
