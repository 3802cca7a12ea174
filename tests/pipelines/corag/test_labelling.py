"""Labels from a real reranker and a real, tiny model."""

from pathlib import Path

import pytest

from pipelines.corag.labels import LabelError
from pipelines.corag.rouge import rouge
from pipelines.corag.types import Configuration, TreeSettings
from pipelines.data.chunks import Question
from tests.tune_sweeps.labellers import TinyLabeller, tiny_chunks, tiny_questions

CONFIGURATION = Configuration("bm25", TreeSettings(8))


@pytest.fixture(scope="module")
def labeller(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory):
    return TinyLabeller(tiny_model, tmp_path_factory.mktemp("answers") / "cache.sqlite")()


def test_a_label_says_what_was_chosen_and_how_good_the_answer_is(labeller) -> None:
    questions = tiny_questions()
    labels = list(labeller.label(questions, CONFIGURATION))
    assert [label.query for label in labels] == [question.id for question in questions]
    costs = {chunk.id: chunk.tokens for chunk in tiny_chunks()}
    for label, question in zip(labels, questions, strict=True):
        assert label.configuration == CONFIGURATION
        assert label.text == question.text
        assert label.rouge_l == rouge(question.references, label.answer).rl
        assert label.cost == sum(costs[chunk] for chunk in label.chunks) <= 40
        # the one chunk that names the disease is chosen
        assert f"d{question.id[1:]}#0" in label.chunks


def test_a_label_does_not_depend_on_its_company(labeller) -> None:
    questions = tiny_questions()
    together = list(labeller.label(questions, CONFIGURATION))
    alone = [label for question in questions for label in labeller.label([question], CONFIGURATION)]
    assert alone == together


def test_what_cannot_be_labelled_is_no_label_of_zero(labeller) -> None:
    (first, *_) = tiny_questions()
    with pytest.raises(LabelError, match="question x has no candidates"):
        list(labeller.label([Question("x", "?", ("a",))], CONFIGURATION))
    with pytest.raises(LabelError, match="question q0 has no reference"):
        list(labeller.label([Question("q0", first.text)], CONFIGURATION))
    with pytest.raises(LabelError, match="same id"):
        list(labeller.label([first, first], CONFIGURATION))
    with pytest.raises(RuntimeError, match="no reranker 'gte' here"):
        list(labeller.label([first], Configuration("gte", TreeSettings())))
