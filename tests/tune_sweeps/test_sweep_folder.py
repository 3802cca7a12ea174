"""The folder of a sweep."""

import json
from pathlib import Path

import pytest

from pipelines.corag.labels import LabelError, LabelFile, read_labels
from pipelines.corag.types import Configuration, TreeSettings
from tests.pipelines.corag.label_toys import label
from tune_sweeps.sweep_folder import SweepFolder

ABOUT = {"seed": 0, "space": {"c": (0.0, 4.0)}}


def test_the_same_sweep_is_taken_up_and_another_refused(tmp_path: Path) -> None:
    for _ in range(2):
        SweepFolder(tmp_path, ABOUT).__exit__()
    with pytest.raises(LabelError, match=r"another sweep \(model: None -> 'b'; seed: 0 -> 1\)"):
        SweepFolder(tmp_path, {**ABOUT, "seed": 1, "model": "b"})
    SweepFolder(tmp_path, ABOUT).__exit__()  # the refusal let the folder go


def test_one_driver_at_a_time(tmp_path: Path) -> None:
    with (
        SweepFolder(tmp_path, ABOUT),
        pytest.raises(LabelError, match="in use by another sweep"),
    ):
        SweepFolder(tmp_path, ABOUT)


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabelError, match="cannot be written"):
        SweepFolder(tmp_path / "file", ABOUT)
    (tmp_path / "sweep.json").write_text("[]x")
    with pytest.raises(LabelError, match=r"sweep\.json cannot be read"):
        SweepFolder(tmp_path, ABOUT)


def test_gathered_by_question_then_configuration(tmp_path: Path) -> None:
    configurations = [Configuration("bm25", TreeSettings(n)) for n in (7, 6)]
    with SweepFolder(tmp_path, ABOUT) as folder:
        for configuration, queries in zip(configurations, (("a", "b"), ("b",)), strict=True):
            with LabelFile(folder.trial(configuration), configuration) as file:
                for query in queries:
                    file.append(label(query, iterations=configuration.settings.iterations))
        path = folder.gather(["b", "a", "never"], configurations)
    found = [(row.query, row.configuration.settings.iterations) for row in read_labels(path)]
    assert found == [("b", 7), ("b", 6), ("a", 7)]
    assert json.loads(path.read_text().splitlines()[0])["text"] == "b"
