import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.realm.segment.command import train_segmenter_command
from pipelines.realm.segment.model import CARD, SegmenterModel
from pipelines.realm.segment.opening import SegmenterError
from pipelines.realm.segment.settings import SegmenterSettings
from pipelines.realm.segment.training import results_table, train_segmenter
from tests.pipelines.realm.segment.toys import write_toys

SMALL = SegmenterSettings(
    data="",
    hidden=32,
    layers=1,
    heads=2,
    feed_forward=32,
    window=32,
    stride=16,
    extra_stride=20,
    vocabulary=400,
    look_ahead=8,
    pooled=8,
    dropout=0,
    token_dropout=0,
    batch_size=8,
    epochs=6,
    rate=4e-3,
    extra_epochs=1,
    threads=1,
)


def test_learns_what_no_rule_knows(tmp_path: Path) -> None:
    data, out = write_toys(tmp_path / "t.jsonl"), tmp_path / "m"
    settings = replace(SMALL, data=str(data), out=str(out))
    made = train_segmenter(settings)
    assert made.results["sentences"]["recall"] == 1
    assert made.results["rules"]["f1"] < 0.3
    assert made.results["trained"]["f1"] > 0.9 > made.results["sentences"]["f1"]
    assert made.results["trained"]["f1@16"] >= made.results["trained"]["f1"]

    card = json.loads((out / CARD).read_text("utf-8"))
    assert card["test"] == made.results
    assert card["test_ids"] == [trace.id for trace in made.split.test]
    assert not {trace.id for trace in made.split.train} & set(card["test_ids"])
    lines = (out / "metrics.jsonl").read_text("utf-8").splitlines()
    dev = [json.loads(line)["dev/f1"] for line in lines]
    assert len(dev) == 6
    assert card["dev"]["dev/f1"] == max(dev)
    assert dev.index(max(dev)) + 1 == card["epoch"]
    assert "| trained |" in results_table(made.results)

    text = made.split.test[0].text
    loaded = SegmenterModel.load(out)
    assert loaded.boundaries(text) == made.model.boundaries(text)


def test_the_same_settings_give_the_same_weights_and_others_do_not(tmp_path: Path) -> None:
    data = write_toys(tmp_path / "t.jsonl", count=10)
    extra = write_toys(tmp_path / "e.jsonl", count=4, first=50)
    short = replace(SMALL, data=str(data), extra=str(extra), epochs=1)

    def weights(name: str, **changes: object) -> bytes:
        out = tmp_path / name
        train_segmenter(replace(short, out=str(out), **changes))  # type: ignore[arg-type]
        return (out / "model.safetensors").read_bytes()

    first = weights("a")
    assert weights("b") == first
    assert weights("c", seed=1) != first
    assert weights("d", extra_epochs=0) != first
    card = json.loads((tmp_path / "a" / CARD).read_text("utf-8"))
    assert card["labels"][0].startswith("data: ")
    assert card["labels"][-1].startswith("extra: ")


def test_boundaries_alone_suffice(tmp_path: Path) -> None:
    text = "It is red. It is big. It is old. It is new. "
    rows = [{"id": str(n), "trace": text * 4, "boundaries": [10, 32]} for n in range(10)]
    data = tmp_path / "t.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    made = train_segmenter(replace(SMALL, data=str(data), out=str(tmp_path / "m"), epochs=1))
    assert made.model.network.shape.labels == 0
    assert made.results["sentences"]["recall"] == 1


def test_a_training_that_fails_leaves_the_former_segmenter(tmp_path: Path) -> None:
    data, out = write_toys(tmp_path / "t.jsonl", count=10), tmp_path / "m"
    settings = replace(SMALL, data=str(data), out=str(out), epochs=1)
    train_segmenter(settings)
    before = (out / "model.safetensors").read_bytes()
    with pytest.raises(SegmenterError, match="cannot be split"):
        train_segmenter(replace(settings, data=str(write_toys(tmp_path / "few.jsonl", count=2))))
    assert (out / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"epochs": 0}, "epochs: 0 is below 1"),
        ({"hidden": 30, "heads": 4}, "hidden: 30 is no multiple of 4 heads"),
        ({"stride": 30}, "stride: 30 leaves gaps"),
        ({"look_ahead": 32}, "not inside a window"),
        ({"rate": 0.0}, "rate: 0.0 is not above 0"),
        ({"wandb": "on"}, "'on' is not one of"),
    ],
)
def test_impossible_settings(changes: dict[str, object], why: str) -> None:
    with pytest.raises(SegmenterError, match=why):
        replace(SMALL, **changes)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path) -> None:
    data, out = write_toys(tmp_path / "t.jsonl", count=10), tmp_path / "m"
    chosen = {
        name: getattr(SMALL, name)
        for name in ("hidden", "window", "stride", "extra_stride", "pooled", "threads")
    }
    report = train_segmenter_command(
        str(data),
        out=str(out),
        layers=1,
        epochs=1,
        look_ahead=8,
        vocabulary=400,
        **chosen,
    )
    assert report["folder"] == str(out)
    assert report["traces"] == {"train": 6, "dev": 1, "test": 3}
    assert set(report["test"]) == {"sentences", "rules", "trained"}
    with pytest.raises(SegmenterError, match="no setting epoch; there are batch_size"):
        train_segmenter_command(str(data), epoch=1)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(SegmenterError, match=r"window: 1 is below 16; .*clip: 0 is not above 0"):
        replace(SMALL, window=1, clip=0)
