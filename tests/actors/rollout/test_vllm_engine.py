"""The vLLM engine for real, on a tiny model: in a process of its own, as vLLM changes its host."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def report(tiny_model: Path) -> dict[str, Any]:
    script = Path(__file__).parent / "scripts" / "vllm_engine.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tiny_model)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_every_request_is_answered_once(report: dict[str, Any]) -> None:
    assert report["keys"] == [f"r{i}" for i in range(40)]


def test_logprobs_equal_transformers(report: dict[str, Any]) -> None:
    """fp32: at temperature .7 the engine reports what it drew from, not the raw distribution."""
    assert report["gap_generated"] < 1e-4
    assert report["gap_raw"] > 1e-2


def test_seed_fixes_the_completion(report: dict[str, Any]) -> None:
    assert report["same_seed_same_tokens"]
    assert report["other_seed_other_tokens"]


def test_new_weights_are_in_force_from_the_first_token(report: dict[str, Any]) -> None:
    """The tied head is repacked and the prefix cache dropped (vllm#9744): equal to a fresh engine
    of the new weights, for a prompt that was cached under the old ones."""
    assert report["gap_before_update"] > 0.1
    assert report["gap_after_update"] < 1e-4
    assert report["gap_generated_after_update"] < 1e-4
    assert report["version_after_update"] == 5


def test_an_abandoned_generation_leaves_nothing_behind(report: dict[str, Any]) -> None:
    assert report["keys_after_abandon"] == ["r0", "r1"]


def test_batched_logprobs_equal_transformers(report: dict[str, Any]) -> None:
    """Prompts that are in the prefix cache: vLLM must not leave their logits out."""
    assert report["gap_batched"] < 1e-4
    assert report["gap_batched_alone"] < 1e-4
    assert report["empty_batch"] == []
