import json

import pytest

from pipelines.corag.methods import METHODS
from pipelines.corag.plots import draw_comparison, draw_sweep
from pipelines.corag.report import (
    HONEST,
    Mean,
    as_markdown,
    as_rich,
    read_report,
    summarise,
    write_report,
)
from tests.pipelines.corag.test_results import row


def rows():
    """ROUGE-L of corag is that of naive plus .1, .2 and .3."""
    out = []
    for i, gain in enumerate((0.1, 0.2, 0.3)):
        out.append(row(f"q{i}", "naive", rouge_l=0.1 * i, seconds=_seconds(1.0), sequences=60))
        out.append(row(f"q{i}", "corag", rouge_l=0.1 * i + gain, seconds=_seconds(3.0)))
    return out


def _seconds(search):
    return {"embed": 0.5, "retrieve": 0.25, "search": search, "prompt": 0.25, "generate": 1.0}


def test_means_and_differences_by_hand():
    corag, naive = summarise(rows())
    assert (corag.method, naive.method) == ("corag", "naive")
    assert naive.measures["rouge_l"].value == pytest.approx(0.1)
    assert corag.measures["rouge_l"].value == pytest.approx(0.3)
    difference = corag.against["rouge_l"]
    assert difference.value == pytest.approx(0.2)
    # Resamples of .1, .2, .3: none has a mean outside them; .1 thrice is 1 of 27 (3.7 %).
    assert difference.low == pytest.approx(0.1)
    assert difference.high == pytest.approx(0.3)
    # All signs equal: 2 of 8 assignments are as far.
    assert difference.p == pytest.approx(0.25, abs=0.02)
    assert not naive.against
    assert (naive.sequences, corag.sequences) == (60, 30)


def test_shares_of_the_stages():
    corag, naive = summarise(rows())
    assert naive.total_s == pytest.approx(3.0)
    assert corag.total_s == pytest.approx(5.0)
    assert corag.shares["search"] == pytest.approx(0.6)
    assert sum(corag.shares.values()) == pytest.approx(1.0)


def test_seconds_that_are_not_known_are_not_shown_as_zero():
    (summary,) = summarise([row(seconds={"embed": 0.1, "generate": None})])
    assert summary.total_s is None
    assert summary.shares == {}
    assert summary.seconds["embed"] == 0.1


def test_only_questions_that_both_answered_are_compared():
    extra = row("q9", "corag", rouge_l=1.0, seconds=_seconds(3.0))
    corag = summarise([*rows(), extra])[0]
    assert corag.questions == 4
    assert corag.against["rouge_l"].value == pytest.approx(0.2)


def test_budgets_ascend_and_methods_come_in_their_order():
    some = [row(method=m, budget=b) for b in (200, 100) for m in ("greedy", "naive", "corag")]
    assert [(s.budget, s.method) for s in summarise(some)] == [
        *((100, m) for m in ("corag", "naive", "greedy")),
        *((200, m) for m in ("corag", "naive", "greedy")),
    ]
    assert next(iter(METHODS)) == "corag"


def test_tables_and_files(tmp_path):
    summaries = summarise([*rows(), row("q0", "mmr", cost=101)])
    table = as_markdown(summaries)
    assert table.count("\n") == 2 + 3
    assert "| 100 | corag | 0.500 | 0.250 | 0.300 |" in table
    assert as_rich(summaries).row_count == 3
    markdown, data = write_report(tmp_path, {"questions": "tiny"}, summaries)
    text = markdown.read_text()
    assert "- questions: tiny" in text
    assert "cost more than the budget: 1\n" in text
    assert HONEST in text
    read = json.loads(data.read_text())
    assert read["about"] == {"questions": "tiny"}
    assert read["rows"][0]["measures"]["rouge_l"]["value"] == pytest.approx(0.3)
    assert read["rows"][0]["shares"]["search"] == pytest.approx(0.6)
    assert read_report(data) == summaries


def test_plots_are_drawn(tmp_path):
    summaries = summarise([*rows(), row("q0", "mmr", 200), row("q0", "mmr", 100)])
    drawn = draw_comparison(summaries, tmp_path / "plots" / "comparison.png")
    assert drawn.read_bytes().startswith(b"\x89PNG")
    points = {v: {"rouge_l": Mean(0.3, 0.2, 0.4), "reward": Mean(0.5, 0.5, 0.5)} for v in "01"}
    sweep = draw_sweep("c", points, tmp_path / "c.svg", seconds={"0": 1.0})
    assert "<svg" in sweep.read_text()
