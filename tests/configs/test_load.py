import dataclasses
from pathlib import Path

import pytest

import configs
from configs.load import ConfigError, built_in_names, load_corag, load_realm, load_rewriter, to_yaml

FOLDER = Path(configs.__file__).parent
NEEDED = ["model.path=smollm2", "train.steps=3", "train.samples_per_task=4"]


def problems(path, overrides=()):
    with pytest.raises(ConfigError) as error:
        load_rewriter(path, overrides)
    assert str(error.value) == "\n".join(error.value.problems)
    return list(error.value.problems)


def loader(name):
    """What reads a file of `configs/`: its name says of which kind it is."""
    kinds = {"corag": load_corag, "realm": load_realm}
    return kinds.get(Path(name).name.split("-")[0], load_rewriter)


def left_to_the_user(name):
    """Overrides for what a run line must give, e.g. the path of a model. Any other problem makes an
    override that cannot be read."""
    try:
        loader(name)(name)
    except ConfigError as error:
        return [p.replace(": a value is needed", "=x") for p in error.problems]
    return []


@pytest.mark.parametrize("name", built_in_names())
def test_every_configuration_that_ships_loads_and_comes_back(name, tmp_path):
    load, given = loader(name), left_to_the_user(name)
    config = load(name, given)
    assert config == load(FOLDER / f"{name}.yaml", given)
    (tmp_path / "config.yaml").write_text(to_yaml(config))
    assert load(tmp_path / "config.yaml") == config


def test_overrides_win_over_the_file_and_values_have_their_types(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("model:\n  path: a\ntrain: {steps: 1, samples_per_task: 2}\n")
    config = load_rewriter(
        file, ["train.steps=5", "learner.lr=1e-5", "data.files=[a.xml,b.xml]", "tracking.name="]
    )
    assert (config.train.steps, config.train.samples_per_task) == (5, 2)
    assert config.learner.lr == 1e-5
    assert config.data.files == ("a.xml", "b.xml")
    assert config.tracking.name == ""


def test_the_result_is_frozen_and_hashable_all_the_way_down(tmp_path):
    config = load_rewriter(None, NEEDED)
    assert isinstance(hash(config), int)
    assert isinstance(config.search.fields, tuple)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.train.steps = 4


def test_all_problems_are_told_at_once(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(
        "train:\n  stepz: 3\n  seed: abc\nlerner:\n  lr: 3\nsearch: {order: recnt}\nreward: null\n"
    )
    told = problems(file, ["train.steps", "rollout.workers=0", "train.eval_every=often"])
    assert told == [
        f"train.stepz: Key 'stepz' not in 'TrainConfig'. Did you mean: 'steps'? (in {file})",
        f"train.seed: Value 'abc' of type 'str' could not be converted to Integer (in {file})",
        f"lerner: Key 'lerner' not in 'RewriterConfig'. Did you mean: 'learner'? (in {file})",
        f"reward: field 'reward' is not Optional (in {file})",
        "train.steps: an override is written section.name=value",
        "train.eval_every: Value 'often' of type 'str' could not be converted to Integer "
        "(in override)",
        "model.path: a value is needed",
        "search.order: 'recnt' is not one of recent, relevance",
        "rollout.workers: 0 is below 1",
        "train.samples_per_task: grpo compares samples of one task and needs 2 or more",
    ]


def test_missing_values_alone(tmp_path):
    assert problems(None, ["train.samples_per_task=2"]) == [
        "model.path: a value is needed",
        "train.steps: a value is needed",
    ]


def test_duplicate_keys_in_a_file_are_refused(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("train:\n  steps: 1\n  steps: 2\n")
    (told,) = problems(file)
    assert "duplicate key steps" in told
    assert str(file) in told


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a: [1\n", "flow sequence"),
        (b"- 1\n- 2\n", "holds a list"),
        (b"\xff", "cannot be read"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path, data, why):
    file = tmp_path / "c.yaml"
    file.write_bytes(data)
    (told,) = problems(file)
    assert why in told


def test_files_and_names_that_do_not_exist(tmp_path):
    assert "No such file" in problems(tmp_path / "none.yaml")[0]
    assert "no such file or built-in" in problems("basic/nothing")[0]
    assert "no such file or built-in" in problems(tmp_path)[0]


def test_a_reference_to_another_value_is_resolved_or_named(tmp_path):
    config = load_rewriter(None, [*NEEDED, "warmup.lr=${learner.lr}"])
    assert config.warmup.lr == config.learner.lr
    told = problems(None, [*NEEDED, "warmup.lr=${learner.nope}"])
    assert len(told) == 1
    assert told[0].startswith("warmup.lr: ")


@pytest.mark.parametrize("item", ["", "=3", "train.steps", "--train.steps 3"])
def test_overrides_without_name_or_value(item):
    assert "section.name=value" in problems(None, [*NEEDED, item])[0]


def test_yaml_comes_back_equal(tmp_path):
    config = load_rewriter(None, [*NEEDED, "run_dir='runs/x: y'", "tracking.name=7"])
    (tmp_path / "c.yaml").write_text(to_yaml(config))
    assert load_rewriter(tmp_path / "c.yaml") == config
