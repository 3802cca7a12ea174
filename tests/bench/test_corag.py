import json

import numpy as np
import pytest

from bench.corag import Case, Curve, linear_fit, main
from bench.published_tree import published_search
from pipelines.corag.types import TreeSettings
from pipelines.data.chunks import Chunk
from tests.tiny import write_model

PAIRS = {(0,): 0.3, (0, 2): 0.4, (2, 3): 0.8, (3, 2): 0.9, (0, 1, 3): 0.6}
"""The example of the paper's figure 1."""


def test_the_published_pattern_scores_one_by_one_and_never_remembers():
    asked = []

    def score(order):
        asked.append(order)
        return PAIRS.get(order, 0.1)

    # Two expansions: the root's 4 children, then the 3 children of the best, (0,).
    order = published_search(score, [256] * 4, 1024, TreeSettings(2, c=0.0))
    assert asked == [(0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3)]
    # Every child counts for its ancestors: (0,) has .3 + .1 + .4 + .1 over 4 visits.
    assert order == (0, 2)


def test_the_published_pattern_keeps_the_budget_and_ends_on_small_trees():
    asked = []
    settings = TreeSettings(50)
    order = published_search(lambda o: asked.append(o) or 0.5, [10, 10, 90], 20, settings)
    assert set(asked) == {(0,), (1,), (0, 1), (1, 0)}
    assert order in asked
    assert published_search(lambda o: 1.0, [10], 5, settings) == ()


def test_fit_of_a_line_and_slope():
    x = [10, 20, 50, 100]
    r2, slope = linear_fit(x, [0.1 * v for v in x])
    assert (r2, slope) == (pytest.approx(1.0), pytest.approx(1.0))
    r2, slope = linear_fit(x, [v**2 for v in x])
    assert slope == pytest.approx(2.0)
    assert r2 < 0.97


def test_a_curve_tells_when_a_utility_was_first_seen():
    class Lengths:
        def score(self, batch):
            from actors.expansion.types import OrderScore

            return [tuple(OrderScore(len(o) / 10, 1) for o in each.orders) for each in batch]

    case = Case("q", tuple(Chunk(f"d#{i}", "text", 1, "d") for i in range(4)))
    curve = Curve(case, Lengths())
    with curve.running():
        assert curve.batch([(0,), (1, 2)]) == [0.1, 0.2]
        assert curve.single((0,)) == 0.1
        assert curve.single((0, 1, 2)) == pytest.approx(0.3)
    assert curve.best == pytest.approx(0.3)
    assert curve.when(0.15) <= curve.when(0.25) <= curve.seconds
    assert len(curve.steps) == 2


def test_the_whole_benchmark_on_a_small_set(tmp_path, capsys):
    model = write_model(tmp_path / "model")
    rng = np.random.default_rng(0)
    words = ["gout", "zinc", "iron", "ulcer", "asthma", "aspirin"]
    folder = tmp_path / "qa"
    folder.mkdir()
    (folder / "documents.jsonl").write_text(
        "".join(
            json.dumps({"id": f"d{i}", "text": " ".join(rng.choice(words, 8)) + f" {i}."}) + "\n"
            for i in range(30)
        )
    )
    (folder / "questions.jsonl").write_text(
        json.dumps({"id": "q", "question": "gout zinc", "answers": ["x"], "split": "test"}) + "\n"
    )
    out = tmp_path / "bench.json"
    main(
        [
            *("--questions", str(folder), "--reranker", "bm25", "--tokenizer", str(model)),
            *("--cases", "1", "--rounds", "1", "--candidates", "8", "--iterations", "3"),
            *("--upper-candidates", "5", "--sizes", "10", "20", "40", "--json", str(out)),
        ]
    )
    found = json.loads(out.read_text())
    upper = found["a"][0]
    assert upper["upper_evaluations"] == 5 + 20 + 60 + 120 + 120
    assert 0 < upper["utility"] <= 1 + 1e-9
    assert upper["evaluations"] <= 0.1
    assert found["b"]["sequences"]["corag"][0] > found["b"]["sequences"]["naive"][0] > 0
    assert found["c"]["throughput"] > 0
    assert found["d"]["iterations"]["sizes"] == [10, 20, 40]
    shown = capsys.readouterr().out
    for part in ("(a)", "(b)", "(c)", "(d)", "log-log slope"):
        assert part in shown
