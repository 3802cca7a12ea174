"""Summaries by a real tiny model, cached."""

from actors.rollout.hf_engine import TransformersEngine
from pipelines.corag.answer import AnswerWriter
from pipelines.corag.answer_cache import AnswerCache
from pipelines.corag.summariser import Summariser, summary_messages


def test_the_chat_holds_each_text_once():
    content = summary_messages(["One\ntext.", "Another."])[1]["content"]
    assert content.startswith("One text.\nAnother.\n\nSummarise")


def test_summaries_are_cached_apart_from_answers(tiny_model, tmp_path):
    engine = TransformersEngine(str(tiny_model), dtype="float32", max_model_len=512)
    writer = AnswerWriter(
        tiny_model,
        engine,
        cache=AnswerCache(tmp_path / "answers"),
        max_new_tokens=4,
        max_model_len=512,
    )
    summarise = Summariser(writer, 8)
    groups = [("zinc", "aspirin"), ("iron", "gold"), ("zinc", "aspirin")]
    first = summarise(groups)
    assert first[0] == first[2]
    assert summarise(groups) == first
    stats = summarise.writer.stats
    assert (stats.generated, stats.cached, stats.repeated) == (2, 2, 2)
    assert stats.new_tokens <= 16
    assert writer.stats.asked == 0
    text = " ".join(["zinc"] * 400)
    used = len(writer.prompter.tokenizer(text, add_special_tokens=False)["input_ids"])
    assert 0 < summarise.room < 512 - 8
    fits = " ".join(["zinc"] * (400 * summarise.room // used))
    assert summarise([(fits,)])
