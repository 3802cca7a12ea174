"""Sessions on vLLM for real, beside those on transformers, in a process of their own."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actors.rollout.sessions.vllm_sessions import CPU_BLOCK, entropy
from tests.actors.rollout.sessions.lively import write_lively_model

ROOT = Path(__file__).parents[4]
pytest.importorskip("vllm", reason="vLLM is not installed")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    model = write_lively_model(tmp_path_factory.mktemp("model") / "lively")
    script = Path(__file__).parents[1] / "scripts" / "vllm_sessions.py"
    done = subprocess.run(
        [sys.executable, "-m", "tests.actors.rollout.scripts.vllm_sessions", str(model)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert script.is_file()
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_entropy_by_hand() -> None:
    """1/2 and 1/4 known, the rest of 1/4 as one outcome: 1.5 bit; nothing left: 1 bit."""
    assert entropy([math.log(0.5), math.log(0.25)]) == pytest.approx(1.5 * math.log(2))
    assert entropy([math.log(0.5)] * 2) == pytest.approx(math.log(2))
    assert entropy([0.0, float("-inf")]) == 0.0


@pytest.mark.long
def test_both_engines_write_the_same_greedy_text(report: dict[str, Any]) -> None:
    """With cuts inside of tokens, insertions and questions, four sessions at once, float32."""
    for ours, theirs in zip(report["vllm"], report["transformers"], strict=True):
        assert ours["text"] == theirs["text"]
        assert ours["ids"] == theirs["ids"]
        assert ours["answers"] == theirs["answers"]
        assert ours["answers"][0] == ours["answers"][1] != ""
        assert ours["logprobs"] == pytest.approx(theirs["logprobs"], abs=1e-3)
        pairs = zip(ours["entropies"], theirs["entropies"], strict=True)
        assert all(low <= full + 1e-3 for low, full in pairs)
    texts = [chain["text"] for chain in report["vllm"]]
    assert len(set(texts)) == len(texts)
    assert texts == [chain["text"] for chain in report["vllm_alone"]]


@pytest.mark.long
def test_the_prefix_is_kept_on_both(report: dict[str, Any]) -> None:
    """All whole blocks on vLLM, all tokens fed on transformers; nothing if switched off."""
    for kept, anew in (report["vllm_insertion"], report["transformers_insertion"]):
        assert kept["prompt"] > kept["stood"] > 100
        assert anew["cached"] == 0
    kept = report["vllm_insertion"][0]
    assert kept["stood"] - CPU_BLOCK < kept["cached"] <= kept["stood"]
    assert kept["cached"] % CPU_BLOCK == 0
    exact = report["transformers_insertion"][0]
    assert exact["stood"] - 1 <= exact["cached"] <= exact["stood"]  # the last one was only drawn


@pytest.mark.long
def test_usage_counts_what_vllm_counted(report: dict[str, Any]) -> None:
    for chain in report["vllm"]:
        assert chain["requests"] == 5  # three of the text, two answers
        assert 0 < chain["cached"] < chain["prompt"]
        assert len(chain["first"]) == 3


@pytest.mark.long
def test_a_slow_reader_gives_its_place_up_and_loses_nothing(report: dict[str, Any]) -> None:
    slow = report["slow"]
    assert slow["waiting"] <= 64 + 3
    assert slow["same"]
    assert slow["written"] == slow["expected"] > 66
    assert slow["requests"] > slow["firsts"] == 1


@pytest.mark.long
def test_seeds_fix_the_draws(report: dict[str, Any]) -> None:
    one, two, again = report["drawn"]
    assert one == again != two


@pytest.mark.long
def test_faults_are_of_one_session_or_told_to_all(report: dict[str, Any]) -> None:
    assert "temperature 0.001 is below" in report["faults"]["refused"]
    assert report["faults"]["closed"] == "the vLLM engine was closed"
