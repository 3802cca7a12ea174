"""The configuration agent: which reranker and which search settings a query gets.

agent = ConfigurationAgent.load(folder, EncoderFacts.of(embedder))
configurations = agent.configure(vectors)
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.corag.space import SearchSpace
from pipelines.corag.types import Configuration
from pipelines.networks import save_network
from pipelines.query_encoder import EncoderFacts as EncoderFacts
from pipelines.query_encoder import QueryEncoder as QueryEncoder

if TYPE_CHECKING:
    from pipelines.corag.agent_network import AgentNetwork

WEIGHTS, FACTS = "agent.safetensors", "agent.json"
SCHEMA = 1


class AgentError(RuntimeError):
    """An agent that cannot be loaded, trained or used; the message says what to do."""


@dataclass(frozen=True, eq=False)
class ConfigurationAgent:
    """A trained agent. `metrics` is what was measured when it was trained."""

    network: "AgentNetwork"
    space: SearchSpace
    encoder: EncoderFacts
    metrics: Mapping[str, Any] = field(default_factory=dict)

    def save(self, folder: str | Path) -> Path:
        """Writes weights and facts; the folder is made. The facts come last: a folder without
        them is no agent."""
        facts = {
            "schema": SCHEMA,
            "space": self.space.to_json(),
            "encoder": asdict(self.encoder),
            "metrics": dict(self.metrics),
        }
        return save_network(folder, self.network, WEIGHTS, FACTS, facts)

    @classmethod
    def load(cls, folder: str | Path, encoder: EncoderFacts | None = None) -> "ConfigurationAgent":
        """The agent in `folder`. Raises `AgentError` where there is none that can be read, or it
        was trained on another encoder's vectors than `encoder`."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        from pipelines.corag.agent_network import AgentNetwork

        folder = Path(folder)
        again = "train it again with `seekray corag train-agent`"
        if not (folder / FACTS).is_file():
            raise AgentError(f"{folder} is no agent: it has no {FACTS}; {again}")
        try:
            facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
            if facts["schema"] != SCHEMA:
                raise ValueError(f"schema {facts['schema']}, this version reads {SCHEMA}")
            space = SearchSpace.from_json(facts["space"])
            theirs = EncoderFacts(**facts["encoder"])
            network = AgentNetwork(theirs.dimension, len(space.rerankers))
            network.load_state_dict(load_file(folder / WEIGHTS))
            metrics = dict(facts["metrics"])
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            why = " ".join(str(error).split())
            raise AgentError(f"agent {folder} cannot be read ({why}): {again}") from error
        agent = cls(network.eval(), space, theirs, metrics)
        if encoder is not None:
            agent.check_encoder(encoder, str(folder))
        return agent

    def check_encoder(self, encoder: EncoderFacts, where: str = "") -> None:
        """Raises `AgentError` where vectors of `encoder` mean nothing to this agent."""
        if encoder != self.encoder:
            raise AgentError(
                f"the agent {where} was trained on query vectors of {self.encoder}, here they come "
                f"from {encoder}: name that encoder, or train an agent for this one"
            )

    def configure(self, query_vectors: np.ndarray) -> list[Configuration]:
        """A configuration inside the space for each query vector (queries, dimension). Raises
        `AgentError` for vectors of another dimension or that are not finite."""
        import torch

        vectors = np.asarray(query_vectors, dtype=np.float32)
        if vectors.ndim != 2 or vectors.shape[1] != self.encoder.dimension:
            raise AgentError(
                f"query vectors of shape {vectors.shape}, wanted (queries, "
                f"{self.encoder.dimension}) of {self.encoder}"
            )
        if not np.isfinite(vectors).all():
            raise AgentError("query vectors are not finite: look at the queries and the encoder")
        if not len(vectors):
            return []
        with torch.inference_mode():
            _, logits, settings = self.network(torch.from_numpy(vectors.copy()))
        classes = logits.argmax(dim=1).tolist()
        return [
            self.space.configuration(self.space.rerankers[number], scaled)
            for number, scaled in zip(classes, settings.tolist(), strict=True)
        ]
