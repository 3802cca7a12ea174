"""The agent's folder and its use."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.corag.agent import AgentError, ConfigurationAgent, EncoderFacts
from pipelines.corag.agent_network import AgentNetwork
from pipelines.corag.space import SearchSpace
from tests.pipelines.corag.label_toys import PlainEncoder

SPACE = SearchSpace(("bm25", "minilm", "gte"), iterations=(5, 20))
ENCODER = EncoderFacts("plain", "0123456789abcdef", 4)
VECTORS = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)


@pytest.fixture
def agent() -> ConfigurationAgent:
    torch.manual_seed(0)
    return ConfigurationAgent(AgentNetwork(4, 3).eval(), SPACE, ENCODER, {"epoch": 3})


def test_what_was_saved_configures_alike(agent: ConfigurationAgent, tmp_path: Path) -> None:
    folder = agent.save(tmp_path / "agent")
    again = ConfigurationAgent.load(folder, EncoderFacts.of(PlainEncoder()))
    assert again.configure(VECTORS) == agent.configure(VECTORS)
    assert (again.space, again.encoder, again.metrics) == (SPACE, ENCODER, {"epoch": 3})
    assert sorted(path.name for path in folder.iterdir()) == ["agent.json", "agent.safetensors"]


@pytest.mark.parametrize("bias", [1e30, -1e30])
def test_wild_predictions_are_clamped(agent: ConfigurationAgent, bias: float) -> None:
    with torch.no_grad():
        agent.network.regressor.bias.fill_(bias)
    for configuration in agent.configure(VECTORS):
        settings = configuration.settings
        found = (settings.iterations, settings.c, settings.cost_weight)
        assert found == ((20, 4.0, 1.0) if bias > 0 else (5, 0.0, 0.0))


def test_reranker_is_the_greatest_logit_whatever_it_is_batched_with(
    agent: ConfigurationAgent,
) -> None:
    with torch.no_grad():
        agent.network.classifier.bias.copy_(torch.tensor([0.0, 9.0, 0.0]))
    assert {c.reranker for c in agent.configure(VECTORS)} == {"minilm"}
    assert agent.configure(VECTORS)[4:5] == agent.configure(VECTORS[4:5])
    assert agent.configure(VECTORS[:0]) == []


@pytest.mark.parametrize(
    "other",
    [
        EncoderFacts("other", "0123456789abcdef", 4),
        EncoderFacts("plain", "fedcba9876543210", 4),
        EncoderFacts("plain", "0123456789abcdef", 8),
    ],
)
def test_another_encoder_is_refused(
    agent: ConfigurationAgent, tmp_path: Path, other: EncoderFacts
) -> None:
    with pytest.raises(AgentError, match=r"trained on query vectors of 'plain' .4 dimensions"):
        ConfigurationAgent.load(agent.save(tmp_path), other)


def test_vectors_that_mean_nothing_are_refused(agent: ConfigurationAgent) -> None:
    with pytest.raises(AgentError, match=r"shape \(2, 5\), wanted \(queries, 4\)"):
        agent.configure(np.zeros((2, 5)))
    with pytest.raises(AgentError, match="shape"):
        agent.configure(np.zeros(4))
    with pytest.raises(AgentError, match="not finite"):
        agent.configure(np.full((1, 4), np.nan))


def test_damaged_folders_are_named(agent: ConfigurationAgent, tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"is no agent: it has no agent.json"):
        ConfigurationAgent.load(tmp_path)
    folder = agent.save(tmp_path)
    facts = json.loads((folder / "agent.json").read_text())
    for damage in (
        "{",
        "[]",
        json.dumps({**facts, "schema": 9}),
        json.dumps({**facts, "space": {}}),
        json.dumps({**facts, "encoder": {**facts["encoder"], "dimension": 5}}),
        json.dumps({**facts, "space": {**facts["space"], "rerankers": ["bm25"]}}),
    ):
        (folder / "agent.json").write_text(damage)
        with pytest.raises(AgentError, match=r"cannot be read .*train it again"):
            ConfigurationAgent.load(folder)
    (folder / "agent.json").write_text(json.dumps(facts))
    weights = folder / "agent.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(AgentError, match="cannot be read"):
        ConfigurationAgent.load(folder)
    weights.unlink()
    with pytest.raises(AgentError, match="cannot be read"):
        ConfigurationAgent.load(folder)
