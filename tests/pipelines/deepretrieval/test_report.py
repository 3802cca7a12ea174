import io
from pathlib import Path
from types import SimpleNamespace

from rich.console import Console

from configs.schema import DataConfig, RewriterConfig, SearchConfig, TrainConfig
from pipelines.data.split import TaskSplit
from pipelines.deepretrieval.environment import Environment
from pipelines.deepretrieval.evaluate import Row
from pipelines.deepretrieval.report import as_markdown, as_rich, ordered, write_report

BASELINE = Row("original question", 0.1234, 0.0, 0.25, 0.0, -1.5, tasks=4, seeds=1)
MODEL = Row("trained model", 0.6789, 0.0123, 0.5, 0.0625, 3.456, tasks=4, seeds=3)

PLAIN = """\
| query by | Recall@100 | ± seeds | recall ≥ .5 | format errors | reward |
|---|--:|--:|--:|--:|--:|
| original question | 0.123 |  | 25.0% | 0.0% | -1.50 |
| trained model | 0.679 | 0.012 | 50.0% | 6.2% | +3.46 |
"""

BY_KIND = """\
| query by | Recall@7 | ± seeds | pairs | pico | recall ≥ .5 | format errors | reward |
|---|--:|--:|--:|--:|--:|--:|--:|
| one | 0.500 |  | 0.250 | 0.750 | 50.0% | 0.0% | +0.00 |
| two | 0.500 |  |  | 0.500 | 50.0% | 0.0% | +0.00 |
"""


def named(*rows):
    return {row.name: row for row in rows}


def row(name, by_kind):
    return Row(name, 0.5, 0.0, 0.5, 0.0, 0.0, tasks=2, seeds=1, by_kind=by_kind)


def test_the_table_by_hand():
    assert as_markdown(named(MODEL, BASELINE), 100) == PLAIN


def test_kinds_have_columns_when_there_are_several():
    one, two = row("one", {"pico": 0.75, "pairs": 0.25}), row("two", {"pico": 0.5})
    assert as_markdown(named(one, two), 7) == BY_KIND
    alone = as_markdown(named(two), 7).splitlines()[0]
    assert "pico" not in alone


def test_rows_go_from_baselines_to_the_trained_model():
    names = [
        "original question",
        "all words ANDed",
        "bag of words (ORed)",
        "population words ANDed",
        "any P word AND any I word",
        "human query",
        "pseudo-document expansion",
        "untrained model",
        "warmed-up model",
        "trained model",
        "something else",
    ]
    rows = named(*(row(name, {}) for name in reversed(names)))
    assert [r.name for r in ordered(rows)] == names


def test_the_terminal_table_names_k():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(as_rich(named(BASELINE, MODEL), 100))
    text = console.export_text()
    for part in ("first 100 hits", "Recall @100", "0.679", "+3.46", "6.2%"):
        assert part in text


def test_the_report_says_what_was_evaluated(tmp_path):
    config = RewriterConfig(
        search=SearchConfig(k=100, order="relevance"),
        data=DataConfig(tasks="mesh-pico"),
        train=TrainConfig(steps=1, final_eval_samples=3, eval_temperature=0.5),
    )
    split = TaskSplit([SimpleNamespace()] * 30, [SimpleNamespace()] * 12, 0)
    environment = Environment("model", Path("index"), 27123, split, None)
    path = write_report(tmp_path, config, named(BASELINE, MODEL), environment)
    assert path == tmp_path / "report.md"
    assert path.read_text(encoding="utf-8") == (
        f"# {tmp_path.name}\n\n"
        "27,123 records, order `relevance`, first 100 hits; 30 training tasks, 12 held-out tasks "
        f"(mesh-pico); 3 sampling seeds at temperature 0.5.\n\n{PLAIN}"
    )
