"""The proxy for stated confidence."""

import asyncio
import json
import random

import numpy as np
import pytest

from pipelines.realm.types import Uncertainty
from pipelines.realm.uncertainty.opening import open_proxy
from pipelines.realm.uncertainty.proxy import (
    FACTS,
    WEIGHTS,
    ProxyError,
    VerbalProxy,
    hedge_count,
    numbers,
    recent_entropy,
)
from pipelines.realm.uncertainty.proxy_pairs import ProxyPair
from pipelines.realm.uncertainty.proxy_training import ProxySettings, split_of, train_proxy
from pipelines.realm.uncertainty.vectors import HashedEncoder

CITIES = ["Oslo", "Rome", "Lyon", "Bern", "Cork", "Linz", "Graz", "Kiel"]


def pairs(chains=60):
    """Hedged steps are unsure, the others sure."""
    draw = random.Random(0)
    made = []
    for chain in range(chains):
        for step in range(4):
            hedged = draw.random() < 0.5
            city = draw.choice(CITIES)
            text = f"Maybe it is {city}, I'm not sure." if hedged else f"It is clearly {city}."
            confidence = (0.2 if hedged else 0.9) + 0.1 * draw.random()
            made.append(ProxyPair(f"q{chain}", step, text, confidence, 1, 0.5))
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train_proxy(pairs(), HashedEncoder(32), tmp_path_factory.mktemp("proxy"))


def test_hedges_by_hand():
    assert hedge_count("Maybe it is, I think; it MIGHT be. I’m not sure.") == 4
    assert hedge_count("The mayor is certain of the mighty plan.") == 0


def test_numbers_by_hand():
    found = numbers("maybe it is so", 3, None)
    assert found == pytest.approx([np.log(5), np.log(2), np.log(4), 0.5])
    assert numbers("", 0, 0.2) == [0, 0, 0, 0.2]


def test_recent_is_of_three_steps():
    history = [Uncertainty(0, ent=1.0), Uncertainty(0, ent=0.2), Uncertainty(0)]
    assert recent_entropy(history, 0.4) == pytest.approx(0.3)
    assert recent_entropy([], None) is None


def test_learns_what_hedges_say(trained):
    assert trained.metrics["test/correlation"] > 0.9
    assert trained.metrics["test/mae"] < trained.metrics["test/mae_constant"] / 3
    unsure = asyncio.run(trained.proxy.uncertainty("Maybe it is Bonn, I'm not sure.", 1, 0.5))
    sure = asyncio.run(trained.proxy.uncertainty("It is clearly Bonn.", 1, 0.5))
    assert 0 <= sure < 0.3 < 0.6 < unsure <= 1
    lines = (trained.folder / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == ProxySettings().epochs
    assert set(json.loads(lines[0])) == {"step", "train/loss", "validation/loss"}


def test_the_same_pairs_give_the_same_proxy(trained, tmp_path):
    again = train_proxy(pairs(), HashedEncoder(32), tmp_path)
    assert again.metrics == trained.metrics
    assert (tmp_path / WEIGHTS).read_bytes() == (trained.folder / WEIGHTS).read_bytes()


def test_reads_what_it_wrote(trained):
    loaded = open_proxy(trained.folder)
    rows = np.random.default_rng(0).normal(size=(5, 36)).astype(np.float32)
    assert loaded.predict(rows) == pytest.approx(trained.proxy.predict(rows))
    assert loaded.metrics == trained.metrics


def test_other_vectors_are_refused(trained):
    with pytest.raises(ProxyError, match=r"32 dimensions.*not of 'hashed' \(64"):
        VerbalProxy.load(trained.folder, HashedEncoder(64))


@pytest.mark.parametrize("damage", ["missing", "facts", "schema", "weights", "spread"])
def test_a_damaged_folder_is_told(trained, tmp_path, damage):
    for name in (FACTS, WEIGHTS):
        (tmp_path / name).write_bytes((trained.folder / name).read_bytes())
    if damage == "missing":
        (tmp_path / FACTS).unlink()
    elif damage == "weights":
        (tmp_path / WEIGHTS).write_bytes(b"x" * 100)
    else:
        facts = json.loads((tmp_path / FACTS).read_text())
        if damage == "schema":
            facts["schema"] = 99
        elif damage == "spread":
            facts["spread"] = facts["spread"][:-1]
        text = "{" if damage == "facts" else json.dumps(facts)
        (tmp_path / FACTS).write_text(text)
    with pytest.raises(ProxyError, match="train-proxy"):
        open_proxy(tmp_path)


def test_chains_stay_whole_in_a_split():
    shares = [split_of(f"q{i}", 0) for i in range(1000)]
    assert 750 < shares.count("train") < 850
    assert min(shares.count("validation"), shares.count("test")) > 70
    assert shares != [split_of(f"q{i}", 1) for i in range(1000)]


def test_too_few_chains_and_bad_settings(tmp_path):
    with pytest.raises(ProxyError, match="collect from more questions"):
        train_proxy(pairs(1), HashedEncoder(8), tmp_path)
    with pytest.raises(ProxyError, match="epochs: 0 is below 1; lr: 0 is not above 0"):
        train_proxy(pairs(1), HashedEncoder(8), tmp_path, ProxySettings(epochs=0, lr=0))
