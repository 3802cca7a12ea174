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
    settings_per_reranker=4, block=2, first_rung=3, keep=1, desk_cpus=0, start_timeout_s=60
)
SCRIPT = Path(__file__).parent / "scripts" / "sweep.py"


def _journal(labeller: ArithmeticLabeller) -> list[tuple[str, str]]:
    rows = [line.split() for line in labeller.journal.read_text().splitlines()]
    return [(query, key) for query, key, _ in rows]


@pytest.mark.long
def test_a_sweep_halves_and_labels_everything_once(ray_local: None, tmp_path: Path) -> None:
    labeller = ArithmeticLabeller(tmp_path / "journal")
    folder = tmp_path / "sweep"
    questions = arithmetic_questions(6)
    result = run_label_sweep(SETTINGS, questions, SPACE, labeller, folder)
    labels = read_labels(result.labels)
    # rungs end at 3 and 6; of each reranker's four settings two go on, and the paper's in any case
    assert (result.rungs, result.configurations) == (2, 8)
    seen = Counter(label.configuration for label in labels)
    assert len(labels) == result.rows == len(_journal(labeller)) == len(set(_journal(labeller)))
    for reranker in SPACE.rerankers:
        mine = [c for c in seen if c.reranker == reranker]
        first = {c: _worth(labels, c, seen) for c in mine}
        best = sorted(mine, key=lambda c: -first[c])[:2]
        going = {c for c, count in seen.items() if c.reranker == reranker and count == 6}
        assert going == {*best, SPACE.defaults(reranker)}
        assert {seen[c] for c in mine} == {3, 6}
    assert {label.query for label in labels} == {question.id for question in questions}
    reports = list(read_jsonl(folder / "metrics.jsonl"))
    assert [row["step"] for row in reports] == list(range(1, len(reports) + 1))
    assert all(0 <= row["label/mean_rouge_l"] <= 1 for row in reports)

    # run again: nothing is left to do, and another sweep does not mix with it
    again = run_label_sweep(SETTINGS, questions, SPACE, labeller, folder)
    assert again.rows == len(_journal(labeller)) == result.rows
    with pytest.raises(LabelError, match=r"another sweep \(model: None -> 'b'\)"):
        run_label_sweep(SETTINGS, questions, SPACE, labeller, folder, identity={"model": "b"})


def _worth(labels, configuration, seen) -> float:
    """Mean over the questions of the first rung: those that every configuration has."""
    shared = [
        query
        for query in {label.query for label in labels}
        if sum(label.query == query for label in labels) == len(seen)
    ]
    values = [
        label.rouge_l
        for label in labels
        if label.configuration == configuration and label.query in shared
    ]
    assert len(values) == len(shared) == 3
    return sum(values) / len(values)


@pytest.mark.long
def test_labels_decide_where_the_state_of_tune_says_otherwise(
    ray_local: None, tmp_path: Path
) -> None:
    labeller = ArithmeticLabeller(tmp_path / "journal")
    questions, folder = arithmetic_questions(6), tmp_path / "sweep"
    result = run_label_sweep(SETTINGS, questions, SPACE, labeller, folder)
    whole = result.labels.read_bytes()
    path = next((folder / "trials").glob("*-c2.4-l0.1.jsonl"))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3])[:-10])
    mended = run_label_sweep(SETTINGS, questions, SPACE, labeller, folder)
    assert mended.labels.read_bytes() == whole
    assert len(_journal(labeller)) == result.rows + 4  # the rows that were cut off, no other


def test_lost_desks_are_replaced_and_failed_trials_made_good_later(
    ray_local: None, tmp_path: Path
) -> None:
    settings = LabelSweepSettings(
        settings_per_reranker=1, block=3, reduction=1, desk_cpus=0, start_timeout_s=60
    )
    questions, folder = arithmetic_questions(3), tmp_path / "sweep"
    broken = ArithmeticLabeller(tmp_path / "journal", dies_at=questions[1].id, refuses="minilm")
    with pytest.raises(
        LabelSweepError, match=r"1 of 2 trials failed.*the reranker's files are damaged"
    ):
        run_label_sweep(settings, questions, SPACE, broken, folder)
    assert broken.journal.with_suffix(".died").exists()
    assert len({line.split()[2] for line in broken.journal.read_text().splitlines()}) == 2
    assert {key for _, key in _journal(broken)} == {"bm25-i10-c2.4-l0.1"}
    made = len(_journal(broken))

    mended = ArithmeticLabeller(tmp_path / "journal")
    result = run_label_sweep(settings, questions, SPACE, mended, folder)
    assert {key for _, key in _journal(mended)[made:]} == {"minilm-i10-c2.4-l0.1"}
    plain = ArithmeticLabeller(tmp_path / "plain")
    expected = [
        label
        for reranker in SPACE.rerankers
        for label in plain.label(questions, SPACE.defaults(reranker))
    ]
    labels = read_labels(result.labels)
    assert len(labels) == len(_journal(mended)[made:]) + 3 == 6
    assert all(label in expected for label in labels)


def _broken_maker() -> ArithmeticLabeller:
    raise OSError("no model in /nowhere")


def test_a_desk_that_cannot_start_is_told(ray_local: None, tmp_path: Path) -> None:
    with pytest.raises(LabelSweepError, match=r"a desk cannot start: .*no model in /nowhere"):
        run_label_sweep(SETTINGS, arithmetic_questions(2), SPACE, _broken_maker, tmp_path)


def test_a_real_sweep_with_bm25_and_a_model(
    ray_local: None, tiny_model: Path, tmp_path: Path
) -> None:
    settings = LabelSweepSettings(
        settings_per_reranker=4, block=2, first_rung=2, keep=1, desk_cpus=1, start_timeout_s=60
    )
    maker = TinyLabeller(tiny_model, tmp_path / "answers.sqlite")
    space = SearchSpace(("bm25",))
    result = run_label_sweep(settings, tiny_questions(), space, maker, tmp_path / "sweep")
    labels = read_labels(result.labels)
    # 4 settings on 2 questions, then the better two and the paper's on all 4
    assert (result.rungs, result.dropped) in ((2, 1), (2, 2))
    assert len(labels) == result.rows == 16 - 2 * result.dropped
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
        with (tmp_path / f"{name}.out").open("a") as out:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        end = time.monotonic() + 240
        while process.poll() is None and time.monotonic() < end:
            if until is not None and until():
                process.send_signal(signal.SIGKILL)
            time.sleep(0.02)
        if process.poll() is None:
            process.kill()
        return process.wait()

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
    assert "going on from" in (tmp_path / "killed.out").read_text()
    assert "going on from" not in (tmp_path / "whole.out").read_text()
    whole = (tmp_path / "whole" / "labels.jsonl").read_bytes()
    assert (tmp_path / "killed" / "labels.jsonl").read_bytes() == whole
    # What a desk had made when it was killed and no trial had written is made again, no more:
    # at most a block on its way at each death.
    for path in (tmp_path / "killed" / "trials").glob("*.jsonl"):
        queries = [row["query"] for row in read_jsonl(path)]
        assert len(queries) == len(set(queries))
    assert len(made("killed")) - total <= 3 * 4
