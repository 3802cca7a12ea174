import pytest

from pipelines.data.task import Pico, Task
from pipelines.deepretrieval.baselines import (
    BASELINES,
    FREE_TEXT_BASELINES,
    PSEUDO_TERMS,
    baselines,
    human,
    pseudo_document_messages,
    pseudo_document_query,
)
from pipelines.deepretrieval.language import LANGUAGES

PICO = Task(
    "p",
    Pico("Adults with type-2 diabetes", "Metformin", "", "diabetes control (HbA1c)"),
    frozenset("1"),
    human_query="diabetes[mh] AND metformin",
)
FREE = Task("q", "Does aspirin prevent a second stroke, or a third stroke?", frozenset("1"))


@pytest.mark.parametrize(
    ("name", "pico", "free"),
    [
        (
            "original question",
            "Adults with type-2 diabetes Metformin diabetes control (HbA1c)",
            "Does aspirin prevent a second stroke, or a third stroke?",
        ),
        (
            "all words ANDed",
            "adults AND type AND 2 AND diabetes AND metformin AND control AND hba1c",
            "aspirin AND prevent AND second AND stroke AND third",
        ),
        (
            "bag of words (ORed)",
            "adults OR type OR 2 OR diabetes OR metformin OR control OR hba1c",
            "aspirin OR prevent OR second OR stroke OR third",
        ),
        (
            "population words ANDed",
            "adults AND type AND 2 AND diabetes",
            "aspirin AND prevent AND second AND stroke AND third",
        ),
        (
            "any P word AND any I word",
            "(adults OR type OR 2 OR diabetes) AND (metformin) AND (diabetes OR control OR hba1c)",
            "(aspirin OR prevent OR second OR stroke OR third)",
        ),
    ],
)
def test_baselines_by_hand(name, pico, free):
    assert BASELINES[name](PICO) == pico
    assert BASELINES[name](FREE) == free


def test_a_baseline_of_every_name_is_tested():
    assert len(BASELINES) == 5
    assert human(PICO) == "diabetes[mh] AND metformin"
    assert human(FREE) == ""


def test_the_population_baseline_falls_back_on_the_whole_need():
    task = Task("i", Pico(population="the", intervention="aspirin"), frozenset("1"))
    assert BASELINES["population words ANDed"](task) == "aspirin"


def test_the_pseudo_document_is_asked_for_with_the_need_as_written():
    system, user = pseudo_document_messages(FREE)
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"].endswith(FREE.need)


def test_pseudo_document_words_come_by_weight():
    # Of 100 records: platelets 2 * ln(100/10) = 4.61, uncommon ln(100/2) = 3.91, bleeding
    # ln(100/5) = 3.00, trial ln(100/50) = .69. Left out: own words (aspirin), stop words (and, the,
    # was), words the index lacks (xyzzy), short ones (ml, 75).
    task = Task("s", "aspirin in stroke", frozenset("1"))
    known = {"platelets": 10, "uncommon": 2, "bleeding": 5, "trial": 50, "aspirin": 9, "and": 90}
    known |= {"the": 95, "was": 80, "ml": 3, "75": 4}
    document = "Platelets, platelets! Bleeding and the trial was uncommon; Aspirin 75 ml xyzzy"
    query = pseudo_document_query(task, document, lambda word: known.get(word, 0), 100)
    assert query == "aspirin OR stroke OR platelets OR uncommon OR bleeding OR trial"


def test_of_many_pseudo_document_words_the_best_are_kept_and_ties_go_by_name():
    task = Task("s", "aspirin", frozenset("1"))
    words = [f"word{letter}" for letter in "lkjihgfedcba"]
    query = pseudo_document_query(task, " ".join(words), lambda word: 1, 10)
    assert PSEUDO_TERMS == 10
    assert query == "aspirin OR " + " OR ".join(f"word{letter}" for letter in "abcdefghij")


def test_an_empty_pseudo_document_leaves_the_bag_of_words():
    assert (
        pseudo_document_query(FREE, "", lambda word: 1, 10)
        == "aspirin OR prevent OR second OR stroke OR third"
    )


def test_free_text_engines_are_compared_without_boolean_forms():
    assert baselines(LANGUAGES["trials"]) is BASELINES
    forms = baselines(LANGUAGES["dense"])
    assert forms is FREE_TEXT_BASELINES
    assert forms["content words"](PICO) == "adults type 2 diabetes metformin control hba1c"
    assert pseudo_document_query(FREE, "platelet", lambda word: 1, 10, " ").endswith(" platelet")
