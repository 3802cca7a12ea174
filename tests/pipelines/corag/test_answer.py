"""Answers written by a real tiny model, through an engine and through a fleet."""

from collections import Counter

import pytest
import ray
from transformers import AutoTokenizer

from actors.rollout.hf_engine import TransformersEngine
from actors.rollout.types import Completion
from actors.rollout.worker import RolloutWorker
from cluster.fleet import Fleet
from pipelines.corag.answer import AnswerAsk, AnswerError, AnswerWriter, model_fingerprint
from pipelines.corag.answer_cache import AnswerCache
from pipelines.corag.prompt import Prompter, PromptError, answer_messages
from pipelines.data.chunks import Chunk
from tests.tiny import write_model

LENGTH = 512
ASPIRIN = Chunk("a", "Aspirin lowers\nthe risk of stroke.", 9, "d1", "Never shown")
ZINC = Chunk("z", "Zinc shortens colds.", 6, "d2")
OPTIONS = {"dtype": "float32", "max_model_len": LENGTH, "device": "cpu", "batch_size": 4}


class Counting:
    """A real engine, and which prompts it was asked for."""

    def __init__(self, engine):
        self.engine, self.asked = engine, Counter()

    def __call__(self, requests, sampling):
        self.asked.update(request.prompt_ids for request in requests)
        return self.engine.generate(requests, sampling)


@pytest.fixture(scope="module")
def engine(tiny_model):
    return TransformersEngine(str(tiny_model), **OPTIONS)


def _writer(model, source, **options):
    return AnswerWriter(model, source, max_new_tokens=6, max_model_len=LENGTH, **options)


def _asks():
    return [
        AnswerAsk("1", "Is aspirin good?", (ASPIRIN, ZINC)),
        AnswerAsk("2", "Is aspirin good?", (ZINC, ASPIRIN)),
        AnswerAsk("3", "Is aspirin good?", (ASPIRIN, ZINC)),
        AnswerAsk("4", "Is aspirin good?", ()),
    ]


def test_the_messages():
    system, user = answer_messages("Which  drugs\nare useful?", (ZINC, ASPIRIN))
    assert system["role"] == "system"
    assert user["content"] == (
        "Evidence:\n[1] Zinc shortens colds.\n[2] Aspirin lowers the risk of stroke.\n\n"
        "Question: Which drugs are useful?\n"
        "Answer in one sentence that names all items, separated by commas. "
        "Cite the evidence you use by its number, like [1]."
    )
    assert "Yes or No" in answer_messages("Which drugs help?", (ZINC,), "yesno")[1]["content"]
    assert "[1]" not in answer_messages("Which drugs help?", ())[1]["content"]


def test_equal_contexts_are_generated_once(tiny_model, engine):
    counting = Counting(engine)
    writer = _writer(tiny_model, counting)
    told = []
    answers = writer.write(_asks(), lambda done, of: told.append((done, of)))
    assert list(answers) == ["1", "2", "3", "4"]
    assert answers["1"] == answers["3"]
    assert 0 < answers["1"].tokens <= 6
    assert set(counting.asked.values()) == {1}
    assert len(counting.asked) == 3
    assert told[-1] == (4, 4)
    stats = writer.stats
    assert (stats.asked, stats.generated, stats.cached, stats.repeated) == (4, 3, 0, 1)


def test_a_later_writer_finds_them_on_disk(tiny_model, engine, tmp_path):
    first = _writer(tiny_model, engine, cache=AnswerCache(tmp_path / "answers"))
    written = first.write(_asks())
    counting = Counting(engine)
    again = _writer(tiny_model, counting, cache=AnswerCache(tmp_path / "answers"))
    read = again.write(_asks())
    assert not counting.asked
    assert {key: answer.text for key, answer in read.items()} == {
        key: answer.text for key, answer in written.items()
    }
    assert all(answer.cached and answer.seconds == 0 for answer in read.values())
    other = _writer(
        tiny_model, counting, cache=AnswerCache(tmp_path / "answers"), variant="bfloat16"
    )
    other.write(_asks()[:1])
    assert counting.asked.total() == 1


def test_a_prompt_over_the_window_is_an_error_before_anything_is_written(tiny_model, engine):
    counting = Counting(engine)
    long = Chunk("l", "zinc " * 400, 1, "d")
    asks = [*_asks(), AnswerAsk("too long", "Why?", (long,))]
    with pytest.raises(PromptError, match=r"question 'too long': the prompt has \d+ tokens.* 512"):
        _writer(tiny_model, counting).write(asks)
    assert not counting.asked


def test_a_model_without_a_chat_template_is_refused(tiny_model):
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    tokenizer.chat_template = None
    with pytest.raises(PromptError, match="no chat template"):
        Prompter(tokenizer, max_model_len=10, max_new_tokens=1)


def test_two_questions_of_one_key(tiny_model, engine):
    with pytest.raises(ValueError, match="same key"):
        _writer(tiny_model, engine).write([_asks()[0], _asks()[0]])


def test_a_failing_engine_is_an_error_and_what_was_written_is_kept(tiny_model, engine, tmp_path):
    def half(requests, sampling):
        yield from list(engine.generate(requests[:1], sampling))
        raise RuntimeError("out of memory")

    cache = AnswerCache(tmp_path / "answers")
    with pytest.raises(RuntimeError, match="out of memory"):
        _writer(tiny_model, half, cache=cache).write(_asks())
    assert len(cache) == 1
    counting = Counting(engine)
    answers = _writer(tiny_model, counting, cache=cache).write(_asks())
    assert counting.asked.total() == 2
    assert len(answers) == 4


def test_an_engine_that_ends_early_gives_no_empty_answers(tiny_model, engine):
    def one(requests, sampling):
        return engine.generate(requests[:1], sampling)

    with pytest.raises(AnswerError, match="2 of 3 prompts"):
        _writer(tiny_model, one).write(_asks())


def test_marks_become_citations(tiny_model):
    def cites(requests, sampling):
        for request in requests:
            yield request.key, Completion((1,), (0.0,), " Zinc helps [2].\n", "stop", 0)

    answer = _writer(tiny_model, cites).write(_asks())["1"]
    assert (answer.text, answer.marked) == ("Zinc helps.", "Zinc helps [2].")
    assert (answer.citations, answer.citation_kind, answer.cut) == (("z",), "cited", False)


def test_fingerprints_follow_the_files(tiny_model, tmp_path):
    other = write_model(tmp_path / "other", seed=1)
    assert model_fingerprint(tiny_model) == model_fingerprint(str(tiny_model))
    prints = {
        model_fingerprint(tiny_model),
        model_fingerprint(tiny_model, "bfloat16"),
        model_fingerprint(other),
        model_fingerprint("some/hub-id"),
    }
    assert len(prints) == 4


@pytest.mark.long
def test_a_fleet_writes_the_same_and_survives_a_killed_worker(
    tiny_model, engine, ray_local, tmp_path
):
    asks = [AnswerAsk(f"q{i}", f"Is zinc good for {i} colds?", (ZINC,)) for i in range(24)]
    expected = {k: a.text for k, a in _writer(tiny_model, engine).write(asks).items()}
    actor = ray.remote(RolloutWorker)
    make = lambda i: actor.options(num_cpus=0).remote(  # noqa: E731
        "transformers", str(tiny_model), OPTIONS
    )
    with Fleet("writers", make, 1, max_restarts=2) as fleet:
        cache = AnswerCache(tmp_path / "answers")
        killed = []

        def kill_once(done, of):
            if done >= 3 and not killed:
                killed.append(done)
                ray.kill(fleet._slots[0].actor, no_restart=True)

        answers = _writer(tiny_model, fleet, cache=cache).write(asks, kill_once)
        assert killed
        assert fleet.restarts == 1
    assert {key: answer.text for key, answer in answers.items()} == expected
