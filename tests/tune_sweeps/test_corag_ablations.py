"""The command line of the ablation sweeps. Whole sweeps run in `test_command_long.py`."""

import pytest

from configs.load import load_corag
from tune_sweeps.corag_ablations import main, with_whole_paths


def test_what_trials_read_is_named_from_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qa.jsonl").write_text("{}\n")
    config = with_whole_paths(load_corag(None, ["data.questions=qa.jsonl", "model.path=smollm2"]))
    assert config.data.questions == str(tmp_path / "qa.jsonl")
    assert config.model.path == "smollm2"
    assert config.data.index == ""


def test_bad_input_ends_in_one_message_and_code_2(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["tree.iterations=0", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "tree.iterations" in capsys.readouterr().err
