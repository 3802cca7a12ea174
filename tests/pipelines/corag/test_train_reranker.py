import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

from actors.expansion.types import QueryOrders, RerankerError
from pipelines.corag.graded_orders import GradedOrder, soft_target
from pipelines.corag.reranker_settings import FOLDER, CrossEncoderSettings
from pipelines.corag.train_reranker import CARD, table, train_cross_encoder
from pipelines.data.failures import CorpusError
from tests.pipelines.corag.ranking_toys import (
    write_bioasq,
    write_msmarco,
    write_word_embedder,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return write_word_embedder(tmp_path_factory.mktemp("base") / "words")


@pytest.fixture(scope="module")
def settings(base, tmp_path_factory):
    """Lists whose gold passages begin with "yes" and whose others begin with "no"."""
    folder = tmp_path_factory.mktemp("sets")
    write_bioasq(folder / "b.jsonl")
    write_msmarco(folder / "m.jsonl")
    return CrossEncoderSettings(
        data=str(folder),
        msmarco="m.jsonl",
        bioasq="",
        pubmedqa="",
        out=str(folder / "first"),
        base=str(base),
        window=64,
        tokens=30_000,
        batch_tokens=1024,
        useless=3,
        rate=3e-3,
        head_rate=3e-3,
        trust_from=0,
        trust_to=0,
        evaluations=3,
        patience=3,
        autocast=False,
        threads=1,
    )


@pytest.fixture(scope="module")
def trained(settings):
    return train_cross_encoder(settings)


def test_loss_falls_where_gold_is_told_by_its_words(trained, settings):
    lines = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) / 2
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1))
    measured = [line for line in lines if "dev_ndcg" in line]
    assert len(measured) == settings.evaluations
    assert all({"dev_ndcg_msmarco", "dev_mrr_msmarco"} <= line.keys() for line in measured)


def test_the_card_holds_what_made_it_and_what_came_out(trained, settings):
    card = json.loads((trained / CARD).read_text())
    assert card["settings"]["seed"] == 0
    assert card["settings"]["tokens"] == settings.tokens <= card["tokens"]
    assert set(card["data_sha256"]) == {"msmarco"}
    assert card["lists"] == {"msmarco": {"train": 14, "dev": 3, "test": 3}}
    results = card["test"]["msmarco"]
    assert results["given"]["mrr"] == pytest.approx(1 / 3)  # the labelled passage is the third
    assert results["cross-encoder"]["mrr"] == 1
    assert len(table(card["test"]).splitlines()) == 2 + 4


def test_sentence_transformers_loads_it_and_gives_the_rerankers_scores(trained):
    from sentence_transformers import CrossEncoder

    from actors.expansion.catalog import make_reranker

    query, gold = "zinc gout", "yes zinc works well about gout"
    useless = "no that is another matter about zinc roads well"
    loaded = CrossEncoder(str(trained), device="cpu")
    values = loaded.predict([(query, text) for text in (gold, useless)])
    reranker = make_reranker("cross-encoder", model=str(trained), device="cpu")
    asked = QueryOrders(query, {"a": gold, "b": useless}, (("a",), ("b",), ("a", "b")))
    scores = reranker.score([asked])[0]
    assert [each.value for each in scores[:2]] == pytest.approx(values.tolist(), abs=1e-3)
    assert values[0] > values[1]
    assert reranker.window == 64


def test_the_same_seed_gives_the_same_weights(trained, settings, tmp_path):
    short = replace(settings, bioasq="b.jsonl", tokens=2000, evaluations=1, test_lists=2)
    folders = [
        train_cross_encoder(replace(short, out=str(tmp_path / name), seed=seed))
        for name, seed in (("a", 3), ("b", 3), ("c", 4))
    ]
    first, again, other = (load_file(folder / "model.safetensors") for folder in folders)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)
    cards = [json.loads((folder / CARD).read_text()) for folder in folders]
    assert set(cards[0]["test"]) == set(cards[0]["data_sha256"]) == {"msmarco", "bioasq"}
    assert set(cards[0]["test"]["bioasq"]) == {"bm25", "minilm", "cross-encoder"}
    assert cards[0]["weights_sha256"] == cards[1]["weights_sha256"] != cards[2]["weights_sha256"]


def test_what_is_there_is_not_made_again(trained, settings):
    before = (trained / "model.safetensors").stat().st_mtime_ns
    assert train_cross_encoder(settings) == trained
    assert (trained / "model.safetensors").stat().st_mtime_ns == before


def test_a_run_that_breaks_off_leaves_the_former_model(trained, settings, monkeypatch):
    from pipelines.corag import train_reranker

    def broken(*_):
        raise KeyboardInterrupt

    before = (trained / "model.safetensors").read_bytes()
    monkeypatch.setattr(train_reranker, "measure", broken)
    with pytest.raises(KeyboardInterrupt):
        train_cross_encoder(replace(settings, tokens=2000, evaluations=1, seed=9))
    assert (trained / "model.safetensors").read_bytes() == before
    assert not list(trained.parent.glob(f".{trained.name}-*"))


def test_word_embeddings_stay(trained, base):
    name = "bert.embeddings.word_embeddings.weight"
    kept = load_file(trained / "model.safetensors")[name]
    theirs = load_file(base / "model.safetensors")
    assert np.array_equal(kept, theirs[name.removeprefix("bert.")])


def test_chunks_behind_the_window_do_not_count(base):
    from pipelines.corag.cross_encoder_training import TrainedEncoder

    encoder = TrainedEncoder(base, 16, 0, autocast=False)
    chunk = "yes gout zinc works"
    order = GradedOrder("does gout", (chunk,) * 5, (False, True, False, False, True))
    (made,) = encoder.encode([order])
    # 16 less [CLS], two [SEP] and two words of the query leave 11: two chunks and half of a third
    assert made.order.gold == (False, True, False)
    assert made.order.target(0) == pytest.approx(soft_target((False, True, False)))
    assert len(made.input.ids) == 16
    (whole,) = encoder.encode([GradedOrder("does gout", (chunk,), (True,))])
    assert (len(whole.input.ids), whole.order.gold) == (9, (True,))


def test_the_window_is_what_the_tokenizer_makes_of_the_joined_text(base):
    from pipelines.corag.cross_encoder_training import TrainedEncoder

    encoder = TrainedEncoder(base, 16, 0, autocast=False)
    chunks = ("yes gout zinc works", "no that is another matter", "weather roads")
    (made,) = encoder.encode([GradedOrder("does gout", chunks, (True, False, False))])
    theirs = encoder.tokenizer("does gout", "\n".join(chunks), truncation=True, max_length=16)
    assert list(made.input.ids) == theirs["input_ids"]


def test_rates_rise_and_fall(base):
    from pipelines.corag.cross_encoder_training import TrainedEncoder, optimiser, set_rate

    learner = optimiser(TrainedEncoder(base, 16, 0, autocast=False).model, 1e-4, 1e-3, 0.01)
    assert set_rate(learner, 0.05, 0.1) == pytest.approx(0.51)
    assert [group["lr"] for group in learner.param_groups] == pytest.approx(
        [0.51e-3, 0.51e-4, 0.51e-4]
    )
    assert set_rate(learner, 0.55, 0.1) == pytest.approx(0.5)
    assert set_rate(learner, 1.0, 0.1) == pytest.approx(0.05)


def test_settings_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"tokens = 0, clip = -1"):
        CrossEncoderSettings(data=".", tokens=0, clip=-1)
    with pytest.raises(ValueError, match="data"):
        CrossEncoderSettings(data=".", msmarco="", bioasq="", pubmedqa="")


def test_trust_falls_in_a_line_and_stays():
    settings = CrossEncoderSettings(
        data=".", easy=0.2, trust_from=0.8, trust_to=0.2, trust_until=0.5
    )
    # the lists begin at 0.2, half of what is left is at 0.6
    found = [settings.trust(done) for done in (0, 0.1, 0.2, 0.4, 0.6, 1)]
    assert found == pytest.approx([1, 1, 0.8, 0.5, 0.2, 0.2])


def test_the_default_folder_is_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path))
    assert CrossEncoderSettings(data=".").folder == tmp_path / FOLDER


def test_bad_input_is_named(settings, tmp_path):
    with pytest.raises(CorpusError, match=r"none\.jsonl: no such file"):
        train_cross_encoder(replace(settings, msmarco="none.jsonl"))
    with pytest.raises(RerankerError, match="512 tokens"):
        train_cross_encoder(replace(settings, window=512, out=str(tmp_path / "x")))
    few = tmp_path / "few.jsonl"
    lines = write_msmarco(tmp_path / "m.jsonl").read_text().splitlines()
    few.write_text("\n".join(lines[:2]) + "\n")
    with pytest.raises(CorpusError, match=r"few\.jsonl: no list for part"):
        train_cross_encoder(replace(settings, msmarco=str(few), out=str(tmp_path / "y")))
