"""The benchmark's own machinery, on a tiny model: every part runs and says what it should."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bench.realm import _arguments, live, main, unchanged_simulated, verdict
from bench.realm_cases import Side, invented_set, make_bench
from pipelines.realm.simulated import SimulatedSessions
from tests.tiny import write_model


def test_invented_questions_are_answered_by_their_pages():
    made = invented_set(12)
    pages = {page.id: page for page in made.passages}
    for question in made.questions:
        first, second = question.decomposition
        assert first.answer in pages[first.passage].text
        assert second.answer in pages[second.passage].text
        assert question.answers == (second.answer,)
    assert {question.split for question in made.questions} == {"train", "dev", "test"}
    assert invented_set(12) == made


FEW = "--invented 40 --cases 2 --rounds 1 --tokens 120 --short 2 --simulated 8 --searches 6"
WORDS = ("--relevance", "words", "--gap-s", "0.01", "--threads", "1", "--dtype", "float32")


def test_both_sides_retrieve_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = write_model(tmp_path / "model")  # counts the tokens

    async def run() -> tuple[dict[str, Any], dict[str, Any]]:
        bench = await make_bench(
            _arguments([*FEW.split(), *WORDS, "--model", str(model)]), tmp_path
        )
        engine = SimulatedSessions(bench.hop_set.questions, bench.hop_set.passages)
        found = await live(Side(bench, engine), "simulated"), await unchanged_simulated(bench)
        bench.retriever.close()
        return found

    costs, answers = asyncio.run(run())
    assert len(costs["overhead"]["ours"]) == len(costs["overhead"]["naive"]) >= 2
    assert set(costs["ratios"]) == {"seconds a retrieval", "seconds to the first token"}
    assert 0 < costs["kept"] < 0.6
    assert 0 <= answers["unchanged"] <= 1
    assert "SIMULATED" in capsys.readouterr().out


@pytest.mark.long
def test_every_part_runs_on_an_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = write_model(tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 4096}))
    target = tmp_path / "found.json"
    engine = ("--engines", "transformers", "--model", str(model), "--json", str(target))
    main([*FEW.split(), *WORDS, *engine])
    printed = capsys.readouterr().out
    for line in ("(a) transformers", "(b) SIMULATED", "(c) prefetch", "(d) transformers"):
        assert line in printed
    assert set(json.loads(target.read_text())["transformers"]) == {"live", "short answers", "rsus"}


def test_verdicts(capsys: pytest.CaptureFixture[str]):
    verdict("ratio", 3.2, 3.2, at_least=True)
    verdict("share", 0.28, 0.27, at_least=False, percent=True)
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("ratio: 3.20 (at least 3.2): PASS")
    assert second.endswith("share: 28.0% (at most 27%): SHORT OF IT")
