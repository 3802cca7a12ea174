"""Label sweeps on a real Ray."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.run_dir import read_jsonl
from pipelines.corag.labels import LabelError, read_labels
from pipelines.corag.space import SearchSpace
from tests.tune_sweeps.labellers import (
    ArithmeticLabeller,
    TinyLabeller,
    arithmetic_questions,
    tiny_chunks,
    tiny_questions,
)
from tune_sweeps.corag_labels import LabelSweepError, LabelSweepSettings, run_label_sweep

SPACE = SearchSpace(("bm25", "minilm"))
SETTINGS = LabelSweepSettings(
    settings_per_reranker=4, block=2, first_rung=2, keep=1, desk_cpus=0, start_timeout_s=60
)
SCRIPT = Path(__file__).parent / "scripts" / "sweep.py"


def _journal(labeller: ArithmeticLabeller) -> list[tuple[str, str]]:
    rows = [line.split() for line in labeller.journal.read_text().splitlines()]
    return [(query, key) for query, key, _ in rows]


def test_a_sweep_halves_and_labels_everything_once(ray_local: None, tmp_path: Path) -> None:
    labeller = ArithmeticLabeller(tmp_path / "journal")
    folder = tmp_path / "sweep"
    questions = arithmetic_questions(6)
    result = run_label_sweep(SETTINGS, questions, SPACE, labeller, folder)
    labels = read_labels(result.labels)
    # rungs end at 2, 4, 6; of 4 settings 2 + the paper's, then 1 + the paper's go on
    assert (result.rungs, result.configurations) == (3, 8)
    seen = Counter(label.configuration for label in labels)
    assert len(labels) == result.rows == len(_journal(labeller)) == len(set(_journal(labeller)))
    for reranker in SPACE.rerankers:
        assert seen[SPACE.defaults(reranker)] == 6
        drawn = sorted(
            (abs(c.settings.c - 2), count)
            for c, count in seen.items()
            if c.reranker == reranker and c != SPACE.defaults(reranker)
        )
        # noise is at most .1 and a step of c costs at least that: the nearest to 2 see the most
        assert [count for _, count in drawn] == sorted((c for _, c in drawn), reverse=True)
    assert {label.query for label in labels} == {question.id for question in questions}
    reports = list(read_jsonl(folder / "metrics.jsonl"))
    assert [row["step"] for row in reports] == list(range(1, len(reports) + 1))
    assert all(0 <= row["label/mean_rouge_l"] <= 1 for row in reports)

    # run again: nothing is left to do
    again = run_label_sweep(SETTINGS, questions, SPACE, labeller, folder)
    assert again.rows == len(_journal(labeller)) == result.rows

    # labels that were lost although Tune's state says that the trials are done
    whole = result.labels.read_bytes()
    path = next((folder / "trials").glob("*-c2.4-l0.1.jsonl"))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3])[:-10])
    mended = run_label_sweep(SETTINGS, questions, SPACE, labeller, folder)
    assert mended.labels.read_bytes() == whole
    assert len(_journal(labeller)) == result.rows + 4  # the rows that were cut off, no other

    with pytest.raises(LabelError, match=r"another sweep \(model: None -> 'b'\)"):
        run_label_sweep(SETTINGS, questions, SPACE, labeller, folder, identity={"model": "b"})


def test_a_desk_that_dies_is_replaced_and_no_label_is_lost(ray_local: None, tmp_path: Path) -> None:
    settings = LabelSweepSettings(
        settings_per_reranker=1, block=3, reduction=1, desk_cpus=0, start_timeout_s=60
    )
    questions = arithmetic_questions(3)
    whole = ArithmeticLabeller(tmp_path / "whole")
    expected = run_label_sweep(settings, questions, SPACE, whole, tmp_path / "a")
    dying = ArithmeticLabeller(tmp_path / "dying", dies_at=questions[1].id)
    found = run_label_sweep(settings, questions, SPACE, dying, tmp_path / "b")
    assert dying.journal.with_suffix(".died").exists()
    assert len({line.split()[2] for line in dying.journal.read_text().splitlines()}) == 2
    assert found.labels.read_bytes() == expected.labels.read_bytes()


def test_failed_trials_are_told_and_made_good_later(ray_local: None, tmp_path: Path) -> None:
    settings = LabelSweepSettings(
        settings_per_reranker=1, block=3, reduction=1, desk_cpus=0, start_timeout_s=60
    )
    questions, folder = arithmetic_questions(3), tmp_path / "sweep"
    broken = ArithmeticLabeller(tmp_path / "journal", refuses="minilm")
    with pytest.raises(
        LabelSweepError, match=r"1 of 2 trials failed.*the reranker's files are damaged"
    ):
        run_label_sweep(settings, questions, SPACE, broken, folder)
    assert {key for _, key in _journal(broken)} == {"bm25-i10-c2.4-l0.1"}
    mended = ArithmeticLabeller(tmp_path / "journal")
    result = run_label_sweep(settings, questions, SPACE, mended, folder)
    assert result.rows == len(_journal(mended)) == 6


def _broken_maker() -> ArithmeticLabeller:
    raise OSError("no model in /nowhere")


def test_a_desk_that_cannot_start_is_told(ray_local: None, tmp_path: Path) -> None:
    with pytest.raises(LabelSweepError, match=r"a desk cannot start: .*no model in /nowhere"):
        run_label_sweep(SETTINGS, arithmetic_questions(2), SPACE, _broken_maker, tmp_path)


def test_a_real_sweep_with_bm25_and_a_model(
    ray_local: None, tiny_model: Path, tmp_path: Path
) -> None:
    settings = LabelSweepSettings(
        settings_per_reranker=3, block=4, reduction=1, desk_cpus=1, start_timeout_s=60
    )
    maker = TinyLabeller(tiny_model, tmp_path / "answers.sqlite")
    space = SearchSpace(("bm25",))
    result = run_label_sweep(settings, tiny_questions(), space, maker, tmp_path / "sweep")
    labels = read_labels(result.labels)
    assert len(labels) == 12
    costs = {chunk.id: chunk.tokens for chunk in tiny_chunks()}
    for label in labels:
        assert label.cost == sum(costs[chunk] for chunk in label.chunks) <= maker.budget
        assert label.chunks
        assert 0 < label.reward <= 1
    # one answer for each context, whatever the configuration
    answers: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for label in labels:
        answers.setdefault((label.query, label.chunks), set()).add(label.answer)
    assert len(answers) < len(labels)
    assert all(len(found) == 1 for found in answers.values())


def test_impossible_settings_and_questions(tmp_path: Path) -> None:
    labeller = ArithmeticLabeller(tmp_path / "journal")
    with pytest.raises(LabelError, match=r"block: 0 is below 1; reduction: 0.5 is below 1"):
        run_label_sweep(
            LabelSweepSettings(block=0, reduction=0.5), [], SPACE, labeller, tmp_path / "s"
        )
    with pytest.raises(LabelError, match="0 questions, must be at least 1"):
        run_label_sweep(SETTINGS, [], SPACE, labeller, tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.long
def test_a_sweep_killed_half_way_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    def run(name: str, until: Callable[[], bool] | None = None) -> int:
        command = [sys.executable, str(SCRIPT), str(tmp_path / name), str(tmp_path / f"{name}.log")]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        process = subprocess.Popen(command, env=environment)
        end = time.monotonic() + 240
        while process.poll() is None and time.monotonic() < end:
            if until is not None and until():
                process.send_signal(signal.SIGKILL)
            time.sleep(0.02)
        return process.wait(timeout=5)

    def made(name: str) -> list[str]:
        path = tmp_path / f"{name}.log"
        return path.read_text().splitlines() if path.exists() else []

    assert run("whole") == 0
    total = len(made("whole"))
    # three deaths: in the first rung, between, and near the end
    for share in (0.2, 0.5, 0.9):
        assert run("killed", lambda share=share: len(made("killed")) > share * total) == -9
    assert len(made("killed")) < total
    assert run("killed") == 0
    whole = (tmp_path / "whole" / "labels.jsonl").read_bytes()
    assert (tmp_path / "killed" / "labels.jsonl").read_bytes() == whole
    # What a desk had made when it was killed and no trial had written is made again, no more:
    # at most a block on its way at each death.
    for path in (tmp_path / "killed" / "trials").glob("*.jsonl"):
        queries = [row["query"] for row in read_jsonl(path)]
        assert len(queries) == len(set(queries))
    assert len(made("killed")) - total <= 3 * 4
