"""Training on labels whose rule is known."""

import dataclasses
from pathlib import Path

import pytest

from cluster.run_dir import read_jsonl
from pipelines.corag.agent import AgentError, ConfigurationAgent
from pipelines.corag.agent_comparison import (
    AGENT,
    BEST_FIXED,
    ORACLE,
    compare,
    methods,
    nearest_label,
    oracle,
)
from pipelines.corag.agent_training import AgentSettings, AgentTraining, train_agent
from pipelines.corag.labels import LabelError
from tests.pipelines.corag.label_toys import SPACE, PlainEncoder, label, learnable

LABELS = learnable()
TEXTS = {row.query: row.text for row in LABELS}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> AgentTraining:
    return train_agent(LABELS, PlainEncoder(), SPACE, tmp_path_factory.mktemp("agent"))


def test_the_rule_is_learned_and_beats_the_best_fixed_on_unseen_queries(
    trained: AgentTraining,
) -> None:
    split = trained.split
    vectors, _ = PlainEncoder().embed_queries([TEXTS[query] for query in split.test])
    chosen = methods(trained.agent, vectors, LABELS, split.train, split.test)
    chosen[ORACLE] = oracle(LABELS, split.test)
    compared = compare(chosen, nearest_label(LABELS, SPACE))
    means = {row.method: row.rouge_l for row in compared.results}
    assert means[AGENT] == pytest.approx(0.9)
    assert means[ORACLE] == pytest.approx(0.9)
    assert means[BEST_FIXED] < 0.75
    difference = next(row for row in compared.differences if row.other == BEST_FIXED)
    assert difference.low > 0
    # the same is kept with the agent
    assert trained.metrics["test/agent/rouge_l"] == pytest.approx(0.9)
    assert trained.metrics["test/best_fixed/rouge_l"] == means[BEST_FIXED]
    assert trained.metrics["test/over_best_fixed/low"] == difference.low
    assert trained.metrics["test/agent/exact"] == 0  # no c or lambda is met exactly


def test_the_same_labels_give_the_same_agent(trained: AgentTraining, tmp_path: Path) -> None:
    again = train_agent(LABELS, PlainEncoder(), SPACE, tmp_path)
    name = "agent.safetensors"
    assert (tmp_path / name).read_bytes() == (trained.folder / name).read_bytes()
    assert again.metrics == trained.metrics
    other = train_agent(LABELS, PlainEncoder(), SPACE, tmp_path, AgentSettings(seed=1))
    assert other.split != again.split


def test_the_kept_epoch_has_the_least_validation_loss(trained: AgentTraining) -> None:
    records = list(read_jsonl(trained.folder / "metrics.jsonl"))
    assert [record["step"] for record in records] == list(range(1, 61))
    best = min(records, key=lambda record: record["validation/total"])
    assert trained.metrics["epoch"] == best["step"]
    assert trained.metrics["validation/total"] == best["validation/total"]
    for record in records:
        parts = ("contrastive", "reranker", "settings")
        for kind in ("train", "validation"):
            total = sum(record[f"{kind}/{part}"] for part in parts)
            assert record[f"{kind}/total"] == pytest.approx(total, rel=1e-4)
    assert (trained.folder / "losses.png").read_bytes().startswith(b"\x89PNG")
    loaded = ConfigurationAgent.load(trained.folder)
    assert loaded.metrics == trained.metrics


def test_an_earlier_epoch_is_kept_where_training_goes_on_to_spoil_it(tmp_path: Path) -> None:
    # Validation queries contradict what is trained on: the loss rises with training.
    split = train_agent(LABELS, PlainEncoder(), SPACE, tmp_path / "a").split
    turned = [
        dataclasses.replace(row, rouge_l=1.2 - row.rouge_l)
        if row.query in split.validation
        else row
        for row in LABELS
    ]
    spoiled = train_agent(turned, PlainEncoder(), SPACE, tmp_path / "b")
    assert spoiled.split == split
    assert spoiled.metrics["epoch"] < 30
    records = list(read_jsonl(tmp_path / "b" / "metrics.jsonl"))
    assert records[-1]["validation/total"] > spoiled.metrics["validation/total"]


def test_queries_that_no_reranker_matters_to_are_left_out(tmp_path: Path) -> None:
    flat = [
        label(f"flat{number}", reranker, 0.4, text=f"a {number / 100}")
        for number in range(60)
        for reranker in SPACE.rerankers
    ]
    mixed = train_agent(LABELS + flat, PlainEncoder(), SPACE, tmp_path, AgentSettings(epochs=1))
    kept = sum(query.startswith("q") for query in mixed.split.train)
    assert mixed.metrics["queries/train_kept"] == kept < mixed.metrics["queries/train"]
    with pytest.raises(AgentError, match=r"0 of \d+ training queries differ by over 10%"):
        train_agent(flat, PlainEncoder(), SPACE, tmp_path)


def test_labels_that_lack_a_reranker_are_trained_on_but_not_compared(tmp_path: Path) -> None:
    split = train_agent(LABELS, PlainEncoder(), SPACE, tmp_path, AgentSettings(epochs=1)).split
    partial = [
        row
        for row in LABELS
        if row.query not in split.test or row.configuration.reranker == "minilm"
    ]
    metrics = train_agent(partial, PlainEncoder(), SPACE, tmp_path).metrics
    assert not any(name.startswith("test/") for name in metrics)


def test_a_new_training_replaces_the_record_of_the_old(tmp_path: Path) -> None:
    for epochs in (3, 2):
        settings = AgentSettings(epochs=epochs, wandb="offline")
        train_agent(LABELS, PlainEncoder(), SPACE, tmp_path, settings)
    assert len(list(read_jsonl(tmp_path / "metrics.jsonl"))) == 2
    assert len(list(tmp_path.glob("wandb/offline-run-*"))) == 2


def test_impossible_settings_and_labels_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"epochs: 0 is below 1; batch_size: 1 .*; lr: 0"):
        train_agent(
            LABELS, PlainEncoder(), SPACE, tmp_path, AgentSettings(epochs=0, batch_size=1, lr=0)
        )
    with pytest.raises(LabelError, match="0 different questions"):
        train_agent([], PlainEncoder(), SPACE, tmp_path)
