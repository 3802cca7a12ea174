import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from pipelines.realm.segment.candidates import LOOK_AHEAD, candidates
from pipelines.realm.segment.features import Vocabulary, read
from pipelines.realm.segment.model import CARD, WEIGHTS, SegmenterModel, TransformerSegmenter
from pipelines.realm.segment.network import SegmenterNetwork, Shape
from pipelines.realm.segment.opening import SegmenterError, open_segmenter, segmenter_factory
from pipelines.realm.segment.rules import EverySentence, RuleSegmenter
from pipelines.realm.segment.windows import batch_of, deciding_window, training_windows
from tests.pipelines.realm.segment.toys import toy_trace

TEXT = str(toy_trace(1, steps=30)["trace"])


def untrained(look_ahead: int = 6, window: int = 24) -> SegmenterModel:
    """Random weights, spread out so that it says yes and no."""
    vocabulary = Vocabulary.learn([TEXT], 400)
    torch.manual_seed(3)
    shape = Shape(len(vocabulary), 2, window, hidden=16, layers=2, heads=2, feed_forward=16)
    network = SegmenterNetwork(shape)
    for weight in network.boundary.parameters():
        weight.data *= 3
    network.tokens.weight.data *= 10
    model = SegmenterModel(network.eval(), vocabulary, look_ahead)
    odds = sorted(model.probabilities(read(TEXT, vocabulary), 0, len(candidates(TEXT))))
    middle = odds[len(odds) // 3 : -len(odds) // 3]
    # In the widest gap, so that rounding decides nothing.
    model.threshold = max(pairwise(middle), key=lambda pair: pair[1] - pair[0])[1] - 1e-4
    return model


MODEL = untrained()


def test_a_stream_is_cut_like_the_whole() -> None:
    whole = MODEL.boundaries(TEXT)
    assert 5 < len(whole) < len(candidates(TEXT)) - 5
    segmenter = TransformerSegmenter(MODEL)
    for seed in range(5):
        rng, at, found = random.Random(seed), 0, []
        segmenter.reset()
        while at < len(TEXT):
            size = rng.choice((1, 4, 90))
            found += segmenter.feed(TEXT[at : at + size])
            at += size
        assert found + segmenter.finish() == whole


def test_a_boundary_is_known_within_the_look_ahead() -> None:
    segmenter, reading = TransformerSegmenter(MODEL), read(TEXT, MODEL.vocabulary)
    token_of = {
        each.offset: token
        for each, token in zip(reading.candidates, reading.tokens_of, strict=True)
    }
    waited = []
    for at, character in enumerate(TEXT):
        for boundary in segmenter.feed(character):
            behind = sum(boundary <= start <= at for start in reading.starts)
            waited.append(behind)
            assert behind <= max(MODEL.look_ahead, LOOK_AHEAD) + 1
            assert at + 1 - boundary >= LOOK_AHEAD
            assert boundary in token_of
    assert len(waited) > 5


def test_what_lies_beyond_the_look_ahead_plays_no_part() -> None:
    reading = read(TEXT, MODEL.vocabulary)
    end = reading.tokens_of[3] + MODEL.look_ahead
    other = read(TEXT[: reading.starts[end]] + " Wait, what now? No." * 3, MODEL.vocabulary)
    assert MODEL.probabilities(other, 0, 4) == pytest.approx(MODEL.probabilities(reading, 0, 4))


def test_padding_plays_no_part() -> None:
    reading = read(TEXT, MODEL.vocabulary)
    windows = [deciding_window(reading, each, 24, 6) for each in (0, 9)]
    assert windows[0].end - windows[0].first < windows[1].end - windows[1].first == 24
    with torch.inference_mode():
        together, _ = MODEL.network(batch_of(windows))
        alone, _ = MODEL.network(batch_of(windows[:1]))
    assert together[0].tolist() == pytest.approx(alone[0].tolist(), abs=1e-5)


@pytest.mark.parametrize("shift", [0, 5, 15])
def test_training_windows_hold_each_candidate_once(shift: int) -> None:
    reading = read(TEXT, MODEL.vocabulary)
    windows = training_windows(reading, 24, 16, shift)
    taken = [each for window in windows for each in window.candidates]
    assert taken == list(range(len(reading.candidates)))
    for window in windows:
        assert window.end - window.first <= 24
        for candidate in window.candidates:
            token = reading.tokens_of[candidate]
            assert window.first <= token < window.end
            assert window.end == len(reading) or token + 8 <= window.end


def test_a_threshold_makes_longer_steps() -> None:
    picky = TransformerSegmenter(MODEL, threshold=MODEL.threshold + 0.3 * (1 - MODEL.threshold))
    assert len(picky.feed(TEXT) + picky.finish()) < len(MODEL.boundaries(TEXT))


def test_saved_and_loaded(tmp_path: Path) -> None:
    untrained().save(tmp_path)
    factory = segmenter_factory(tmp_path)
    first, second = factory(), factory()
    assert first.feed(TEXT) + first.finish() == MODEL.boundaries(TEXT)
    assert second.finish() == []  # nothing is shared but the weights
    assert SegmenterModel.load(tmp_path).look_ahead == 6


def test_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEEKRAY_CACHE", str(tmp_path))
    assert isinstance(open_segmenter("rules"), RuleSegmenter)
    assert isinstance(open_segmenter("sentences"), EverySentence)
    with pytest.raises(SegmenterError, match=r"train-segmenter DATA\.jsonl` first, or use `rules`"):
        open_segmenter("trained")
    with pytest.raises(SegmenterError, match="one of rules, sentences, trained"):
        open_segmenter("ruels")
    MODEL.save(tmp_path / "realm-segmenter")
    assert isinstance(open_segmenter("trained"), TransformerSegmenter)


def test_broken_folders(tmp_path: Path) -> None:
    with pytest.raises(SegmenterError, match="is no segmenter"):
        open_segmenter(tmp_path)
    MODEL.save(tmp_path)
    card = json.loads((tmp_path / CARD).read_text("utf-8"))
    (tmp_path / CARD).write_text(json.dumps(card | {"schema": 99}), "utf-8")
    with pytest.raises(SegmenterError, match="schema 99"):
        open_segmenter(tmp_path)
    (tmp_path / CARD).write_text(json.dumps(card), "utf-8")
    (tmp_path / WEIGHTS).write_bytes(b"junk")
    with pytest.raises(SegmenterError, match="cannot be read"):
        open_segmenter(tmp_path)


def test_shapes_of_the_paper() -> None:
    shape = Shape(1000)
    assert (shape.layers, shape.hidden, shape.heads, shape.window) == (3, 256, 4, 128)
