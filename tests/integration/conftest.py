"""A configuration that trains the tiny model on the tiny corpus in seconds."""

from pathlib import Path
from typing import Any

import pytest

from configs.load import load_rewriter
from configs.schema import RewriterConfig
from tests.tiny import write_corpus


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """42 records, 12 tasks."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "records.jsonl")


@pytest.fixture
def tiny_config(tiny_model: Path, tiny_corpus: Path, tmp_path: Path, monkeypatch: Any) -> Any:
    """`ci/tiny` on the tiny model and corpus; call it with a run folder name and overrides."""
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path / "cache"))

    def make(name: str, *overrides: str) -> RewriterConfig:
        return load_rewriter(
            "ci/tiny",
            [
                f"model.path={tiny_model}",
                f"data.corpus={tiny_corpus}",
                f"run_dir={tmp_path / name}",
                *overrides,
            ],
        )

    return make
